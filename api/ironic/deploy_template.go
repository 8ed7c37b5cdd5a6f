package ironic

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// minorDeployTemplates is the version that added deploy templates.
const (
	minorDeployTemplates = 55
	noDeployTemplates    = "The API version does not allow deploy templates"
)

var deployTemplateSet = format.Setters[node.DeployTemplate]{Resource: "deploy template"}

func templateRecord(t *node.DeployTemplate) *node.Record { return &t.Record }

// deployTemplateResource is the deploy template (Ironic api/controllers/v1/deploy_template.py).
var deployTemplateResource = resource[node.DeployTemplate]{
	noun: "deploy template", path: "deploy_templates", items: "deploy_templates", param: "template", names: minorDeployTemplates,
	defaults: []string{"uuid", "name"}, required: []string{"name", "steps"}, detail: minorDeployTemplates,
	record: templateRecord, fresh: func() *node.DeployTemplate { return &node.DeployTemplate{} },
	attributes: append(recordFields(minorDeployTemplates, deployTemplateSet, templateRecord), format.Attributes[node.DeployTemplate, node.DeployTemplate]{
		{
			Name: "name", Since: minorDeployTemplates, Value: func(t *node.DeployTemplate) any { return t.Name },
			Set: traitName(deployTemplateSet, func(t *node.DeployTemplate) *string { return &t.Name }), Create: true, Patch: true,
		},
		{
			Name: "steps", Since: minorDeployTemplates, Value: func(t *node.DeployTemplate) any { return shownSteps(t.Steps, "priority") }, Nosort: true,
			Set: stepsField(plan.DeployTemplate, func(t *node.DeployTemplate) *[]node.TemplateStep { return &t.Steps }), Create: true, Patch: true,
		},
		{
			Name: "extra", Since: minorDeployTemplates, Value: func(t *node.DeployTemplate) any { return format.Dict(t.Extra) }, Nosort: true,
			Set: deployTemplateSet.Dict("extra", func(t *node.DeployTemplate) *map[string]any { return &t.Extra }), Create: true, Patch: true,
		},
	}...),
}

// traitName sets a name that is a trait.
func traitName[T any](set format.Setters[T], at func(*T) *string) func(*T, any) error {
	required := set.Required("name", node.MaxName, at)
	return func(t *T, v any) error {
		if s, ok := v.(string); ok && node.ValidTrait(s) != nil {
			return fault.New(fault.Invalid, "Schema error for %s: name: %w", set.Resource, node.ValidTrait(s))
		}
		return required(t, v)
	}
}

// stepsField sets the steps of a deploy template or runbook.
func stepsField[T any](b plan.StepBook, at func(*T) *[]node.TemplateStep) func(*T, any) error {
	return func(t *T, v any) (err error) {
		*at(t), err = intent.TemplateSteps(b, v)
		return err
	}
}

// shownSteps are the steps of a deploy template or runbook; place is the field that orders them.
func shownSteps(steps []node.TemplateStep, place string) []any {
	out := make([]any, len(steps))
	for i, s := range steps {
		at := s.Priority
		if place == "order" {
			at = s.Order
		}
		out[i] = map[string]any{"interface": s.Interface, "step": s.Step, "args": format.Dict(s.Args), place: at}
	}
	return out
}

// deployTemplates answers the requests for deploy templates.
func (s *Server) deployTemplates() *shelf[node.DeployTemplate] {
	return &shelf[node.DeployTemplate]{
		resource: &deployTemplateResource, maxLimit: s.MaxLimit,
		all: s.Store.DeployTemplates, one: s.Store.DeployTemplate, create: s.Store.CreateDeployTemplate, update: s.Store.UpdateDeployTemplate, remove: s.Store.DeleteDeployTemplate,
		settle: func(_ *gin.Context, _ []format.PatchOp, before, t *node.DeployTemplate) error {
			return intent.RehideSteps(&t.Steps, &t.Hidden, before.Hidden)
		},
	}
}

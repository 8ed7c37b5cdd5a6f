package ironic

import (
	"net/http"

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

// hideTemplate takes the secrets out of the steps. Where the mask stands, the secret of before stays.
func hideTemplate(before, t *node.DeployTemplate) (err error) {
	t.Steps, t.Hidden.Clear, err = intent.HideSteps(t.Steps, before.Hidden.Clear)
	return err
}

// listDeployTemplates answers GET /v1/deploy_templates.
func (s *Server) listDeployTemplates(c *gin.Context) (int, any, error) {
	l, err := deployTemplateResource.read(c, s.MaxLimit, false)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.Store.DeployTemplates(c.Request.Context(), l.page.Store())
	if err != nil {
		return 0, nil, err
	}
	return deployTemplateResource.list(c, "deploy_templates", l, all)
}

// getDeployTemplate answers GET /v1/deploy_templates/X.
func (s *Server) getDeployTemplate(c *gin.Context) (int, any, error) {
	return deployTemplateResource.show(c, s.Store.DeployTemplate)
}

// createDeployTemplate answers POST /v1/deploy_templates.
func (s *Server) createDeployTemplate(c *gin.Context) (int, any, error) {
	t, err := deployTemplateResource.posted(c)
	if err != nil {
		return 0, nil, err
	}
	if err := hideTemplate(&node.DeployTemplate{}, t); err != nil {
		return 0, nil, err
	}
	if err := s.Store.CreateDeployTemplate(c.Request.Context(), t); err != nil {
		return 0, nil, err
	}
	return deployTemplateResource.created(c, t)
}

// patchDeployTemplate answers PATCH /v1/deploy_templates/X.
func (s *Server) patchDeployTemplate(c *gin.Context) (int, any, error) {
	p, err := deployTemplateResource.patched(c, s.Store.DeployTemplate)
	if err != nil {
		return 0, nil, err
	}
	t, err := s.Store.UpdateDeployTemplate(c.Request.Context(), p.before.UUID, deployTemplateResource.apply(p, hideTemplate))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, deployTemplateResource.whole(c, t), nil
}

// deleteDeployTemplate answers DELETE /v1/deploy_templates/X.
func (s *Server) deleteDeployTemplate(c *gin.Context) (int, any, error) {
	t, err := deployTemplateResource.find(c, s.Store.DeployTemplate)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.DeleteDeployTemplate(c.Request.Context(), t.UUID)
}

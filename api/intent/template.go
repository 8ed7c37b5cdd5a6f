package intent

import (
	"cmp"
	"context"
	"encoding/json"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/secret"
)

// TemplateSteps reads the field steps of a deploy template or runbook from a body. The secrets in it stay in the clear (HideSteps).
func TemplateSteps(b plan.StepBook, v any) ([]node.TemplateStep, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.Invalid, "steps: %w", err)
	}
	return plan.ReadTemplateSteps(b, raw)
}

// HideSteps replaces the secrets in the arguments of steps with the mask, and returns them. Where an argument has the mask, the secret
// of known stays. steps is not changed. The arguments of each step are masked on their own, because the name of a step may look like
// that of a secret. Each name is there once.
func HideSteps(steps []node.TemplateStep, known map[string]any) ([]node.TemplateStep, map[string]any, error) {
	out := make([]node.TemplateStep, len(steps))
	all := map[string]any{}
	for i, s := range steps {
		shown, secrets, err := MaskDict("steps/"+s.Name(), s.Args, secret.Under(known, s.Name()))
		if err != nil {
			return nil, nil, err
		}
		secret.AddUnder(all, s.Name(), secrets)
		s.Args = shown
		out[i] = s
	}
	return out, all, nil
}

// RehideSteps is HideSteps for steps that a client edited: steps becomes what may be shown, hidden its secrets. Where an argument has the
// mask, the secret of before stays; if those do not open, that is the error.
func RehideSteps(steps *[]node.TemplateStep, hidden *node.Hidden, before node.Hidden) error {
	shown, secrets, err := HideSteps(*steps, before.Clear)
	if err != nil {
		return cmp.Or(before.Unreadable, err)
	}
	*steps, *hidden = shown, node.Hidden{Clear: secrets}
	return nil
}

// clearSteps are steps with their secrets in place.
func clearSteps(steps []node.TemplateStep, secrets map[string]any) []node.TemplateStep {
	out := make([]node.TemplateStep, len(steps))
	for i, s := range steps {
		s.Args = secret.Unmask(s.Args, secret.Under(secrets, s.Name()))
		out[i] = s
	}
	return out
}

// ReadTemplates reads the deploy templates that p may run on the node ident, before the node's row is locked.
func (s *Service) ReadTemplates(ctx context.Context, p *Provision, ident string) (err error) {
	if p == nil || !p.Verb.Deploys() {
		return nil
	}
	p.Templates, err = s.templatesOf(ctx, ident)
	return err
}

func (s *Service) templatesOf(ctx context.Context, ident string) ([]node.DeployTemplate, error) {
	all, err := s.Store.DeployTemplatesOf(ctx, ident)
	for i := range all {
		all[i].Steps = clearSteps(all[i].Steps, all[i].Hidden.Clear)
	}
	return all, err
}

// CheckTemplates returns why the steps of the deploy templates for n's instance can't run on n, nil if nothing is known against them.
func (s *Service) CheckTemplates(ctx context.Context, n *node.Node) (wrong, err error) {
	templates, err := s.templatesOf(ctx, n.UUID)
	if err != nil || len(templates) == 0 {
		return nil, err
	}
	_, wrong = plan.Steps(node.KindDeploy, n, nil, plan.Options{Templates: templates})
	return wrong, nil
}

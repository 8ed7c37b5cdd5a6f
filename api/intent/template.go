package intent

import (
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
// of known stays. steps is not changed.
func HideSteps(steps []node.TemplateStep, known map[string]any) ([]node.TemplateStep, map[string]any, error) {
	shown, secrets, err := MaskDict("steps", argsOf(steps), known)
	if err != nil {
		return nil, nil, err
	}
	return withArgs(steps, shown), secrets, nil
}

// clearSteps are steps with their secrets in place.
func clearSteps(steps []node.TemplateStep, secrets map[string]any) []node.TemplateStep {
	return withArgs(steps, secret.Unmask(argsOf(steps), secrets))
}

// argsOf are the arguments of steps by the names of these, each of which is there once.
func argsOf(steps []node.TemplateStep) map[string]any {
	out := make(map[string]any, len(steps))
	for _, s := range steps {
		args := s.Args
		if args == nil {
			args = map[string]any{}
		}
		out[s.Name()] = args
	}
	return out
}

func withArgs(steps []node.TemplateStep, args map[string]any) []node.TemplateStep {
	out := make([]node.TemplateStep, len(steps))
	for i, s := range steps {
		s.Args, _ = args[s.Name()].(map[string]any)
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

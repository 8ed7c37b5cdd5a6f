package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// StepBook is what lists of steps have in common that are kept to be used again.
type StepBook struct {
	noun  string // in errors: "deploy template"
	place string // the field that orders its steps
}

// The kinds of lists.
var (
	DeployTemplate = StepBook{"deploy template", "priority"}
	Runbook        = StepBook{"runbook", "order"}
)

// ReadTemplateSteps reads the field steps of a deploy template or runbook: at least one, each with interface, step, args and its
// place, and no step twice (Ironic api/controllers/v1/deploy_template.py). Errors: fault.Invalid, naming the step by its place in
// the list.
func ReadTemplateSteps(b StepBook, raw json.RawMessage) ([]node.TemplateStep, error) {
	var given []json.RawMessage
	if jsonvalue.Unmarshal(raw, &given) != nil {
		return nil, fault.New(fault.Invalid, "Schema error for %s: steps is not of type 'array'", b.noun)
	}
	switch {
	case len(given) == 0:
		return nil, fault.New(fault.Invalid, "Schema error for %s: steps: [] is too short: a %s needs at least one step", b.noun, b.noun)
	case len(given) > MaxSteps:
		return nil, fault.New(fault.Invalid, "Schema error for %s: %d steps, more than %d", b.noun, len(given), MaxSteps)
	}
	var out []node.TemplateStep
	for i, g := range given {
		s, at, err := readStep([]string{"interface", "step", "args", b.place}, b.place, g)
		if err != nil {
			return nil, fault.New(fault.Invalid, "Schema error for %s: step %d: %w", b.noun, i, err)
		}
		if slices.ContainsFunc(out, func(o node.TemplateStep) bool { return o.Name() == s.Name() }) {
			return nil, fault.New(fault.Invalid, "%s invalid: Duplicate %s steps. A %s cannot have multiple deploy steps with the same interface and step. Duplicates: interface: %s, step: %s.",
				strings.ToUpper(b.noun[:1])+b.noun[1:], strings.TrimSuffix(b.noun, " template"), b.noun, s.Interface, s.Step)
		}
		t := node.TemplateStep{Interface: s.Interface, Step: s.Step, Args: s.Args}
		if b == Runbook {
			t.Order = at
		} else {
			t.Priority = at
		}
		out = append(out, t)
	}
	return out, nil
}

// matching are those of the templates that are named by a trait that n's instance asks for. The error is fault.SecretUnreadable if
// the secrets of one of them do not open.
func matching(n *node.Node, templates []node.DeployTemplate) (out []node.DeployTemplate, err error) {
	wanted, _ := n.InstanceInfo["traits"].([]any)
	for _, t := range templates {
		switch {
		case !slices.Contains(wanted, any(t.Name)):
		case t.Hidden.Unreadable != nil:
			return nil, fault.CodedAs(fault.Conflict, fault.SecretUnreadable, "deploy template %s, which this node's instance traits ask for: %w", t.Name, t.Hidden.Unreadable)
		default:
			out = append(out, t)
		}
	}
	return out, nil
}

// templateSteps are the steps of templates as a request would name them, except for those that the request names itself: these
// override them (Ironic conductor/steps.py).
func templateSteps(templates []node.DeployTemplate, asked []node.Step) (out []node.Step) {
	for _, t := range templates {
		for _, s := range t.Steps {
			if !slices.ContainsFunc(asked, func(a node.Step) bool { return a.Name() == s.Name() }) {
				out = append(out, node.Step{Interface: s.Interface, Step: s.Step, Args: s.Args, Priority: s.Priority, Asked: true})
			}
		}
	}
	return out
}

// badTemplates is the error for templates whose steps can't run on the node.
func badTemplates(templates []node.DeployTemplate, err error) error {
	var names []string
	for _, t := range templates {
		names = append(names, t.Name)
	}
	return fault.New(fault.Invalid, "Validation of deploy steps from deploy templates matching this node's instance traits failed. Matching deploy templates: %s. Errors: %w",
		strings.Join(names, ","), err)
}

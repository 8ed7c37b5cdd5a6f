package plan

import (
	"cmp"
	"slices"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// AgentStep is a step that the ramdisk agent offers.
type AgentStep struct {
	Interface, Step string
	Priority        int // 0 = only when asked for
	Abortable       bool
	Args            map[string]node.ArgSpec
}

// Name is "interface.step".
func (s AgentStep) Name() string { return s.Interface + "." + s.Step }

// Merge is plan with the steps that the agent offers, by Ironic's
// rules: out-of-band steps shadow the agent's of the same name; what has
// priority 0 runs only when asked for, what was asked with priority 0 not at
// all; cleaning by hand runs what was asked, in that order, and nothing else;
// everything else is sorted by priority. Of their own accord only steps of those
// interfaces run whose implementation says so (RunsAgentSteps).
//
// Steps that have begun stay where they are, in front. Merging twice changes
// nothing; merging another offer (an agent of another version) replaces what
// the first one brought and has not begun. plan itself is not changed.
// Errors: fault.Invalid naming asked steps that nobody has, or whose arguments
// don't fit.
func Merge(n *node.Node, k node.OperationKind, plan []node.Step, offered []AgentStep) ([]node.Step, error) {
	plan = slices.Clone(plan)
	spec := k.Spec()
	if !spec.UsesAgent(n) || !spec.Family.HasSteps() {
		return plan, nil
	}
	from, to := movable(plan)
	if from > to {
		return plan, nil
	}
	offer := byName(offered)
	middle, err := refreshAgentSteps(n, spec, plan[from:to], offer)
	if err != nil {
		return nil, err
	}
	if !spec.AskedOnly {
		there := names(plan[:from], plan[to:], middle)
		for _, s := range n.StepSpecs(spec.Family) {
			there[s.Name()] = true
		}
		for _, o := range sorted(offer) {
			if o.Priority > 0 && !there[o.Name()] && runsByItself(n, o) {
				middle = append(middle, agentStep(o, spec))
			}
		}
		sortSteps(middle)
	}
	merged := slices.Concat(plan[:from], middle, plan[to:])
	if spec.Family == node.DeployFamily {
		if err := checkAgentThere(n, merged); err != nil {
			return nil, err
		}
	}
	return numberSteps(merged), nil
}

// movable is the part of a plan, [from, to), that has not begun: behind the last
// step that has and the core steps that open, before the one that closes.
func movable(plan []node.Step) (from, to int) {
	to = len(plan)
	for i, s := range plan {
		if s.Rule().Last {
			to = i
		}
	}
	for i, s := range plan {
		begun := s.State != node.StepPending && !(s.State == node.StepSkipped && s.StartedAt == nil)
		if begun || i < to && s.Source == node.SourceCore {
			from = i + 1
		}
	}
	return from, to
}

// refreshAgentSteps brings the steps that are there up to what the agent offers now, and
// drops those of an earlier offer.
func refreshAgentSteps(n *node.Node, k node.KindSpec, steps []node.Step, offer map[string]AgentStep) ([]node.Step, error) {
	var out []node.Step
	var missing []string
	for _, s := range steps {
		if s.Source != node.SourceAgent {
			out = append(out, s)
			continue
		}
		o, ok := offer[s.Name()]
		switch {
		case s.State == node.StepSkipped && s.Note != "": // done by an earlier operation
			out = append(out, s)
			continue
		case !ok && s.Asked:
			missing = append(missing, s.Name())
			continue
		case !s.Asked: // comes back below, where it still should
			continue
		}
		s.Abortable = o.Abortable
		if k.AskedOnly {
			s.Priority = o.Priority
		}
		if s.State != node.StepSkipped {
			if err := checkArgs(k.Family, s, o.Args); err != nil {
				return nil, fault.New(fault.Invalid, "node %s: %w", n.UUID, err)
			}
		}
		out = append(out, s)
	}
	if len(missing) > 0 {
		return nil, unsupported(n, k.Family, missing[:min(len(missing), 10)])
	}
	return out, nil
}

func runsByItself(n *node.Node, s AgentStep) bool {
	if node.IsReserved(s.Step) {
		return false
	}
	return n.Implementation(s.Interface).RunsAgentSteps
}

func agentStep(s AgentStep, k node.KindSpec) node.Step {
	return node.Step{
		Interface: s.Interface, Step: s.Step, Priority: s.Priority, Abortable: s.Abortable,
		Source: node.SourceAgent, State: node.StepPending, Cleaning: k.GivesBack,
	}
}

// byName takes of each name the offer with the highest priority. The agent
// offers each once; should it not, the outcome must not hang on the order.
func byName(offered []AgentStep) map[string]AgentStep {
	out := make(map[string]AgentStep, len(offered))
	for _, s := range offered {
		if have, ok := out[s.Name()]; !ok || s.Priority > have.Priority {
			out[s.Name()] = s
		}
	}
	return out
}

func sorted(offer map[string]AgentStep) []AgentStep {
	out := make([]AgentStep, 0, len(offer))
	for _, s := range offer {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b AgentStep) int { return cmp.Compare(a.Name(), b.Name()) })
	return out
}

func names(lists ...[]node.Step) map[string]bool {
	out := map[string]bool{}
	for _, l := range lists {
		for _, s := range l {
			out[s.Name()] = true
		}
	}
	return out
}

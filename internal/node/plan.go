package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// CleansAutomatically reports whether n is cleaned when it is provided or given
// back; setting is what holds for nodes that don't say.
func CleansAutomatically(n *Node, setting bool) bool {
	if n.AutomatedClean != nil {
		return *n.AutomatedClean
	}
	return setting
}

func planVerify(KindSpec, *Node, []Step, PlanOptions) ([]Step, error) {
	return []Step{core("power", StepVerify)}, nil
}

func planUndo(KindSpec, *Node, []Step, PlanOptions) ([]Step, error) {
	return []Step{core("management", StepUndo)}, nil
}

func planAutomatedClean(k KindSpec, n *Node, _ []Step, o PlanOptions) ([]Step, error) {
	if !CleansAutomatically(n, o.AutomatedClean) {
		return nil, nil
	}
	steps := []Step{core("deploy", StepPrepareCleaning)}
	for _, s := range specsOf(n, k.Family) {
		if s.Priority > 0 {
			steps = append(steps, fromSpec(s))
		}
	}
	return append(steps, core("deploy", StepTearDownCleaning)), nil
}

func planUndeploy(k KindSpec, n *Node, asked []Step, o PlanOptions) ([]Step, error) {
	steps := []Step{core("deploy", StepTearDown)}
	clean, err := planAutomatedClean(k, n, asked, o)
	for _, s := range clean {
		s.Cleaning = true
		steps = append(steps, s)
	}
	return steps, err
}

func planManualClean(k KindSpec, n *Node, asked []Step, o PlanOptions) ([]Step, error) {
	specs := specsOf(n, k.Family)
	var steps []Step
	for _, a := range asked {
		s, spec, err := resolve(k, n, a, specs, !o.DisableRamdisk)
		if err != nil {
			return nil, err
		}
		if o.DisableRamdisk && spec != nil && !spec.NoRamdisk {
			return nil, fault.New(fault.Invalid, "clean step %s requires booting a ramdisk", s.Name())
		}
		if spec != nil {
			s.Priority = spec.Priority
		}
		steps = append(steps, s)
	}
	if o.DisableRamdisk {
		return steps, nil
	}
	steps = append([]Step{core("deploy", StepPrepareCleaning)}, steps...)
	return append(steps, core("deploy", StepTearDownCleaning)), nil
}

func planInspection(k KindSpec, n *Node, _ []Step, _ PlanOptions) ([]Step, error) {
	switch n.Implementation(k.Agent).Means {
	case MeansAgent:
		return []Step{core("inspect", StepBootAgent), core("inspect", StepCollect), core("inspect", StepTearDown)}, nil
	case MeansNone:
		return nil, n.Unsupported("inspect")
	}
	return []Step{{Interface: "inspect", Step: StepInspectHardware, Source: SourceDriver}}, nil
}

func planDeployment(k KindSpec, n *Node, asked []Step, _ PlanOptions) ([]Step, error) {
	specs := specsOf(n, k.Family)
	var steps []Step
	seen := map[string]bool{}
	for _, a := range asked {
		if seen[a.Name()] {
			return nil, fault.New(fault.Invalid, "deploy steps cannot have the same interface and step. Duplicate deploy steps for %s", a.Name())
		}
		seen[a.Name()] = true
		s, spec, err := resolve(k, n, a, specs, true)
		if err != nil {
			return nil, err
		}
		if s.Priority > 0 && spec != nil && spec.Core {
			return nil, fault.New(fault.Invalid, "deploy step %s on interface %s is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0", s.Step, s.Interface)
		}
		if s.Priority == 0 {
			s.State = StepSkipped // stays in the list: nothing else of its name may come
		}
		steps = append(steps, s)
	}
	for _, spec := range specs {
		if spec.Priority > 0 && !seen[spec.Name()] {
			steps = append(steps, fromSpec(spec))
		}
	}
	sortSteps(steps)
	if err := agentThere(n, steps); err != nil {
		return nil, err
	}
	return append([]Step{core("deploy", StepPrepare)}, steps...), nil
}

func planPower(_ KindSpec, n *Node, _ []Step, o PlanOptions) ([]Step, error) {
	switch o.Power {
	case PowerOff:
		return []Step{core("power", StepOff)}, nil
	case SoftPowerOff:
		return []Step{core("power", StepSoftOff)}, nil
	case Rebooting, SoftRebooting:
		off := StepOff
		if o.Power == SoftRebooting {
			off = StepSoftOff
		}
		if n.DisablePowerOff {
			return []Step{core("power", StepReset)}, nil
		}
		return []Step{core("power", off), core("power", StepOn)}, nil
	}
	return []Step{core("power", StepOn)}, nil
}

// resolve makes a step of one that was asked. spec is nil for reserved steps
// and for those that only the agent can know; inBand says that it may.
func resolve(k KindSpec, n *Node, a Step, specs []StepSpec, inBand bool) (Step, *StepSpec, error) {
	s := Step{Interface: a.Interface, Step: a.Step, Priority: a.Priority, Args: a.Args, Source: SourceDriver, Asked: true}
	if IsReserved(a.Step) {
		return s, nil, nil
	}
	i := slices.IndexFunc(specs, func(sp StepSpec) bool { return sp.Name() == a.Name() })
	if i < 0 {
		if !inBand || !k.UsesAgent(n) {
			return s, nil, unsupported(n, k.Family, []string{a.Name()})
		}
		s.Source = SourceAgent
		return s, nil, nil
	}
	s.Abortable = specs[i].Abortable
	if k.Family == DeployFamily && s.Priority == 0 {
		return s, &specs[i], nil // switched off: nothing to pass
	}
	return s, &specs[i], checkArgs(k.Family, s, specs[i].Args)
}

func unsupported(n *Node, f Family, names []string) error {
	for i := range names {
		names[i] = text.Cut(names[i])
	}
	return fault.New(fault.Invalid, "node %s does not support this %s step: %s", n.UUID, f, strings.Join(names, ", "))
}

// agentThere refuses steps of the agent that would run while it is not there:
// before a step has booted it or after tear_down_agent.
func agentThere(n *Node, steps []Step) error {
	booted := !slices.ContainsFunc(steps, func(s Step) bool { return s.Rule().BootsAgent && !s.Over() })
	gone := false
	for _, s := range steps {
		switch rule := s.Rule(); {
		case rule.BootsAgent:
			booted = true
		case rule.EndsAgent && s.State != StepSkipped:
			gone = true
		case s.Source != SourceAgent || s.Over():
		case !booted:
			return fault.New(fault.Invalid, "deploy step %s of node %s has priority %d, but the agent that would run it is booted at priority 100 only", text.Cut(s.Name()), n.UUID, s.Priority)
		case gone:
			return fault.New(fault.Invalid, "deploy step %s of node %s has priority %d, but the agent that would run it is gone by then", text.Cut(s.Name()), n.UUID, s.Priority)
		}
	}
	return nil
}

func fromSpec(s StepSpec) Step {
	return Step{Interface: s.Interface, Step: s.Step, Priority: s.Priority, Abortable: s.Abortable, Source: s.Source}
}

// sortSteps: priority, then the interface's rank, both downwards; what is equal
// keeps its order.
func sortSteps(steps []Step) {
	slices.SortStableFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(rank[b.Interface], rank[a.Interface]))
	})
}

// number gives every step its place and a state.
func number(steps []Step) []Step {
	for i := range steps {
		steps[i].Index = i
		if steps[i].State == "" {
			steps[i].State = StepPending
		}
	}
	return steps
}

// argsKey names the arguments of step i in a way that survives steps being
// merged in: its name, and which one of that name it is.
func argsKey(steps []Step, i int) string {
	nth := 0
	for _, s := range steps[:i] {
		if s.Name() == steps[i].Name() {
			nth++
		}
	}
	return fmt.Sprintf("%s#%d", steps[i].Name(), nth)
}

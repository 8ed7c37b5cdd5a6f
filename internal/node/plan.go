package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Core steps by name. They frame an operation and are no deploy or clean steps
// for clients.
const (
	StepVerify            = "verify"             // power: the BMC answers and tells a power state
	StepPrepare           = "prepare"            // deploy: off, boot.prepare_ramdisk, image info
	StepTearDown          = "tear_down"          // deploy: off, boot cleaned up; inspect: off
	StepPrepareCleaning   = "prepare_cleaning"   // deploy: boots the agent where there is one
	StepTearDownCleaning  = "tear_down_cleaning" // deploy: off, boot cleaned up
	StepBootAgent         = "boot_agent"         // inspect
	StepCollect           = "collect"            // inspect: waits for the inventory
	StepOn                = "on"                 // power
	StepOff               = "off"                // power
	StepSoftOff           = "soft_off"           // power, within the operation's SoftTimeout
	StepUndo              = "undo"               // management: what earlier operations owe
	StepReset             = "reset"              // power: a restart of a node that must not be off; sent at most once
	StepInspectHardware   = "inspect_hardware"   // inspect, driver: out of band
	StepDeploy            = "deploy"             // deploy, driver: boots the agent and waits for it
	StepWriteImage        = "write_image"        // deploy, driver, through the agent
	StepPrepareBoot       = "prepare_instance_boot"
	StepTearDownAgent     = "tear_down_agent"
	StepSwitchToTenantNet = "switch_to_tenant_network"
	StepBootInstance      = "boot_instance"
)

// PlanOptions is what a plan depends on besides node and request.
type PlanOptions struct {
	// AutomatedClean is the setting; the node's own wins over it.
	AutomatedClean bool
	// DisableRamdisk of cleaning by hand: no agent, and only steps that need none.
	DisableRamdisk bool
	// Power is the target of KindPower.
	Power PowerState
}

// Plan is the list of steps with which an operation of kind k begins: core
// steps around the driver's, and what was asked (ValidateSteps), by Ironic's
// rules (conductor/steps.py). Steps of the agent join when it has told them
// (MergeAgentSteps); asked ones that only it can know are in the list already.
// An empty plan is fine: the operation ends as it begins.
// Errors: fault.Invalid, naming the step.
func Plan(k Kind, n *Node, asked []Step, o PlanOptions) ([]Step, error) {
	var steps []Step
	var err error
	switch k {
	case KindManage:
		steps = []Step{core("power", StepVerify)}
	case KindProvide:
		steps = automatedClean(n, o)
	case KindUndeploy:
		steps = append(steps, core("deploy", StepTearDown))
		for _, s := range automatedClean(n, o) {
			s.Cleaning = true
			steps = append(steps, s)
		}
	case KindClean:
		steps, err = manualClean(n, asked, o)
	case KindInspect:
		steps, err = inspection(n)
	case KindDeploy, KindRebuild:
		steps, err = deployment(k, n, asked)
	case KindPower:
		steps = powerChange(n, o.Power)
	case KindUndo:
		steps = []Step{core("management", StepUndo)}
	default:
		err = fault.New(fault.Internal, "plan an operation of unknown kind %q", k)
	}
	if err != nil {
		return nil, err
	}
	return number(steps), nil
}

// UsesAgent reports whether an operation of kind k on n boots the ramdisk agent.
func UsesAgent(n *Node, k Kind) bool {
	switch k {
	case KindInspect:
		return n.Interfaces["inspect"] == "agent"
	case KindDeploy, KindRebuild, KindClean, KindProvide, KindUndeploy:
		return n.Interfaces["deploy"] == "direct"
	}
	return false
}

// CleansAutomatically reports whether n is cleaned when it is provided or given
// back; setting is what holds for nodes that don't say.
func CleansAutomatically(n *Node, setting bool) bool {
	if n.AutomatedClean != nil {
		return *n.AutomatedClean
	}
	return setting
}

func automatedClean(n *Node, o PlanOptions) []Step {
	if !CleansAutomatically(n, o.AutomatedClean) {
		return nil
	}
	steps := []Step{waiting(core("deploy", StepPrepareCleaning))}
	for _, s := range specsOf(n, KindClean) {
		if s.Priority > 0 {
			steps = append(steps, fromSpec(s))
		}
	}
	return append(steps, core("deploy", StepTearDownCleaning))
}

func manualClean(n *Node, asked []Step, o PlanOptions) ([]Step, error) {
	specs := specsOf(n, KindClean)
	var steps []Step
	for _, a := range asked {
		s, spec, err := resolve(KindClean, n, a, specs, !o.DisableRamdisk)
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
	steps = append([]Step{waiting(core("deploy", StepPrepareCleaning))}, steps...)
	return append(steps, core("deploy", StepTearDownCleaning)), nil
}

func inspection(n *Node) ([]Step, error) {
	switch n.Interfaces["inspect"] {
	case "agent":
		return []Step{waiting(core("inspect", StepBootAgent)), waiting(core("inspect", StepCollect)), core("inspect", StepTearDown)}, nil
	case "", "no-inspect":
		return nil, fault.New(fault.Invalid, "Driver %s does not support inspect (disabled or not implemented).", n.Driver)
	}
	return []Step{{Interface: "inspect", Step: StepInspectHardware, Source: SourceDriver}}, nil
}

func deployment(k Kind, n *Node, asked []Step) ([]Step, error) {
	specs := specsOf(n, k)
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

func powerChange(n *Node, target PowerState) []Step {
	switch target {
	case PowerOff:
		return []Step{core("power", StepOff)}
	case SoftPowerOff:
		return []Step{core("power", StepSoftOff)}
	case Rebooting, SoftRebooting:
		off := StepOff
		if target == SoftRebooting {
			off = StepSoftOff
		}
		if n.DisablePowerOff {
			return []Step{core("power", StepReset)}
		}
		return []Step{core("power", off), core("power", StepOn)}
	}
	return []Step{core("power", StepOn)}
}

// resolve makes a step of one that was asked. spec is nil for reserved steps
// and for those that only the agent can know; inBand says that it may.
func resolve(k Kind, n *Node, a Step, specs []StepSpec, inBand bool) (Step, *StepSpec, error) {
	s := Step{Interface: a.Interface, Step: a.Step, Priority: a.Priority, Args: a.Args, Source: SourceDriver, Asked: true}
	if IsReserved(a.Step) {
		return s, nil, nil
	}
	i := slices.IndexFunc(specs, func(sp StepSpec) bool { return sp.Name() == a.Name() })
	if i < 0 {
		if !inBand || !UsesAgent(n, k) {
			return s, nil, unsupported(n, k, []string{a.Name()})
		}
		s.Source = SourceAgent
		return s, nil, nil
	}
	s.Abortable = specs[i].Abortable
	if k.word() == "deploy" && s.Priority == 0 {
		return s, &specs[i], nil // switched off: nothing to pass
	}
	return s, &specs[i], checkArgs(k.word(), s, specs[i].Args)
}

func unsupported(n *Node, k Kind, names []string) error {
	for i := range names {
		names[i] = cut(names[i])
	}
	return fault.New(fault.Invalid, "node %s does not support this %s step: %s", n.UUID, k.word(), strings.Join(names, ", "))
}

// agentThere refuses steps of the agent that would run while it is not there:
// before deploy.deploy has booted it or after tear_down_agent.
func agentThere(n *Node, steps []Step) error {
	booted := !slices.ContainsFunc(steps, func(s Step) bool { return isDeploy(s, StepDeploy) && !s.Over() })
	gone := false
	for _, s := range steps {
		switch {
		case isDeploy(s, StepDeploy):
			booted = true
		case isDeploy(s, StepTearDownAgent) && s.State != StepSkipped:
			gone = true
		case s.Source != SourceAgent || s.Over():
		case !booted:
			return fault.New(fault.Invalid, "deploy step %s of node %s has priority %d, but the agent that would run it is booted at priority 100 only", cut(s.Name()), n.UUID, s.Priority)
		case gone:
			return fault.New(fault.Invalid, "deploy step %s of node %s has priority %d, but the agent that would run it is gone by then", cut(s.Name()), n.UUID, s.Priority)
		}
	}
	return nil
}

func isDeploy(s Step, name string) bool { return s.Interface == "deploy" && s.Step == name }

func core(iface, step string) Step { return Step{Interface: iface, Step: step, Source: SourceCore} }

// waiting marks a step that only waits for the agent, so it may be aborted.
func waiting(s Step) Step {
	s.Abortable = true
	return s
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

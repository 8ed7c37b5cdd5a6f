// Package plan makes the list of steps of an operation: from its kind, the node's
// interfaces, the steps that a request names and those that the ramdisk agent offers.
package plan

import (
	"cmp"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// CleansAutomatically reports whether n is cleaned when it is provided or given
// back; setting is what holds for nodes that don't say.
func CleansAutomatically(n *node.Node, setting bool) bool {
	if n.AutomatedClean != nil {
		return *n.AutomatedClean
	}
	return setting
}

// planner makes the steps with which an operation of a kind begins.
type planner func(k node.KindSpec, n *node.Node, asked []node.Step, o Options) ([]node.Step, error)

var planners = map[node.OperationKind]planner{
	node.KindManage:   planVerify,
	node.KindProvide:  planAutomatedClean,
	node.KindClean:    planManualClean,
	node.KindInspect:  planInspection,
	node.KindDeploy:   planDeployment,
	node.KindRebuild:  planDeployment,
	node.KindUndeploy: planUndeploy,
	node.KindRescue:   planRescue,
	node.KindUnrescue: planUnrescue,
	node.KindAdopt:    planVerify,
	node.KindService:  planService,
	node.KindPower:    planPower,
	node.KindUndo:     planUndo,

	node.KindBootDevice: planBootDevice,
	node.KindNMI:        planNMI,

	node.KindBootMode:    planRequest,
	node.KindSecureBoot:  planRequest,
	node.KindIndicator:   planRequest,
	node.KindAttachMedia: planRequest,
	node.KindDetachMedia: planRequest,

	node.KindBMCPassword:    planBMCPassword,
	node.KindVendorPassthru: planVendorMethod,
}

func planVerify(node.KindSpec, *node.Node, []node.Step, Options) ([]node.Step, error) {
	return []node.Step{coreStep("power", node.StepVerify)}, nil
}

func planUndo(node.KindSpec, *node.Node, []node.Step, Options) ([]node.Step, error) {
	return []node.Step{coreStep("management", node.StepUndo)}, nil
}

func planBootDevice(_ node.KindSpec, _ *node.Node, _ []node.Step, o Options) ([]node.Step, error) {
	s := coreStep("management", node.StepSetBootDevice)
	s.Args = o.BootDevice.Args()
	return []node.Step{s}, nil
}

func planNMI(node.KindSpec, *node.Node, []node.Step, Options) ([]node.Step, error) {
	return []node.Step{coreStep("management", node.StepInjectNMI)}, nil
}

// planRequest makes the only step of a request to the management interface.
func planRequest(k node.KindSpec, _ *node.Node, _ []node.Step, o Options) ([]node.Step, error) {
	s := coreStep("management", k.Step)
	s.Args = o.Args
	return []node.Step{s}, nil
}

func planBMCPassword(node.KindSpec, *node.Node, []node.Step, Options) (steps []node.Step, err error) {
	for _, name := range []string{node.StepMakePassword, node.StepTryPassword, node.StepChangePassword, node.StepRecordPassword} {
		steps = append(steps, coreStep("management", name))
	}
	return steps, nil
}

func planVendorMethod(_ node.KindSpec, _ *node.Node, _ []node.Step, o Options) ([]node.Step, error) {
	s := coreStep("vendor", o.Vendor.Method)
	s.Args = o.Vendor.Args
	return []node.Step{s}, nil
}

func planAutomatedClean(k node.KindSpec, n *node.Node, _ []node.Step, o Options) ([]node.Step, error) {
	if !CleansAutomatically(n, o.AutomatedClean) {
		return nil, nil
	}
	steps := []node.Step{coreStep("deploy", node.StepPrepareCleaning)}
	for _, s := range n.StepSpecs(k.Family) {
		if s.Priority > 0 {
			steps = append(steps, driverStep(s))
		}
	}
	return append(steps, coreStep("deploy", node.StepTearDownCleaning)), nil
}

func planUndeploy(k node.KindSpec, n *node.Node, asked []node.Step, o Options) ([]node.Step, error) {
	steps := []node.Step{coreStep("deploy", node.StepTearDown)}
	clean, err := planAutomatedClean(k, n, asked, o)
	for _, s := range clean {
		s.Cleaning = true
		steps = append(steps, s)
	}
	return steps, err
}

func planManualClean(k node.KindSpec, n *node.Node, asked []node.Step, o Options) ([]node.Step, error) {
	specs := n.StepSpecs(k.Family)
	var steps []node.Step
	for _, a := range asked {
		s, spec, err := resolveRequested(k, n, a, specs, !o.DisableRamdisk)
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
	steps = append([]node.Step{coreStep("deploy", node.StepPrepareCleaning)}, steps...)
	return append(steps, coreStep("deploy", node.StepTearDownCleaning)), nil
}

// planService boots the agent only if a step needs it, so that a BIOS setting or a firmware image costs one restart and not three.
func planService(k node.KindSpec, n *node.Node, asked []node.Step, o Options) ([]node.Step, error) {
	specs := n.StepSpecs(k.Family)
	var steps []node.Step
	agent := false
	for _, a := range asked {
		s, spec, err := resolveRequested(k, n, a, specs, !o.DisableRamdisk)
		if err != nil {
			return nil, err
		}
		needs := s.Source == node.SourceAgent || spec != nil && !spec.NoRamdisk
		if o.DisableRamdisk && needs {
			return nil, fault.New(fault.Invalid, "service step %s requires booting a ramdisk", s.Name())
		}
		if spec != nil {
			s.Priority = spec.Priority
		}
		agent = agent || needs
		steps = append(steps, s)
	}
	if !agent {
		return steps, nil
	}
	steps = append([]node.Step{coreStep("deploy", node.StepPrepareService)}, steps...)
	return append(steps, coreStep("deploy", node.StepTearDownService)), nil
}

func planInspection(k node.KindSpec, n *node.Node, _ []node.Step, _ Options) ([]node.Step, error) {
	switch n.Implementation(k.Agent).Means {
	case node.MeansAgent:
		return []node.Step{coreStep("inspect", node.StepBootAgent), coreStep("inspect", node.StepCollect), coreStep("inspect", node.StepTearDown)}, nil
	case node.MeansNone:
		return nil, n.Unsupported("inspect")
	}
	return []node.Step{{Interface: "inspect", Step: node.StepInspectHardware, Source: node.SourceDriver}}, nil
}

func planRescue(k node.KindSpec, n *node.Node, _ []node.Step, o Options) ([]node.Step, error) {
	switch n.Implementation(k.Agent).Means {
	case node.MeansAgent:
		finalize := coreStep("rescue", node.StepFinalizeRescue)
		finalize.Args = map[string]any{node.RescuePassword: o.RescuePassword}
		if o.RescueKeys != "" {
			finalize.Args[node.RescueKeys] = o.RescueKeys
		}
		return []node.Step{coreStep("rescue", node.StepBootAgent), finalize}, nil
	case node.MeansNone:
		return nil, n.Unsupported("rescue")
	}
	return []node.Step{coreStep("rescue", node.StepRescue)}, nil
}

func planUnrescue(_ node.KindSpec, n *node.Node, _ []node.Step, _ Options) ([]node.Step, error) {
	if n.Implementation("rescue").Means == node.MeansNone {
		return nil, n.Unsupported("rescue")
	}
	return []node.Step{coreStep("rescue", node.StepUnrescue)}, nil
}

func planDeployment(k node.KindSpec, n *node.Node, asked []node.Step, o Options) ([]node.Step, error) {
	specs := n.StepSpecs(k.Family)
	seen := map[string]bool{}
	steps, err := resolveDeploySteps(k, n, asked, specs, seen, "")
	if err != nil {
		return nil, err
	}
	templates, err := matching(n, o.Templates)
	if err != nil {
		return nil, err
	}
	fromTemplates, err := resolveDeploySteps(k, n, templateSteps(templates, asked), specs, seen, " from all deploy templates matching this node's instance traits")
	if err != nil {
		return nil, badTemplates(templates, err)
	}
	steps = append(steps, fromTemplates...)
	for _, spec := range specs {
		if spec.Priority > 0 && !seen[spec.Name()] {
			steps = append(steps, driverStep(spec))
		}
	}
	sortSteps(steps)
	if err := checkAgentThere(n, steps); err != nil {
		return nil, err
	}
	return append([]node.Step{coreStep("deploy", node.StepPrepare)}, steps...), nil
}

// resolveDeploySteps makes deploy steps of those that were asked, and adds their names to seen; whose says who asked, in errors.
func resolveDeploySteps(k node.KindSpec, n *node.Node, asked []node.Step, specs []node.StepSpec, seen map[string]bool, whose string) ([]node.Step, error) {
	var steps []node.Step
	for _, a := range asked {
		if seen[a.Name()] {
			return nil, fault.New(fault.Invalid, "deploy steps%s cannot have the same interface and step. Duplicate deploy steps for %s", whose, a.Name())
		}
		seen[a.Name()] = true
		s, spec, err := resolveRequested(k, n, a, specs, true)
		if err != nil {
			return nil, err
		}
		if s.Priority > 0 && spec != nil && spec.Core {
			return nil, fault.New(fault.Invalid, "deploy step %s on interface %s is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0", s.Step, s.Interface)
		}
		if s.Priority == 0 {
			s.State = node.StepSkipped // stays in the list: nothing else of its name may come
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func planPower(_ node.KindSpec, n *node.Node, _ []node.Step, o Options) ([]node.Step, error) {
	switch o.Power {
	case node.PowerOff:
		return []node.Step{coreStep("power", node.StepOff)}, nil
	case node.SoftPowerOff:
		return []node.Step{coreStep("power", node.StepSoftOff)}, nil
	case node.Rebooting, node.SoftRebooting:
		off := node.StepOff
		if o.Power == node.SoftRebooting {
			off = node.StepSoftOff
		}
		if n.DisablePowerOff {
			return []node.Step{coreStep("power", node.StepReset)}, nil
		}
		return []node.Step{coreStep("power", off), coreStep("power", node.StepOn)}, nil
	}
	return []node.Step{coreStep("power", node.StepOn)}, nil
}

// resolveRequested makes a step of one that was asked. spec is nil for reserved steps
// and for those that only the agent can know; inBand says that it may.
func resolveRequested(k node.KindSpec, n *node.Node, a node.Step, specs []node.StepSpec, inBand bool) (node.Step, *node.StepSpec, error) {
	s := node.Step{Interface: a.Interface, Step: a.Step, Priority: a.Priority, Args: a.Args, Source: node.SourceDriver, Asked: true}
	if node.IsReserved(a.Step) {
		return s, nil, nil
	}
	i := slices.IndexFunc(specs, func(sp node.StepSpec) bool { return sp.Name() == a.Name() })
	if i < 0 {
		if !inBand || !k.UsesAgent(n) {
			return s, nil, unsupported(n, k.Family, []string{a.Name()})
		}
		s.Source = node.SourceAgent
		return s, nil, nil
	}
	s.Abortable = specs[i].Abortable
	if k.Family == node.DeployFamily && s.Priority == 0 {
		return s, &specs[i], nil // switched off: nothing to pass
	}
	return s, &specs[i], checkArgs(k.Family, s, specs[i].Args)
}

func unsupported(n *node.Node, f node.Family, names []string) error {
	for i := range names {
		names[i] = text.Cut(names[i])
	}
	return fault.New(fault.Invalid, "node %s does not support this %s step: %s", n.UUID, f, strings.Join(names, ", "))
}

// checkAgentThere refuses steps of the agent that would run while it is not there:
// before a step has booted it or after tear_down_agent.
func checkAgentThere(n *node.Node, steps []node.Step) error {
	booted := !slices.ContainsFunc(steps, func(s node.Step) bool { return s.Rule().BootsAgent && !s.Over() })
	gone := false
	for _, s := range steps {
		switch rule := s.Rule(); {
		case rule.BootsAgent:
			booted = true
		case rule.EndsAgent && s.State != node.StepSkipped:
			gone = true
		case s.Source != node.SourceAgent || s.Over():
		case !booted:
			return fault.New(fault.Invalid, "deploy step %s of node %s has priority %d, but the agent that would run it is booted at priority 100 only", text.Cut(s.Name()), n.UUID, s.Priority)
		case gone:
			return fault.New(fault.Invalid, "deploy step %s of node %s has priority %d, but the agent that would run it is gone by then", text.Cut(s.Name()), n.UUID, s.Priority)
		}
	}
	return nil
}

func driverStep(s node.StepSpec) node.Step {
	return node.Step{Interface: s.Interface, Step: s.Step, Priority: s.Priority, Abortable: s.Abortable, Source: s.Source}
}

// sortSteps: priority, then the interface's rank, both downwards; what is equal
// keeps its order.
func sortSteps(steps []node.Step) {
	slices.SortStableFunc(steps, func(a, b node.Step) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(node.StepRank(b.Interface), node.StepRank(a.Interface)))
	})
}

// numberSteps gives every step its place and a state.
func numberSteps(steps []node.Step) []node.Step {
	for i := range steps {
		steps[i].Index = i
		if steps[i].State == "" {
			steps[i].State = node.StepPending
		}
	}
	return steps
}

// Options is what a plan depends on besides node and request.
type Options struct {
	// AutomatedClean is the setting; the node's own wins over it.
	AutomatedClean bool
	// DisableRamdisk of cleaning by hand: no agent, and only steps that need none.
	DisableRamdisk bool
	// Power is the target of KindPower.
	Power node.PowerState
	// Templates are the deploy templates that may be meant by what the node's instance asks for (instance_info.traits).
	Templates []node.DeployTemplate
	// BootDevice is what an operation of KindBootDevice sets.
	BootDevice node.BootDevice
	// Args are the arguments of the step of a request to the management interface (KindSpec.Step).
	Args map[string]any
	// RescuePassword is the hash of the password of KindRescue, or what stands for it where it is sealed.
	RescuePassword string
	RescueKeys     string // public keys that may log in, too, a line each
	// Vendor is what an operation of KindVendorPassthru calls.
	Vendor node.VendorCall
}

// Steps is the list of steps with which an operation of kind k begins: core
// steps around the driver's, and what was asked (ReadSteps), by Ironic's
// rules (conductor/steps.py). Steps of the agent join when it has told them
// (Merge); asked ones that only it can know are in the list already.
// An empty plan is fine: the operation ends as it begins.
// Errors: fault.Invalid, naming the step.
func Steps(k node.OperationKind, n *node.Node, asked []node.Step, o Options) ([]node.Step, error) {
	planner := planners[k]
	if planner == nil {
		return nil, fault.New(fault.Internal, "plan an operation of unknown kind %q", k)
	}
	steps, err := planner(k.Spec(), n, asked, o)
	if err != nil {
		return nil, err
	}
	return numberSteps(steps), nil
}

// coreStep returns a step that frames an operation.
func coreStep(iface, step string) node.Step {
	s := node.Step{Interface: iface, Step: step, Source: node.SourceCore}
	r := s.Rule()
	if !r.Core {
		panic("the table of steps has no row of a core step " + s.Name())
	}
	s.Abortable = r.Abortable
	return s
}

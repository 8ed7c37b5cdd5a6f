package node

import (
	"slices"
	"time"
)

// OperationKind says what an operation does to its node.
type OperationKind string

// The kinds. Each has a row in the table of kinds.
const (
	KindManage   OperationKind = "manage"
	KindProvide  OperationKind = "provide"
	KindClean    OperationKind = "clean"
	KindInspect  OperationKind = "inspect"
	KindDeploy   OperationKind = "deploy"
	KindRebuild  OperationKind = "rebuild"
	KindUndeploy OperationKind = "undeploy" // tears down and then cleans
	KindRescue   OperationKind = "rescue"
	KindUnrescue OperationKind = "unrescue"
	KindAdopt    OperationKind = "adopt"   // takes over a server that runs its instance already, and changes nothing on it
	KindService  OperationKind = "service" // runs steps on a node in use, and keeps its data
	KindPower    OperationKind = "power"
	KindUndo     OperationKind = "undo"

	KindBootDevice OperationKind = "boot_device"
	KindNMI        OperationKind = "nmi"

	KindBootMode    OperationKind = "boot_mode"            // sets whether the server boots by UEFI or a BIOS
	KindSecureBoot  OperationKind = "secure_boot"          // switches Secure Boot
	KindIndicator   OperationKind = "indicator"            // switches a light
	KindAttachMedia OperationKind = "attach_virtual_media" // inserts an image into a virtual drive
	KindDetachMedia OperationKind = "detach_virtual_media" // empties virtual drives

	KindBMCPassword    OperationKind = "bmc_password"    // gives the BMC a new password
	KindVendorPassthru OperationKind = "vendor_passthru" // a method of the vendor interface
)

// Family says which steps an operation runs between those that frame it, and how long
// it waits for the agent.
type Family string

// The families.
const (
	NoFamily      Family = ""        // framing steps only, and no agent
	DeployFamily  Family = "deploy"  // deploy steps of the interfaces and of the agent
	CleanFamily   Family = "clean"   // clean steps of the interfaces and of the agent
	InspectFamily Family = "inspect" // the agent is booted for its inventory and runs no steps
	RescueFamily  Family = "rescue"  // the agent is booted for a person who logs in, and runs no steps
	ServiceFamily Family = "service" // service steps of the interfaces and of the agent
)

// Families are the families whose operations may boot the agent.
var Families = []Family{DeployFamily, CleanFamily, InspectFamily, RescueFamily, ServiceFamily}

// HasSteps reports whether interfaces and agents offer steps of the family.
func (f Family) HasSteps() bool { return f == DeployFamily || f == CleanFamily || f == ServiceFamily }

// KindSpec is everything that sets the operations of one kind apart. All operations
// have the same workflow code.
type KindSpec struct {
	Kind     OperationKind
	Workflow string // the type of its workflow in Temporal; recorded histories contain it
	Family   Family
	// Agent is the interface whose implementation decides whether the agent is booted;
	// "" = it never is.
	Agent string

	// AskedSteps is the field of a request that names steps to run; "" = there is none.
	AskedSteps string
	// AskedOnly: it runs the steps that the request names and no others. The request
	// must name one.
	AskedOnly bool

	// Needs are the interfaces that must be valid before such an operation is accepted,
	// and AgentNeeds those that must be valid, too, if it boots the agent. Refusal begins
	// the error if one is not valid (Ironic conductor/manager.py and deployments.py).
	Needs, AgentNeeds []string
	Refusal           string

	PowerChange bool // it is a request for a power state
	// Management: it is a request to the management or the vendor interface. Its error is told to whoever sent the request, and does
	// not become the node's last error.
	Management bool
	// Step is the only step of such a request, and Ironic's name of what the management interface has to support.
	Step string
	// Answered: Ironic answers such a request before it has ended, so its error becomes the node's last error all the same.
	Answered bool
	// Settles are the undos that a node owes no more when an operation of the kind has succeeded.
	Settles []Undo
	// Undoes: it does what earlier operations owe. Reconciliation opens it, and nobody
	// waits for it.
	Undoes    bool
	GivesBack bool // it takes the node out of use
	Leases    bool // it makes the instance's project the lessee, if the API is set to do so
	// PowersOff: it switches the server off on its way, so it is refused where
	// disable_power_off is set. So is any operation that boots the agent.
	PowersOff bool
	// KeepsPower: if it fails, it leaves the power as it is (Ironic's
	// poweroff_in_cleanfail = False).
	KeepsPower bool
	// EndsOff: once it has begun, it ends powered off unless it succeeds (Ironic's
	// power_off_after_deploy_failure = True).
	EndsOff bool
	// ConductorWait is the longest time that it waits for a conductor; 0 = as long as
	// wait_for_conductor says.
	ConductorWait time.Duration
}

const (
	refusedDeploy  = "Failed to validate deploy or power info for node %s: "
	refusedClean   = "Validation of node %s for cleaning failed: "
	refusedInspect = "Failed to inspect hardware. Reason: Failed to validate inspection or power info for node %s: "
	refusedDelete  = "Failed to validate power driver interface for node %s. Can not delete instance. Error: "
	refusedPower   = "Failed to validate power info for node %s: "

	refusedRescue   = "Failed to rescue node %s: Validation failed. Error: "
	refusedUnrescue = "Failed to unrescue node %s: Validation failed. Error: "

	refusedAdopt   = "Cannot adopt node %s: validation failed. Error: "
	refusedService = "Validation of node %s for service failed: "

	refusedManagement = "Failed to validate management info for node %s: "
	refusedVendor     = "Failed to validate vendor info for node %s: "
)

// kinds is the table of kinds, in the order of a node's life.
var kinds = []KindSpec{
	{
		Kind: KindManage, Workflow: "ManageNode",
		Needs: []string{"power", "management"}, Refusal: refusedPower,
	},
	{
		Kind: KindProvide, Workflow: "ProvideNode", Family: CleanFamily, Agent: "deploy",
		Needs: []string{"power"}, AgentNeeds: []string{"boot"}, Refusal: refusedClean, KeepsPower: true,
	},
	{
		Kind: KindClean, Workflow: "CleanNode", Family: CleanFamily, Agent: "deploy",
		AskedSteps: "clean_steps", AskedOnly: true,
		Needs: []string{"power"}, AgentNeeds: []string{"boot"}, Refusal: refusedClean, KeepsPower: true,
	},
	{
		Kind: KindInspect, Workflow: "InspectNode", Family: InspectFamily, Agent: "inspect",
		Needs: []string{"power", "inspect"}, Refusal: refusedInspect,
	},
	{
		Kind: KindDeploy, Workflow: "DeployNode", Family: DeployFamily, Agent: "deploy",
		AskedSteps: "deploy_steps",
		Needs:      []string{"power", "deploy"}, AgentNeeds: []string{"boot"}, Refusal: refusedDeploy, Leases: true, PowersOff: true, EndsOff: true,
	},
	{
		Kind: KindRebuild, Workflow: "RebuildNode", Family: DeployFamily, Agent: "deploy",
		AskedSteps: "deploy_steps",
		Needs:      []string{"power", "deploy"}, AgentNeeds: []string{"boot"}, Refusal: refusedDeploy, PowersOff: true, EndsOff: true,
	},
	{
		Kind: KindUndeploy, Workflow: "UndeployNode", Family: CleanFamily, Agent: "deploy",
		Needs: []string{"power"}, Refusal: refusedDelete, GivesBack: true, PowersOff: true, KeepsPower: true,
	},
	{
		Kind: KindRescue, Workflow: "RescueNode", Family: RescueFamily, Agent: "rescue",
		Needs: []string{"power", "rescue"}, AgentNeeds: []string{"boot"}, Refusal: refusedRescue, PowersOff: true,
	},
	{
		Kind: KindUnrescue, Workflow: "UnrescueNode",
		Needs: []string{"power", "rescue"}, Refusal: refusedUnrescue, PowersOff: true,
	},
	{
		Kind: KindAdopt, Workflow: "AdoptNode",
		Needs: []string{"power", "management"}, Refusal: refusedAdopt,
	},
	{
		Kind: KindService, Workflow: "ServiceNode", Family: ServiceFamily, Agent: "deploy",
		AskedSteps: "service_steps", AskedOnly: true,
		Needs: []string{"power"}, AgentNeeds: []string{"boot"}, Refusal: refusedService, KeepsPower: true,
	},
	{
		Kind: KindPower, Workflow: "PowerNode", PowerChange: true, Settles: []Undo{UndoPowerOff},
		Needs: []string{"power", "management"}, Refusal: refusedPower,
	},
	{
		Kind: KindBootDevice, Workflow: "SetBootDevice", Management: true, Settles: []Undo{UndoClearBoot},
		Needs: []string{"management"}, Refusal: refusedManagement,
	},
	{
		Kind: KindNMI, Workflow: "InjectNMI", Management: true,
		Needs: []string{"management"}, Refusal: refusedManagement,
	},
	{
		Kind: KindBootMode, Workflow: "SetBootMode", Management: true, Step: StepSetBootMode, Answered: true,
		Needs: []string{"management"}, Refusal: refusedManagement,
	},
	{
		Kind: KindSecureBoot, Workflow: "SetSecureBoot", Management: true, Step: StepSetSecureBoot, Answered: true,
		Needs: []string{"management"}, Refusal: refusedManagement,
	},
	{
		Kind: KindIndicator, Workflow: "SetIndicator", Management: true, Step: StepSetIndicator,
		Needs: []string{"management"}, Refusal: refusedManagement,
	},
	{
		Kind: KindAttachMedia, Workflow: "AttachVirtualMedia", Management: true, Step: StepAttachMedia, Answered: true,
		Needs: []string{"management"}, Refusal: refusedManagement,
	},
	{
		Kind: KindDetachMedia, Workflow: "DetachVirtualMedia", Management: true, Step: StepDetachMedia, Answered: true,
		Needs: []string{"management"}, Refusal: refusedManagement,
	},
	{
		Kind: KindBMCPassword, Workflow: "ChangeBMCPassword", Management: true,
		Needs: []string{"management"}, Refusal: refusedManagement,
	},
	{
		Kind: KindVendorPassthru, Workflow: "CallVendorMethod", Management: true,
		Needs: []string{"vendor"}, Refusal: refusedVendor,
	},
	{
		// Where the last conductor of its node has just died, the node is not held for longer.
		Kind: KindUndo, Workflow: "UndoNode", Undoes: true, ConductorWait: 30 * time.Second,
		Needs: []string{"power", "management"}, Refusal: refusedPower,
	},
}

// KindSpecs returns the table of kinds.
func KindSpecs() []KindSpec { return slices.Clone(kinds) }

// Kinds returns all kinds.
func Kinds() []OperationKind { return KindsWith(func(KindSpec) bool { return true }) }

// KindsWith returns the kinds for which f is true.
func KindsWith(f func(KindSpec) bool) []OperationKind {
	var out []OperationKind
	for _, k := range kinds {
		if f(k) {
			out = append(out, k.Kind)
		}
	}
	return out
}

// Spec returns the kind's row of the table; a row of zeroes for an unknown kind.
func (k OperationKind) Spec() KindSpec {
	if i := slices.IndexFunc(kinds, func(s KindSpec) bool { return s.Kind == k }); i >= 0 {
		return kinds[i]
	}
	return KindSpec{Kind: k}
}

// RunsInMaintenance reports whether maintenance that is set after the request does not pause operations of the kind: an
// operator asks for them while looking after the server.
func (k KindSpec) RunsInMaintenance() bool { return k.PowerChange || k.Management }

// Provisions reports whether operations of the kind move the provision state. Those
// that a verb opens do.
func (k KindSpec) Provisions() bool { return k.Kind.Provisions() }

// Provisions reports whether operations of the kind move the provision state. Those
// that a verb opens do.
func (k OperationKind) Provisions() bool { return k.Verb().Kind != "" }

// UsesAgent reports whether an operation of the kind on n boots the ramdisk agent.
func (k KindSpec) UsesAgent(n *Node) bool {
	if k.Agent == "" {
		return false
	}
	i := n.Implementation(k.Agent)
	return i.Means == MeansAgent && !(i.BootsISO && k.Family == DeployFamily)
}

// UsesAgent reports whether an operation of kind k on n boots the ramdisk agent.
func UsesAgent(n *Node, k OperationKind) bool { return k.Spec().UsesAgent(n) }

// EndsIn returns the state in which an operation of kind k leaves n if it succeeds, "" if it changes no provision state. A
// retired node is not offered again.
func (n *Node) EndsIn(k OperationKind) State {
	target := k.Verb().State
	if target == Available && n.Retired {
		return Manageable
	}
	return target
}

// EventOf is the event of the request that opened an operation of kind k; "" = none
// of the life cycle.
func EventOf(k OperationKind) Event { return k.Verb().Event }

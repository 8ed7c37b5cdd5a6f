package node

import "slices"

// The names of steps. Clients can't request the core steps of an operation (StepRule.Core)
// as deploy or clean steps.
const (
	StepVerify            = "verify"
	StepPrepare           = "prepare"
	StepTearDown          = "tear_down"
	StepPrepareCleaning   = "prepare_cleaning"
	StepTearDownCleaning  = "tear_down_cleaning"
	StepPrepareService    = "prepare_service"
	StepTearDownService   = "tear_down_service"
	StepBootAgent         = "boot_agent"
	StepCollect           = "collect"
	StepOn                = "on"
	StepOff               = "off"
	StepSoftOff           = "soft_off"
	StepReset             = "reset"
	StepUndo              = "undo"
	StepSetBootDevice     = "set_boot_device"
	StepInjectNMI         = "inject_nmi"
	StepSetBootMode       = "set_boot_mode"
	StepSetSecureBoot     = "set_secure_boot_state"
	StepSetIndicator      = "set_indicator_state"
	StepAttachMedia       = "attach_virtual_media"
	StepDetachMedia       = "detach_virtual_media"
	StepMakePassword      = "make_bmc_password"
	StepTryPassword       = "try_bmc_password"
	StepChangePassword    = "change_bmc_password"
	StepRecordPassword    = "record_bmc_password"
	StepInspectHardware   = "inspect_hardware"
	StepDeploy            = "deploy"
	StepWriteImage        = "write_image"
	StepPrepareBoot       = "prepare_instance_boot"
	StepTearDownAgent     = "tear_down_agent"
	StepSwitchToTenantNet = "switch_to_tenant_network"
	StepBootInstance      = "boot_instance"
	StepFinalizeRescue    = "finalize_rescue"
	StepRescue            = "rescue"
	StepUnrescue          = "unrescue"

	// Reserved names: a request for one of them, on any interface, means this step and never a
	// step of a driver or agent (Ironic conductor/steps.py).
	StepHold     = "hold"
	StepWait     = "wait"
	StepPowerOn  = "power_on"
	StepPowerOff = "power_off"
	StepReboot   = "reboot"
)

// StepRule has the rules for all steps of one name, whichever implementation offers
// them. What differs between implementations is in StepSpec. Package
// activities/conductor has a table with the same rows, which says how each step is run.
type StepRule struct {
	Interface string // "" = any: the name is reserved
	Step      string
	Does      string // one clause for people

	Core      bool // the operation needs it; a step of the agent with the same name is another step
	Last      bool // steps of the agent come before it
	Abortable bool // core steps: it only waits for the agent
	Args      map[string]ArgSpec

	BootsAgent bool   // it boots the agent, and ends when the agent has sent its first heartbeat
	EndsAgent  bool   // no agent runs after it
	Collects   bool   // it reads the inventory, which the agent sends once in a boot
	Holds      bool   // it waits for a person's decision
	WritesDisk bool   // if it is repeated, the steps after it must be repeated too
	Undo       []Undo // the undos that are needed if the operation ends after the step has begun
	// UndoesAll: the step does every undo that earlier operations may owe. After it the server is
	// off or booted from its disk, with no medium in its drive and no boot override, or booted from the ISO image of its instance.
	UndoesAll bool
	Power     PowerState // it fulfils a request for this power state

	// MayRestart: if the agent is lost during the step, the step may begin anew with another
	// boot, because it writes everything again from the beginning. After half of another
	// step, above all of firmware and RAID, the state of the hardware is unknown.
	MayRestart bool
	// Unread: whether its request was carried out can't be read back from the hardware.
	Unread bool
	// Lasts: its effect remains when the server is switched off.
	Lasts bool
	// NoSkip says why a person may not skip it; "" = it may be skipped. SkipAsked: it may be
	// skipped in spite of NoSkip if the request named the step.
	NoSkip    string
	SkipAsked bool
	// Failures is how often it may fail before it has failed for good; 0 = the setting
	// step_limits decides.
	Failures int
}

const (
	frames  = "it frames the operation"
	only    = "it is all that was asked for"
	deploys = "nothing would be deployed without it"
	erases  = "the node would be offered with the data of its last instance"
)

// stepRules is the table of steps. A step of the agent that is not in it has the rules of
// agentRule.
var stepRules = []StepRule{
	{Interface: "power", Step: StepVerify, Core: true, NoSkip: frames, Does: "reads the power state, to see whether the BMC answers"},
	{Interface: "power", Step: StepOn, Core: true, Power: PowerOn, Does: "switches the server on"},
	{Interface: "power", Step: StepOff, Core: true, Power: PowerOff, Does: "switches the server off"},
	{Interface: "power", Step: StepSoftOff, Core: true, Power: PowerOff, Does: "asks the operating system to shut down, within the operation's timeout"},
	{Interface: "power", Step: StepReset, Core: true, Power: Rebooting, Unread: true, Does: "restarts a server that must not be off; sent at most once"},

	{
		Interface: "management", Step: StepSetBootDevice, Core: true, NoSkip: only,
		Does: "sets the device that the server boots from",
	},
	{Interface: "management", Step: StepInjectNMI, Core: true, NoSkip: only, Unread: true, Does: "interrupts the operating system (NMI); sent at most once"},
	{
		Interface: "management", Step: StepSetBootMode, Core: true, NoSkip: only, Args: map[string]ArgSpec{ArgTarget: {Required: true}},
		Does: "sets the boot mode, UEFI or BIOS, from the next boot on",
	},
	{
		Interface: "management", Step: StepSetSecureBoot, Core: true, NoSkip: only, Args: map[string]ArgSpec{ArgTarget: {Required: true}},
		Does: "switches Secure Boot on or off, from the next boot on",
	},
	{
		Interface: "management", Step: StepSetIndicator, Core: true, NoSkip: only,
		Args: map[string]ArgSpec{ArgComponent: {Required: true}, ArgIndicator: {Required: true}, ArgState: {Required: true}},
		Does: "switches a light of the server",
	},
	{
		Interface: "management", Step: StepAttachMedia, Core: true, NoSkip: only,
		Args: map[string]ArgSpec{ArgDeviceType: {Required: true}, ArgImageURL: {Required: true, Secret: true}},
		Does: "inserts an image into an empty virtual drive",
	},
	{
		Interface: "management", Step: StepDetachMedia, Core: true, NoSkip: only, Args: map[string]ArgSpec{ArgDeviceTypes: {}},
		Does: "empties virtual drives",
	},
	{
		Interface: "management", Step: StepMakePassword, Core: true, Undo: []Undo{UndoBMCPassword}, NoSkip: frames,
		Does: "makes a new password that the BMC takes, and seals it before the BMC hears of it",
	},
	{
		Interface: "management", Step: StepTryPassword, Core: true, NoSkip: frames,
		Does: "tries the new password with a second account, if the BMC can have one",
	},
	{
		Interface: "management", Step: StepChangePassword, Core: true, NoSkip: only,
		Does: "gives the account the new password, and logs in with it",
	},
	{
		Interface: "management", Step: StepRecordPassword, Core: true, NoSkip: frames,
		Does: "makes the new password the node's, and removes the second account",
	},
	{
		Interface: "management", Step: StepUndo, Core: true, NoSkip: frames,
		Failures: 1, // reconciliation opens another undo later, so that one try at a time holds the node
		Does:     "does what earlier operations owe the hardware",
	},

	{
		Interface: "vendor", Step: StepSendRaw, Core: true, NoSkip: only, Unread: true, Args: map[string]ArgSpec{ArgRawBytes: {Required: true, Secret: true}},
		Does: "sends one IPMI command as it was given; sent at most once",
	},
	{Interface: "vendor", Step: StepResetBMC, Core: true, NoSkip: only, Unread: true, Does: "restarts the BMC; sent at most once"},
	{Interface: "vendor", Step: StepEjectMedia, Core: true, NoSkip: only, Does: "ejects virtual media"},
	{
		Interface: "vendor", Step: StepCreateSubscription, Core: true, NoSkip: only,
		Args: map[string]ArgSpec{ArgDestination: {Required: true, Secret: true}, ArgHTTPHeaders: {Secret: true}},
		Does: "has the BMC send its events to a URL",
	},
	{Interface: "vendor", Step: StepDeleteSubscription, Core: true, NoSkip: only, Does: "ends a subscription to the BMC's events"},

	{
		Interface: "deploy", Step: StepPrepare, Core: true, Undo: []Undo{UndoPowerOff}, NoSkip: frames,
		Does: "switches the server off and takes media and boot override away",
	},
	{
		Interface: "deploy", Step: StepDeploy, BootsAgent: true, NoSkip: deploys,
		Does: "boots the agent and takes its deploy steps into the plan",
	},
	{
		Interface: "deploy", Step: StepWriteImage, WritesDisk: true, MayRestart: true, NoSkip: deploys,
		Does: "has the agent fetch the image, check it and write it to the disk",
	},
	{Interface: "deploy", Step: StepPrepareBoot, NoSkip: deploys, Does: "has the agent make the disk bootable"},
	{Interface: "deploy", Step: StepTearDownAgent, EndsAgent: true, NoSkip: deploys, Does: "ends the agent and sees the server off"},
	{Interface: "deploy", Step: StepSwitchToTenantNet, NoSkip: deploys, Does: "moves the server to the instance's networks"},
	{Interface: "deploy", Step: StepBootInstance, UndoesAll: true, NoSkip: deploys, Does: "boots what is deployed: the disk, or the ISO image that the instance names"},

	{
		Interface: "deploy", Step: StepPrepareCleaning, Core: true, Abortable: true, BootsAgent: true, Undo: []Undo{UndoPowerOff},
		NoSkip: frames, Does: "boots the agent and takes its clean steps into the plan",
	},
	{
		Interface: "deploy", Step: StepTearDownCleaning, Core: true, Last: true, UndoesAll: true,
		NoSkip: frames, Does: "leaves the server off, without media and agent",
	},
	{
		Interface: "deploy", Step: StepPrepareService, Core: true, Abortable: true, BootsAgent: true, Undo: []Undo{UndoBootInstance},
		NoSkip: frames, Does: "boots the agent and takes its service steps into the plan",
	},
	{
		Interface: "deploy", Step: StepTearDownService, Core: true, Last: true, EndsAgent: true, UndoesAll: true,
		NoSkip: frames, Does: "boots the server from its disk again",
	},
	{
		Interface: "deploy", Step: StepTearDown, Core: true, UndoesAll: true,
		NoSkip: frames, Does: "takes the instance's server down",
	},

	{Interface: "inspect", Step: StepInspectHardware, NoSkip: frames, Does: "reads the inventory from the BMC"},
	{
		Interface: "inspect", Step: StepBootAgent, Core: true, Abortable: true, BootsAgent: true, Undo: []Undo{UndoPowerOff},
		NoSkip: frames, Does: "boots the agent, which sends its inventory",
	},
	{
		Interface: "inspect", Step: StepCollect, Core: true, Abortable: true, Collects: true,
		NoSkip: frames, Does: "reads the inventory that the agent has sent",
	},
	{
		Interface: "inspect", Step: StepTearDown, Core: true, UndoesAll: true,
		NoSkip: frames, Does: "leaves the server off, without media and agent",
	},

	{
		Interface: "rescue", Step: StepBootAgent, Core: true, Abortable: true, BootsAgent: true, Undo: []Undo{UndoPowerOff},
		NoSkip: frames, Does: "boots the agent, from which the rescue system is made",
	},
	{
		Interface: "rescue", Step: StepFinalizeRescue, Core: true, EndsAgent: true, MayRestart: true,
		NoSkip: frames, Does: "has the agent set the password of the user rescue and end itself",
	},
	{Interface: "rescue", Step: StepRescue, Core: true, NoSkip: only, Does: "pretends to boot a rescue system"},
	{
		Interface: "rescue", Step: StepUnrescue, Core: true, UndoesAll: true,
		NoSkip: only, Does: "boots the server from its disk again",
	},

	{Interface: "deploy", Step: "erase_devices", Lasts: true, MayRestart: true, NoSkip: erases, SkipAsked: true, Does: "erases all disks"},
	{Interface: "deploy", Step: "erase_devices_metadata", Lasts: true, MayRestart: true, NoSkip: erases, SkipAsked: true, Does: "erases what describes the disks' contents"},
	{Interface: "deploy", Step: "erase_devices_express", Lasts: true, MayRestart: true, NoSkip: erases, SkipAsked: true, Does: "erases disks by their own command, else what describes their contents"},

	{Interface: "management", Step: StepSetBMCClock, Lasts: true, Does: "sets the clock of the BMC, if it is off"},
	{Interface: "bios", Step: "apply_configuration", Lasts: true, Does: "applies BIOS settings"},
	{Interface: "bios", Step: "factory_reset", Lasts: true, Does: "resets the BIOS settings"},
	{Interface: "firmware", Step: "update", Lasts: true, Unread: true, Does: "updates firmware; each update is sent at most once"},
	{Interface: "raid", Step: "apply_configuration", Lasts: true, Does: "applies a RAID configuration"},
	{Interface: "raid", Step: "create_configuration", Lasts: true, Does: "creates a RAID configuration"},
	{Interface: "raid", Step: "delete_configuration", Lasts: true, Does: "deletes the RAID configuration"},

	{Step: StepHold, Lasts: true, Holds: true, Does: "waits until somebody unholds the node"},
	{
		Step: StepWait, Lasts: true, Args: map[string]ArgSpec{"seconds": {Description: "how long; without it until the agent's next heartbeat"}},
		Does: "waits for some seconds, or for the agent's next heartbeat",
	},
	{Step: StepPowerOn, Does: "switches the server on"},
	{Step: StepPowerOff, Does: "switches the server off"},
	{Step: StepReboot, Does: "switches the server off and on, into the agent where one runs the steps"},
}

// agentRule has the rules of the agent's steps that are not in stepRules.
var agentRule = StepRule{Lasts: true}

// StepRules returns the table of steps.
func StepRules() []StepRule { return slices.Clone(stepRules) }

var ruleByName = func() map[string]*StepRule {
	m := make(map[string]*StepRule, len(stepRules))
	for i := range stepRules {
		m[stepRules[i].Name()] = &stepRules[i]
	}
	return m
}()

// Name returns "interface.step", or the step alone if its name is reserved.
func (r StepRule) Name() string {
	if r.Interface == "" {
		return r.Step
	}
	return r.Interface + "." + r.Step
}

// Rule returns the rules of the step: its row of stepRules, or agentRule if it has none.
func (s Step) Rule() StepRule {
	if r := ruleByName[s.Step]; r != nil { // a reserved name
		return *r
	}
	if r := ruleByName[s.Name()]; r != nil && !(r.Core && s.Source == SourceAgent) {
		return *r
	}
	r := agentRule
	r.Interface, r.Step = s.Interface, s.Step
	return r
}

// IsReserved reports whether step is one of the reserved names.
func IsReserved(step string) bool { return ruleByName[step] != nil }

// BootsAgent reports whether one of the steps boots the ramdisk agent.
func BootsAgent(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Rule().BootsAgent })
}

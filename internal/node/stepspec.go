package node

import (
	"cmp"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Reserved steps: whoever asks for one, on whichever interface, gets this and
// not a step of a driver or agent (conductor/steps.py). They are SourceDriver.
const (
	StepHold     = "hold" // until somebody says unhold
	StepWait     = "wait" // args {"seconds": N}, or until the next heartbeat
	StepPowerOn  = "power_on"
	StepPowerOff = "power_off"
	StepReboot   = "reboot"
)

// IsReserved reports whether step is one of the reserved names.
func IsReserved(step string) bool {
	switch step {
	case StepHold, StepWait, StepPowerOn, StepPowerOff, StepReboot:
		return true
	}
	return false
}

// StepSpec is a step that an interface offers.
type StepSpec struct {
	Interface, Step string
	// Priority orders the steps that come by themselves; 0 = only when asked for.
	Priority  int
	Abortable bool
	Source    Source
	// NoRamdisk: it needs no agent, so it may run with disable_ramdisk.
	NoRamdisk bool
	// Core steps may be switched off by a request, but not moved.
	Core bool
	Args map[string]ArgSpec
}

// Name is "interface.step".
func (s StepSpec) Name() string { return s.Interface + "." + s.Step }

// ArgSpec describes an argument of a step (Ironic's argsinfo).
type ArgSpec struct {
	Required    bool
	Secret      bool // masked wherever a client or log sees it
	Description string
}

// repeatable are the steps of the agent that may be begun anew in another boot
// when the agent was lost in the middle: what they write, they write again from
// its beginning. Of others, firmware and RAID above all, nobody knows what half
// of them has done. What a kernel that panicked left in the pstore is not erased
// by the boot after it.
var repeatable = []string{
	"deploy.write_image", "deploy.erase_devices", "deploy.erase_devices_metadata", "deploy.erase_devices_express",
}

// restartsMost is how often a step is begun anew so: a server that loses its agent
// twice has more wrong with it.
const restartsMost = 1

// Restart has a step whose agent was lost begin anew with another boot, and
// reports whether the table of steps lets it; why goes into its note. A step of
// the agent that has given it nothing begins for the first time.
func (s *Step) Restart(why string) bool {
	first := s.Source == SourceAgent && s.Issued == nil
	if s.Restarts >= restartsMost || !first && !slices.Contains(repeatable, s.Name()) {
		return false
	}
	s.Restarts++
	s.Restarting, s.Failures, s.Phase, s.Issued = true, 0, "", nil
	s.Note = "begun anew with another boot of the agent: " + why
	return true
}

type offer struct{ deploy, clean []StepSpec }

// offers: interface/implementation -> its out-of-band steps. What is not here
// offers none.
var offers = map[string]offer{
	"deploy/direct": {deploy: []StepSpec{
		{Step: "deploy", Priority: 100, Abortable: true, Core: true}, // boots the agent and waits for it
		{Step: "write_image", Priority: 80},
		{Step: "prepare_instance_boot", Priority: 60},
		{Step: "tear_down_agent", Priority: 40},
		{Step: "switch_to_tenant_network", Priority: 30},
		{Step: "boot_instance", Priority: 20},
	}},
	"deploy/fake": {
		deploy: []StepSpec{
			{Step: "deploy", Priority: 100, Abortable: true, Core: true, NoRamdisk: true},
			{Step: "boot_instance", Priority: 20, NoRamdisk: true},
		},
		clean: []StepSpec{
			{Step: "erase_devices", Abortable: true, NoRamdisk: true},
			{Step: "erase_devices_metadata", Abortable: true, NoRamdisk: true},
		},
	},
	"bios/fake": both(
		StepSpec{Step: "apply_configuration", NoRamdisk: true, Args: map[string]ArgSpec{
			"settings": {Required: true, Description: "BIOS settings to be applied, a list of name and value"},
		}},
		StepSpec{Step: "factory_reset", NoRamdisk: true},
	),
	"firmware/fake": both(
		StepSpec{Step: "update", NoRamdisk: true, Args: map[string]ArgSpec{
			"settings": {Required: true, Description: "Firmware to be updated, a list of component and url"},
		}},
	),
	"raid/fake": {
		deploy: []StepSpec{{Step: "apply_configuration", NoRamdisk: true, Args: map[string]ArgSpec{
			"raid_config":     {Required: true, Description: "The RAID configuration to apply"},
			"delete_existing": {Description: "Whether to delete the configuration that is there"},
		}}},
		clean: []StepSpec{
			{Step: "create_configuration", NoRamdisk: true, Args: map[string]ArgSpec{
				"create_root_volume":     {Description: "Whether to create the root volume"},
				"create_nonroot_volumes": {Description: "Whether to create the other volumes"},
				"delete_existing":        {Description: "Whether to delete the configuration that is there"},
			}},
			{Step: "delete_configuration", NoRamdisk: true},
		},
	},
}

func both(s ...StepSpec) offer { return offer{deploy: s, clean: s} }

// specsOf are the out-of-band steps of n's interfaces for an operation of kind
// k, in the order in which they run by themselves; nil for kinds without steps.
func specsOf(n *Node, k Kind) []StepSpec {
	var out []StepSpec
	for _, i := range Interfaces {
		o := offers[i+"/"+n.Interfaces[i]]
		list := o.clean
		switch k {
		case KindDeploy, KindRebuild:
			list = o.deploy
		case KindClean, KindProvide, KindUndeploy:
		default:
			return nil
		}
		for _, s := range list {
			s.Interface, s.Source = i, SourceDriver
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b StepSpec) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(rank[b.Interface], rank[a.Interface]), cmp.Compare(a.Step, b.Step))
	})
	return out
}

// DeploySteps are the out-of-band deploy steps of n's interfaces, all of them, in running order.
func DeploySteps(n *Node) []StepSpec { return specsOf(n, KindDeploy) }

// CleanSteps are the out-of-band clean steps of n's interfaces, all of them, in running order.
func CleanSteps(n *Node) []StepSpec { return specsOf(n, KindClean) }

// rank decides between steps of one priority; a higher one goes first
// (conductor/steps.py). Only these interfaces may have steps.
var rank = map[string]int{"vendor": 7, "power": 6, "management": 5, "firmware": 4, "deploy": 3, "bios": 2, "raid": 1}

// stepInterfaces are the keys of rank, as a message lists them.
const stepInterfaces = "vendor, power, management, firmware, deploy, bios, raid"

// word is how messages name the steps of a kind.
func (k Kind) word() string {
	if k == KindDeploy || k == KindRebuild {
		return "deploy"
	}
	return "clean"
}

// checkArgs compares what was asked with what the step takes.
func checkArgs(word string, s Step, args map[string]ArgSpec) error {
	var unexpected, missing []string
	for a := range s.Args {
		if _, ok := args[a]; !ok {
			unexpected = append(unexpected, cut(a))
		}
	}
	for a, spec := range args {
		if _, ok := s.Args[a]; spec.Required && !ok {
			if spec.Description != "" {
				a += " (" + spec.Description + ")"
			}
			missing = append(missing, a)
		}
	}
	slices.Sort(unexpected)
	slices.Sort(missing)
	switch {
	case len(unexpected) > 0:
		return fault.New(fault.Invalid, "%s step %s has these unexpected arguments: %s", word, s.Name(), strings.Join(unexpected[:min(len(unexpected), 10)], ", "))
	case len(missing) > 0:
		return fault.New(fault.Invalid, "%s step %s is missing these required arguments: %s", word, s.Name(), strings.Join(missing, ", "))
	}
	return nil
}

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// kind is an operation that the matrix tries, and the node that it needs.
type kind struct {
	name   string             // unique
	column node.OperationKind // in the matrix
	from   node.State
	on     bool // the server is on before it
	to     node.State

	verb      string
	body      map[string]any // besides target
	power     node.PowerState
	inspectBy string          // the inspect interface
	neverOff  bool            // the server may not be switched off (disable_power_off)
	device    node.BootDevice // of the verb set_boot_device
	once      bool            // nobody can read back whether its request had its effect, so it is sent at most once
}

func (k kind) inspector() string { return cmp.Or(k.inspectBy, "redfish") }

// columns are the kinds of operation that the matrix tries, in the order of a node's life.
var columns = []node.OperationKind{
	node.KindManage, node.KindProvide, node.KindClean, node.KindInspect, node.KindDeploy, node.KindRebuild, node.KindUndeploy, node.KindPower,
	node.KindBootDevice, node.KindNMI, node.KindBMCPassword,
}

// notTried says why a kind of operation has no column.
var notTried = map[node.OperationKind]string{
	node.KindUndo:           "nobody asks for one; reconciliation opens it in the rows whose operations leave something undone",
	node.KindRescue:         "it boots the agent as an inspection does; tests of package activities lose the answer of the agent's last command and repeat it",
	node.KindUnrescue:       "it is the last step of a deploy",
	node.KindVendorPassthru: "its steps send one request each, in the way of a boot device, an NMI or an ejection; tests of package activities lose its answers and repeat it",
}

// stepsNotTried says why no operation of the matrix has a step.
var stepsNotTried = func() map[string]string {
	out := map[string]string{"management.undo": notTried[node.KindUndo], "rescue.rescue": "only fake hardware plans it", "rescue.unrescue": notTried[node.KindUnrescue]}
	for _, step := range []string{"rescue.boot_agent", "rescue.finalize_rescue"} {
		out[step] = notTried[node.KindRescue]
	}
	for _, step := range []string{
		"deploy.erase_devices_express", "bios.apply_configuration", "bios.factory_reset", "firmware.update", "raid.apply_configuration",
		"raid.create_configuration", "raid.delete_configuration", node.StepHold, node.StepWait, node.StepPowerOn, node.StepPowerOff, node.StepReboot,
	} {
		out[step] = "only a request that names it plans it, or an agent that offers it"
	}
	for _, r := range node.StepRules() {
		if r.Interface == "vendor" {
			out[r.Name()] = notTried[node.KindVendorPassthru]
		}
	}
	return out
}()

// asked are the clean steps that manual cleaning requests.
var asked = []map[string]any{{"interface": "deploy", "step": "erase_pstore"}}

// pxeOnce is the boot device that an operation sets.
var pxeOnce = node.BootDevice{Device: node.DevicePXE}

// kinds are the operations that the matrix tries: at least one of each kind.
var kinds = []kind{
	{name: "manage", column: node.KindManage, from: node.Enroll, to: node.Manageable, verb: "manage"},
	{name: "provide", column: node.KindProvide, from: node.Manageable, to: node.Available, verb: "provide"},
	{name: "clean", column: node.KindClean, from: node.Manageable, to: node.Manageable, verb: "clean", body: map[string]any{"clean_steps": asked}},
	{name: "inspect", column: node.KindInspect, from: node.Manageable, to: node.Manageable, verb: "inspect", inspectBy: "agent"},
	{name: "inspect out of band", column: node.KindInspect, from: node.Manageable, to: node.Manageable, verb: "inspect"},
	{name: "deploy", column: node.KindDeploy, from: node.Available, to: node.Active, verb: "active"},
	{name: "rebuild", column: node.KindRebuild, from: node.Active, on: true, to: node.Active, verb: "rebuild"},
	{name: "undeploy", column: node.KindUndeploy, from: node.Active, on: true, to: node.Available, verb: "deleted"},
	{name: "power on", column: node.KindPower, from: node.Manageable, to: node.Manageable, power: node.PowerOn},
	{name: "power off", column: node.KindPower, from: node.Active, on: true, to: node.Active, power: node.PowerOff},
	{name: "soft power off", column: node.KindPower, from: node.Active, on: true, to: node.Active, power: node.SoftPowerOff},
	{name: "reboot", column: node.KindPower, from: node.Active, on: true, to: node.Active, power: node.Rebooting},
	{name: "reboot without off", column: node.KindPower, from: node.Active, on: true, to: node.Active, power: node.Rebooting, neverOff: true, once: true},
	{name: "set the boot device", column: node.KindBootDevice, from: node.Manageable, to: node.Manageable, verb: node.StepSetBootDevice, device: pxeOnce, body: pxeOnce.Args()},
	{name: "rotate the BMC's password", column: node.KindBMCPassword, from: node.Manageable, to: node.Manageable, verb: node.VerbRotatePassword},
	{name: "inject an NMI", column: node.KindNMI, from: node.Active, on: true, to: node.Active, verb: node.StepInjectNMI, once: true},
}

func kindOf(name string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// cleaned are the steps of automated cleaning that the rack's agents offer; they join the plan when an agent has reported them.
var cleaned = []string{"deploy.erase_devices_metadata", "deploy.erase_devices"}

// boots are the requests with which a step boots the ramdisk on a server that is off.
var boots = []string{"insert", "boot cdrom", "On"}

// changes has the requests with which each step changes a server or an agent, in order, if the server is off before it. The
// clean steps of the agent are one command each, and not in it.
var changes = map[string][]string{
	"power.verify":                    nil,
	"inspect.inspect_hardware":        nil,
	"inspect.collect":                 nil,
	"deploy.switch_to_tenant_network": nil,
	"deploy.prepare":                  nil,
	"deploy.deploy":                   boots,
	"deploy.write_image":              {"deploy.execute_deploy_step"},
	"deploy.prepare_instance_boot":    {"image.install_bootloader"},
	"deploy.tear_down_agent":          {"standby.power_off"},
	"deploy.boot_instance":            {"eject", "On"},
	"deploy.prepare_cleaning":         boots,
	"deploy.tear_down_cleaning":       {"ForceOff", "eject"},
	"deploy.tear_down":                nil,
	"inspect.boot_agent":              boots,
	"inspect.tear_down":               {"ForceOff", "eject"},
	"power.on":                        {"On"},
	"power.off":                       {"ForceOff"},
	"power.soft_off":                  {"GracefulShutdown"},
	"power.reset":                     {"ForceRestart"},
	"management.set_boot_device":      {"boot pxe"},
	"management.inject_nmi":           {bmc.NameNMI},
	"management.make_bmc_password":    nil,
	"management.try_bmc_password":     {bmc.NameAddAccount(bmc.SpareAccount)},
	"management.change_bmc_password":  {"password of admin"},
	"management.record_bmc_password":  {bmc.NameRemoveAccount(bmc.SpareAccount)},
}

// reads has what steps read in their middle: those that change nothing, or that read more than the power state.
var reads = map[string][]string{
	"power.verify":                 {"power"},
	"management.make_bmc_password": {"passwords"},
	"deploy.prepare":               {"power"},
	"inspect.inspect_hardware":     {"inventory"},
	"inspect.collect":              {"inventory"},
	"deploy.deploy":                {"steps"},
	"deploy.prepare_cleaning":      {"steps"},
}

// point is a place in an operation at which something happens.
type point struct {
	kind string
	chaos.Point
}

func (p point) String() string {
	words := []string{p.kind + ":", p.Name}
	if p.Request != "" {
		words = append(words, p.Request)
	}
	if p.Step != "" {
		words = append(words, "in", p.Step)
	}
	return strings.Join(words, " ")
}

// planned returns the steps of a kind as Temper plans them, with those that the rack's agents offer.
func planned(k kind) ([]string, error) {
	h, _ := node.Hardware("redfish")
	n := &node.Node{Driver: h.Name, ProvisionState: k.from, Interfaces: map[string]string{}, DisablePowerOff: k.neverOff}
	for iface, impls := range h.Supports() {
		n.Interfaces[iface] = impls[0]
	}
	n.Interfaces["inspect"], n.Interfaces["rescue"] = k.inspector(), "agent"
	var request []node.Step
	if k.column == node.KindClean {
		for _, a := range asked {
			request = append(request, node.Step{Interface: a["interface"].(string), Step: a["step"].(string)})
		}
	}
	steps, err := plan.Steps(k.column, n, request, plan.Options{AutomatedClean: true, Power: k.power, BootDevice: k.device})
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", k.name, err)
	}
	var names []string
	for _, s := range steps {
		names = append(names, s.Name())
		if s.Name() == "deploy.prepare_cleaning" && k.column != node.KindClean {
			names = append(names, cleaned...)
		}
	}
	return names, nil
}

// points returns all points at which a conductor that runs an operation of the kind can be stopped: both sides of every
// step boundary, and the middle of every step.
func points(k kind) ([]point, error) {
	steps, err := planned(k)
	if err != nil {
		return nil, err
	}
	var all []point
	add := func(name, step, request string) {
		all = append(all, point{kind: k.name, Point: chaos.Point{Name: name, Step: step, Request: request}})
	}
	add(chaos.Claimed, steps[0], "")
	for i, s := range steps {
		waits := slices.Equal(changes[s], boots)
		add(chaos.Begun, s, "")
		for _, r := range requests(k, s, i) {
			add(chaos.Request, s, r)
			add(chaos.Answered, s, r)
		}
		if waits {
			add(chaos.Recorded, s, "")
			add(chaos.Claimed, s, "booted") // its agent has called back, and another attempt continues
			add(chaos.Begun, s, "booted")
		}
		for _, r := range reads[s] {
			if waits || len(requests(k, s, i)) == 0 {
				add(chaos.Looked, s, r)
			}
		}
		add(chaos.Over, s, "")
	}
	add(chaos.Recorded, "", "")
	return all, nil
}

// requests returns the requests that step i sends.
func requests(k kind, step string, i int) []string {
	if i == 0 && k.on && k.column.Provisions() { // the operation begins by switching the server off
		return append([]string{"ForceOff"}, changes[step]...)
	}
	if r, ok := changes[step]; ok {
		return r
	}
	return []string{"clean.execute_clean_step"} // the test names a step that is none of the agent's
}

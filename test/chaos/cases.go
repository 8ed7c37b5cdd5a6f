package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/agent"
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
	path      string          // of Ironic's request, which does not wait for its end; "" = that for the verb
	method    string          // of that; "" = PUT
	before    *kind           // what makes the server ready; nil = nothing
	offPage   bool            // its cases are not on the page, whose column has results of before it was there
	once      bool            // nobody can read back whether its request had its effect, so it is sent at most once
}

// steps are those that the request names.
func (k kind) steps() []map[string]any {
	named, _ := k.body[k.column.Spec().AskedSteps].([]map[string]any)
	return named
}

func (k kind) inspector() string { return cmp.Or(k.inspectBy, "redfish") }

// columns are the kinds of operation that the matrix tries, in the order of a node's life.
var columns = []node.OperationKind{
	node.KindManage, node.KindProvide, node.KindClean, node.KindInspect, node.KindDeploy, node.KindRebuild, node.KindUndeploy, node.KindPower,
	node.KindBootDevice, node.KindNMI, node.KindBMCPassword, node.KindAdopt, node.KindService, node.KindSecureBoot,
	node.KindAttachMedia, node.KindDetachMedia,
}

// notTried says why a kind of operation has no column.
var notTried = map[node.OperationKind]string{
	node.KindUndo:           "nobody asks for one; reconciliation opens it in the rows whose operations leave something undone",
	node.KindRescue:         "it boots the agent as an inspection does; tests of package activities lose the answer of the agent's last command and repeat it",
	node.KindUnrescue:       "it is the last step of a deploy",
	node.KindBootMode:       "its step is that of Secure Boot with another request, which an iLO, of which the rack has some, refuses",
	node.KindIndicator:      "its step sends one absolute request in the way of a boot device, and Ironic's request waits for its end; tests of package activities lose its answer and repeat it",
	node.KindVendorPassthru: "its steps send one request each, in the way of a boot device, an NMI or an ejection; tests of package activities lose its answers and repeat it",
}

// stepsNotTried says why no operation of the matrix has a step.
var stepsNotTried = func() map[string]string {
	out := map[string]string{"management.undo": notTried[node.KindUndo], "rescue.rescue": "only fake hardware plans it", "rescue.unrescue": notTried[node.KindUnrescue]}
	for _, step := range []string{"rescue.boot_agent", "rescue.finalize_rescue"} {
		out[step] = notTried[node.KindRescue]
	}
	for _, step := range []string{
		"deploy.erase_devices_express", "management.set_bmc_clock",
		node.StepHold, node.StepWait, node.StepPowerOn, node.StepPowerOff, node.StepReboot,
	} {
		out[step] = "only a request that names it plans it, or an agent that offers it"
	}
	out["firmware.update"] = "a server that has the version of the last case would refuse to change it; tests of package activities lose its answer and end its conductor"
	out["raid.apply_configuration"] = "it is raid.create_configuration with a configuration of its own"
	for _, r := range node.StepRules() {
		if k := kindOfStep(r.Step); notTried[k] != "" && r.Interface == "management" {
			out[r.Name()] = notTried[k]
		}
		if r.Interface == "vendor" {
			out[r.Name()] = notTried[node.KindVendorPassthru]
		}
	}
	return out
}()

// kindOfStep returns the kind of request to the management interface that has the step; "" = none.
func kindOfStep(step string) node.OperationKind {
	for _, k := range node.KindSpecs() {
		if k.Step == step {
			return k.Kind
		}
	}
	return ""
}

// asked are the clean steps that manual cleaning requests, and served the service steps of a service.
var (
	asked  = []map[string]any{{"interface": "deploy", "step": "erase_pstore"}}
	raids  = []map[string]any{{"interface": "raid", "step": "create_configuration"}, {"interface": "raid", "step": "delete_configuration"}}
	served = []map[string]any{{"interface": "deploy", "step": "inject_files"}}
)

// settled are the steps that change BIOS settings. Each case resets them first, so that there is something to change.
var settled = []map[string]any{
	{"interface": "bios", "step": "factory_reset"},
	{"interface": "bios", "step": "apply_configuration", "args": map[string]any{"settings": []any{map[string]any{"name": "ProcTurboMode", "value": "Disabled"}}}},
}

// mirror is the RAID configuration of a node.
var mirror = map[string]any{"logical_disks": []map[string]any{{"size_gb": 10, "raid_level": "1"}}}

// What makes servers ready.
var (
	setsInsecure = &kind{path: "/states/secure_boot", body: map[string]any{"target": false}}
	setsRAID     = &kind{path: "/states/raid", body: mirror}
	detaches     = &kind{path: "/vmedia", method: http.MethodDelete}
	attaches     = &kind{path: "/vmedia", method: http.MethodPost, body: map[string]any{"device_type": node.MediaCDROM, "image_url": ofRack}}
)

// ofRack stands for the URL of an image of the rack.
const ofRack = "the rack's"

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
	{name: "make and delete RAID volumes", column: node.KindClean, from: node.Manageable, to: node.Manageable, verb: "clean", body: map[string]any{"clean_steps": raids}, before: setsRAID, offPage: true},
	{name: "switch Secure Boot", column: node.KindSecureBoot, from: node.Manageable, to: node.Manageable, path: setsInsecure.path, body: map[string]any{"target": true}, before: setsInsecure},
	{name: "attach virtual media", column: node.KindAttachMedia, from: node.Manageable, to: node.Manageable, path: attaches.path, method: attaches.method, body: attaches.body, before: detaches},
	{name: "detach virtual media", column: node.KindDetachMedia, from: node.Manageable, to: node.Manageable, path: "/vmedia?device_types=cdrom", method: detaches.method, before: attaches},
	{name: "adopt", column: node.KindAdopt, from: node.Manageable, to: node.Active, verb: "adopt"},
	{name: "service", column: node.KindService, from: node.Active, on: true, to: node.Active, verb: "service", body: map[string]any{"service_steps": served}},
	{name: "change BIOS settings", column: node.KindService, from: node.Active, to: node.Active, verb: "service", body: map[string]any{"service_steps": settled, "disable_ramdisk": true}},
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
	"deploy.prepare_service":          boots,
	"deploy.tear_down_service":        {"ForceOff", "eject", "On"},
	"inspect.boot_agent":              boots,
	"inspect.tear_down":               {"ForceOff", "eject"},
	"bios.factory_reset":              {bmc.NameResetBIOS, "On"},
	"bios.apply_configuration":        {"set BIOS settings", "ForceOff", "On"},
	"power.on":                        {"On"},
	"power.off":                       {"ForceOff"},
	"power.soft_off":                  {"GracefulShutdown"},
	"power.reset":                     {"ForceRestart"},
	"management.set_boot_device":      {"boot pxe"},
	"management.inject_nmi":           {bmc.NameNMI},
	"raid.create_configuration":       {bmc.NameCreateVolume},
	"raid.delete_configuration":       {"delete a volume"},

	"management.set_secure_boot_state": {bmc.NameSecureBoot(true)},
	"management.attach_virtual_media":  {"attach cd"},
	"management.detach_virtual_media":  {bmc.NameEjectDrives("cd")},

	"management.make_bmc_password":   nil,
	"management.try_bmc_password":    {bmc.NameAddAccount(bmc.SpareAccount)},
	"management.change_bmc_password": {"password of admin"},
	"management.record_bmc_password": {bmc.NameRemoveAccount(bmc.SpareAccount)},
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
	"deploy.prepare_service":       {"steps"},
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
	for _, a := range k.steps() {
		args, _ := a["args"].(map[string]any)
		request = append(request, node.Step{Interface: a["interface"].(string), Step: a["step"].(string), Args: args})
	}
	steps, err := plan.Steps(k.column, n, request, plan.Options{AutomatedClean: true, DisableRamdisk: k.body["disable_ramdisk"] == true, Power: k.power, BootDevice: k.device, Args: map[string]any{}})
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
	f := agent.Family(k.column.Spec().Family)
	return []string{f.Execute()} // the test names a step that is none of the agent's
}

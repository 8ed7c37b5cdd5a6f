package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
	"go.temper.dev/temper/internal/plan"
)

// line is a planned on one line: source, name and priority of each step.
func line(steps []Step) string {
	var out []string
	for i, s := range steps {
		word := fmt.Sprintf("%s:%s@%d", s.Source, s.Name(), s.Priority)
		for mark, on := range map[string]bool{"!": s.State == StepSkipped, "+": s.Cleaning} {
			if on {
				word += mark
			}
		}
		if s.Index != i || s.State == "" {
			word += "?"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func ask(iface, step string, priority int) Step {
	return Step{Interface: iface, Step: step, Priority: priority, Asked: true}
}

const (
	directDeploy = "core:deploy.prepare@0 driver:deploy.deploy@100 driver:deploy.write_image@80 driver:deploy.prepare_instance_boot@60 " +
		"driver:deploy.tear_down_agent@40 driver:deploy.switch_to_tenant_network@30 driver:deploy.boot_instance@20"
	on = true
)

func TestPlans(t *testing.T) {
	auto := plan.Options{AutomatedClean: true}
	for name, c := range map[string]struct {
		kind  OperationKind
		n     *Node
		asked []Step
		o     plan.Options
		want  string
	}{
		"manage looks at the power":                 {KindManage, nodetest.Redfish(), nil, auto, "core:power.verify@0"},
		"provide frames cleaning":                   {KindProvide, nodetest.Redfish(), nil, auto, "core:deploy.prepare_cleaning@0 core:deploy.tear_down_cleaning@0"},
		"provide without automated cleaning":        {KindProvide, nodetest.Redfish(), nil, plan.Options{}, ""},
		"the node's own word wins over the setting": {KindProvide, nodetest.Redfish(func(n *Node) { n.AutomatedClean = new(bool) }), nil, auto, ""},
		"undeploy tears down, then cleans": {
			KindUndeploy, nodetest.Fake(), nil, auto,
			"core:deploy.tear_down@0 core:deploy.prepare_cleaning@0+ core:deploy.tear_down_cleaning@0+",
		},
		"undeploy without cleaning": {KindUndeploy, nodetest.Fake(), nil, plan.Options{}, "core:deploy.tear_down@0"},
		"cleaning by hand keeps the order": {
			KindClean, nodetest.Fake(),
			[]Step{ask("deploy", "erase_devices", 0), ask("power", "power_off", 0), ask("raid", "delete_configuration", 0)},
			auto,
			"core:deploy.prepare_cleaning@0 driver:deploy.erase_devices@0 driver:power.power_off@0 driver:raid.delete_configuration@0 core:deploy.tear_down_cleaning@0",
		},
		"cleaning by hand may name what only the agent knows": {
			KindClean, nodetest.Redfish(),
			[]Step{ask("deploy", "burnin_cpu", 0)},
			auto,
			"core:deploy.prepare_cleaning@0 agent:deploy.burnin_cpu@0 core:deploy.tear_down_cleaning@0",
		},
		"a service boots the agent for its steps, and then the disk again": {
			KindService, nodetest.Redfish(),
			[]Step{ask("power", "reboot", 0), ask("deploy", "burnin_cpu", 0)},
			auto,
			"core:deploy.prepare_service@0 driver:power.reboot@0 agent:deploy.burnin_cpu@0 core:deploy.tear_down_service@0",
		},
		"a service whose steps need no agent boots none": {KindService, nodetest.Redfish(), []Step{ask("power", "reboot", 0)}, auto, "driver:power.reboot@0"},
		"an instance that is an ISO image needs no agent": {
			KindDeploy, nodetest.Redfish(func(n *Node) {
				n.Interfaces["deploy"] = "autodetect"
				n.InstanceInfo = map[string]any{"boot_iso": "http://images/live.iso"}
			}), nil, auto,
			"core:deploy.prepare@0 driver:deploy.switch_to_tenant_network@30 driver:deploy.boot_instance@20",
		},
		"the steps of an agent are all that a custom deploy has": {
			KindDeploy, nodetest.Redfish(func(n *Node) { n.Interfaces["deploy"] = "custom-agent" }), nil, auto,
			"core:deploy.prepare@0 driver:deploy.deploy@100 driver:deploy.tear_down_agent@40 driver:deploy.switch_to_tenant_network@30 driver:deploy.boot_instance@20",
		},
		"an adoption only looks": {KindAdopt, nodetest.Redfish(), nil, auto, "core:power.verify@0"},
		"cleaning by hand without a ramdisk": {
			KindClean, nodetest.Fake(),
			[]Step{ask("bios", "factory_reset", 0)},
			plan.Options{DisableRamdisk: true},
			"driver:bios.factory_reset@0",
		},
		"inspect out of band": {KindInspect, nodetest.Redfish(), nil, auto, "driver:inspect.inspect_hardware@0"},
		"inspect in band": {
			KindInspect, nodetest.Redfish(nodetest.Uses("inspect", "agent")), nil, auto,
			"core:inspect.boot_agent@0 core:inspect.collect@0 core:inspect.tear_down@0",
		},
		"deploy of the fake driver": {KindDeploy, nodetest.Fake(), nil, auto, "core:deploy.prepare@0 driver:deploy.deploy@100 driver:deploy.boot_instance@20"},
		"deploy with the agent":     {KindDeploy, nodetest.Redfish(), nil, auto, directDeploy},
		"rebuild is the same":       {KindRebuild, nodetest.Redfish(), nil, auto, directDeploy},
		"an asked step comes at its priority": {
			KindDeploy, nodetest.Fake(),
			[]Step{ask("bios", "factory_reset", 150), ask("deploy", "hold", 50)},
			auto,
			"core:deploy.prepare@0 driver:bios.factory_reset@150 driver:deploy.deploy@100 driver:deploy.hold@50 driver:deploy.boot_instance@20",
		},
		"an asked step overrides the driver's priority": {
			KindDeploy, nodetest.Fake(),
			[]Step{ask("deploy", "boot_instance", 120)},
			auto,
			"core:deploy.prepare@0 driver:deploy.boot_instance@120 driver:deploy.deploy@100",
		},
		"priority 0 switches off": {
			KindDeploy, nodetest.Fake(),
			[]Step{ask("deploy", "boot_instance", 0), ask("deploy", "deploy", 0)},
			auto,
			"core:deploy.prepare@0 driver:deploy.boot_instance@0! driver:deploy.deploy@0!",
		},
		"one priority: the interface's rank decides": {
			KindDeploy, nodetest.Fake(),
			[]Step{ask("bios", "factory_reset", 100), ask("power", "power_on", 100)},
			auto,
			"core:deploy.prepare@0 driver:power.power_on@100 driver:deploy.deploy@100 driver:bios.factory_reset@100 driver:deploy.boot_instance@20",
		},
		"deploy may name what only the agent knows": {
			KindDeploy, nodetest.Redfish(),
			[]Step{ask("deploy", "inject_files", 70)},
			auto,
			strings.Replace(directDeploy, " driver:deploy.prepare_inst", " agent:deploy.inject_files@70 driver:deploy.prepare_inst", 1),
		},
		"rescue": {
			KindRescue, nodetest.Redfish(nodetest.Uses("rescue", "agent")), nil,
			plan.Options{RescuePassword: "$6$"},
			"core:rescue.boot_agent@0 core:rescue.finalize_rescue@0",
		},
		"rescue of the fake driver": {KindRescue, nodetest.Fake(), nil, auto, "core:rescue.rescue@0"},
		"unrescue":                  {KindUnrescue, nodetest.Redfish(nodetest.Uses("rescue", "agent")), nil, auto, "core:rescue.unrescue@0"},

		"power on":              {KindPower, nodetest.Fake(), nil, plan.Options{Power: PowerOn}, "core:power.on@0"},
		"power off":             {KindPower, nodetest.Fake(), nil, plan.Options{Power: PowerOff}, "core:power.off@0"},
		"soft power off":        {KindPower, nodetest.Fake(), nil, plan.Options{Power: SoftPowerOff}, "core:power.soft_off@0"},
		"a reboot is two steps": {KindPower, nodetest.Fake(), nil, plan.Options{Power: Rebooting}, "core:power.off@0 core:power.on@0"},
		"a soft reboot too":     {KindPower, nodetest.Fake(), nil, plan.Options{Power: SoftRebooting}, "core:power.soft_off@0 core:power.on@0"},
		"a reboot of a node that must not be off": {
			KindPower, nodetest.Fake(func(n *Node) { n.DisablePowerOff = on }), nil,
			plan.Options{Power: Rebooting},
			"core:power.reset@0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := plan.Steps(c.kind, c.n, c.asked, c.o)
			require.NoError(t, err)
			require.Equal(t, c.want, line(steps))
		})
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	settings := map[string]any{"settings": []any{}}
	with := func(s Step, args map[string]any) Step { s.Args = args; return s }
	for name, c := range map[string]struct {
		kind  OperationKind
		n     *Node
		asked []Step
		o     plan.Options
		words string
	}{
		"a clean step that nobody has": {
			KindClean, nodetest.Fake(),
			[]Step{ask("deploy", "burnin_cpu", 0)},
			plan.Options{},
			"node " + nodetest.UUID + " does not support this clean step: deploy.burnin_cpu",
		},
		"a step of the agent without a ramdisk": {
			KindClean, nodetest.Redfish(),
			[]Step{ask("deploy", "burnin_cpu", 0)},
			plan.Options{DisableRamdisk: true},
			"node " + nodetest.UUID + " does not support this clean step: deploy.burnin_cpu",
		},
		"a deploy step that nobody has": {
			KindDeploy, nodetest.Fake(),
			[]Step{ask("raid", "x", 90)},
			plan.Options{},
			"node " + nodetest.UUID + " does not support this deploy step: raid.x",
		},
		"the same step twice": {
			KindDeploy, nodetest.Fake(),
			[]Step{ask("deploy", "hold", 90), ask("deploy", "hold", 80)},
			plan.Options{},
			"deploy steps cannot have the same interface and step. Duplicate deploy steps for deploy.hold",
		},
		"the core step moved": {
			KindDeploy, nodetest.Fake(),
			[]Step{ask("deploy", "deploy", 90)},
			plan.Options{},
			"deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0",
		},
		"a required argument is missing": {
			KindClean, nodetest.Fake(),
			[]Step{ask("bios", "apply_configuration", 0)},
			plan.Options{},
			"clean step bios.apply_configuration is missing these required arguments: settings (BIOS settings to be applied, a list of name and value)",
		},
		"an argument that is none": {
			KindDeploy, nodetest.Fake(),
			[]Step{with(ask("bios", "factory_reset", 10), settings)},
			plan.Options{},
			"deploy step bios.factory_reset has these unexpected arguments: settings",
		},
		"a step of the agent before it is there": {
			KindDeploy, nodetest.Redfish(),
			[]Step{ask("deploy", "inject_files", 120)},
			plan.Options{},
			"deploy step deploy.inject_files of node " + nodetest.UUID + " has priority 120, but the agent that would run it is booted at priority 100 only",
		},
		"a step of the agent after it is gone": {
			KindDeploy, nodetest.Redfish(),
			[]Step{ask("deploy", "inject_files", 25)},
			plan.Options{},
			"deploy step deploy.inject_files of node " + nodetest.UUID + " has priority 25, but the agent that would run it is gone by then",
		},
		"inspection that the node has not": {
			KindInspect, nodetest.Redfish(nodetest.Uses("inspect", "no-inspect")), nil,
			plan.Options{},
			"Driver redfish does not support inspect (disabled or not implemented).",
		},
		"rescue that the node has not": {
			KindRescue, nodetest.Redfish(), nil,
			plan.Options{},
			"Driver redfish does not support rescue (disabled or not implemented).",
		},
		"unrescue that the node has not": {
			KindUnrescue, nodetest.Redfish(), nil,
			plan.Options{},
			"Driver redfish does not support rescue (disabled or not implemented).",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan.Steps(c.kind, c.n, c.asked, c.o)
			require.EqualError(t, err, c.words)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
	_, err := plan.Steps("dance", nodetest.Fake(), nil, plan.Options{})
	require.Equal(t, fault.Internal, fault.KindOf(err))
}

func TestWhatThePlanWaitsForMayBeAborted(t *testing.T) {
	steps, err := plan.Steps(KindDeploy, nodetest.Redfish(), nil, plan.Options{})
	require.NoError(t, err)
	for _, s := range steps {
		require.Equal(t, s.Step == StepDeploy, s.Abortable, s.Name())
	}
	steps, err = plan.Steps(KindProvide, nodetest.Redfish(), nil, plan.Options{AutomatedClean: true})
	require.NoError(t, err)
	require.True(t, steps[0].Abortable)
}

func mustSteps(t *testing.T, k OperationKind, text string) []Step {
	t.Helper()
	steps, err := plan.ReadSteps(k, json.RawMessage(text))
	require.NoError(t, err)
	return steps
}

func TestAnImplementationMayHaveSeveralNames(t *testing.T) {
	h := HardwareType{Name: "irmc", Implementations: map[string][]Implementation{}}
	for _, i := range Interfaces {
		h.Implementations[i] = []Implementation{{Name: "no-" + i}}
	}
	h.Implementations["inspect"] = []Implementation{{Name: "agent", Aliases: []string{"irmc-agent"}, Means: MeansAgent}, {Name: "no-inspect"}}
	RegisterHardware(h)
	require.Equal(t, []string{"agent", "irmc-agent", "no-inspect"}, h.Supports()["inspect"])

	all, err := h.Resolve(map[string]string{"inspect": "irmc-agent"}, h.Supports())
	require.NoError(t, err)
	require.Equal(t, "irmc-agent", all["inspect"], "a node keeps the name that it was given")
	for _, name := range []string{"agent", "irmc-agent"} {
		require.True(t, UsesAgent(&Node{Driver: "irmc", Interfaces: map[string]string{"inspect": name}}, KindInspect))
	}
	require.False(t, UsesAgent(&Node{Driver: "irmc", Interfaces: map[string]string{"inspect": "agents"}}, KindInspect))
}

package node_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
)

func redfish(more ...func(*Node)) *Node { return made("redfish", more...) }
func fake(more ...func(*Node)) *Node    { return made("fake-hardware", more...) }

// made is a node of a driver with the default interfaces.
func made(driver string, more ...func(*Node)) *Node {
	h, ok := Hardware(driver)
	if !ok {
		panic(driver)
	}
	n := &Node{UUID: uuid, Driver: driver, Interfaces: map[string]string{}}
	for i, impls := range h.Supports() {
		n.Interfaces[i] = impls[0]
	}
	for _, f := range more {
		f(n)
	}
	return n
}

func uses(iface, impl string) func(*Node) { return func(n *Node) { n.Interfaces[iface] = impl } }

// line is a plan on one line: source, name and priority of each step.
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
	auto := PlanOptions{AutomatedClean: true}
	for name, c := range map[string]struct {
		kind  Kind
		n     *Node
		asked []Step
		o     PlanOptions
		want  string
	}{
		"manage looks at the power":                 {KindManage, redfish(), nil, auto, "core:power.verify@0"},
		"provide frames cleaning":                   {KindProvide, redfish(), nil, auto, "core:deploy.prepare_cleaning@0 core:deploy.tear_down_cleaning@0"},
		"provide without automated cleaning":        {KindProvide, redfish(), nil, PlanOptions{}, ""},
		"the node's own word wins over the setting": {KindProvide, redfish(func(n *Node) { n.AutomatedClean = new(bool) }), nil, auto, ""},
		"undeploy tears down, then cleans": {
			KindUndeploy, fake(), nil, auto,
			"core:deploy.tear_down@0 core:deploy.prepare_cleaning@0+ core:deploy.tear_down_cleaning@0+",
		},
		"undeploy without cleaning": {KindUndeploy, fake(), nil, PlanOptions{}, "core:deploy.tear_down@0"},
		"cleaning by hand keeps the order": {
			KindClean, fake(),
			[]Step{ask("deploy", "erase_devices", 0), ask("power", "power_off", 0), ask("raid", "delete_configuration", 0)},
			auto,
			"core:deploy.prepare_cleaning@0 driver:deploy.erase_devices@0 driver:power.power_off@0 driver:raid.delete_configuration@0 core:deploy.tear_down_cleaning@0",
		},
		"cleaning by hand may name what only the agent knows": {
			KindClean, redfish(),
			[]Step{ask("deploy", "burnin_cpu", 0)},
			auto,
			"core:deploy.prepare_cleaning@0 agent:deploy.burnin_cpu@0 core:deploy.tear_down_cleaning@0",
		},
		"cleaning by hand without a ramdisk": {
			KindClean, fake(),
			[]Step{ask("bios", "factory_reset", 0)},
			PlanOptions{DisableRamdisk: true},
			"driver:bios.factory_reset@0",
		},
		"inspect out of band": {KindInspect, redfish(), nil, auto, "driver:inspect.inspect_hardware@0"},
		"inspect in band": {
			KindInspect, redfish(uses("inspect", "agent")), nil, auto,
			"core:inspect.boot_agent@0 core:inspect.collect@0 core:inspect.tear_down@0",
		},
		"deploy of the fake driver": {KindDeploy, fake(), nil, auto, "core:deploy.prepare@0 driver:deploy.deploy@100 driver:deploy.boot_instance@20"},
		"deploy with the agent":     {KindDeploy, redfish(), nil, auto, directDeploy},
		"rebuild is the same":       {KindRebuild, redfish(), nil, auto, directDeploy},
		"an asked step comes at its priority": {
			KindDeploy, fake(),
			[]Step{ask("bios", "factory_reset", 150), ask("deploy", "hold", 50)},
			auto,
			"core:deploy.prepare@0 driver:bios.factory_reset@150 driver:deploy.deploy@100 driver:deploy.hold@50 driver:deploy.boot_instance@20",
		},
		"an asked step overrides the driver's priority": {
			KindDeploy, fake(),
			[]Step{ask("deploy", "boot_instance", 120)},
			auto,
			"core:deploy.prepare@0 driver:deploy.boot_instance@120 driver:deploy.deploy@100",
		},
		"priority 0 switches off": {
			KindDeploy, fake(),
			[]Step{ask("deploy", "boot_instance", 0), ask("deploy", "deploy", 0)},
			auto,
			"core:deploy.prepare@0 driver:deploy.boot_instance@0! driver:deploy.deploy@0!",
		},
		"one priority: the interface's rank decides": {
			KindDeploy, fake(),
			[]Step{ask("bios", "factory_reset", 100), ask("power", "power_on", 100)},
			auto,
			"core:deploy.prepare@0 driver:power.power_on@100 driver:deploy.deploy@100 driver:bios.factory_reset@100 driver:deploy.boot_instance@20",
		},
		"deploy may name what only the agent knows": {
			KindDeploy, redfish(),
			[]Step{ask("deploy", "inject_files", 70)},
			auto,
			strings.Replace(directDeploy, " driver:deploy.prepare_inst", " agent:deploy.inject_files@70 driver:deploy.prepare_inst", 1),
		},
		"power on":              {KindPower, fake(), nil, PlanOptions{Power: PowerOn}, "core:power.on@0"},
		"power off":             {KindPower, fake(), nil, PlanOptions{Power: PowerOff}, "core:power.off@0"},
		"soft power off":        {KindPower, fake(), nil, PlanOptions{Power: SoftPowerOff}, "core:power.soft_off@0"},
		"a reboot is two steps": {KindPower, fake(), nil, PlanOptions{Power: Rebooting}, "core:power.off@0 core:power.on@0"},
		"a soft reboot too":     {KindPower, fake(), nil, PlanOptions{Power: SoftRebooting}, "core:power.soft_off@0 core:power.on@0"},
		"a reboot of a node that must not be off": {
			KindPower, fake(func(n *Node) { n.DisablePowerOff = on }), nil,
			PlanOptions{Power: Rebooting},
			"core:power.reset@0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := Plan(c.kind, c.n, c.asked, c.o)
			require.NoError(t, err)
			require.Equal(t, c.want, line(steps))
		})
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	settings := map[string]any{"settings": []any{}}
	with := func(s Step, args map[string]any) Step { s.Args = args; return s }
	for name, c := range map[string]struct {
		kind  Kind
		n     *Node
		asked []Step
		o     PlanOptions
		words string
	}{
		"a clean step that nobody has": {
			KindClean, fake(),
			[]Step{ask("deploy", "burnin_cpu", 0)},
			PlanOptions{},
			"node " + uuid + " does not support this clean step: deploy.burnin_cpu",
		},
		"a step of the agent without a ramdisk": {
			KindClean, redfish(),
			[]Step{ask("deploy", "burnin_cpu", 0)},
			PlanOptions{DisableRamdisk: true},
			"node " + uuid + " does not support this clean step: deploy.burnin_cpu",
		},
		"a deploy step that nobody has": {
			KindDeploy, fake(),
			[]Step{ask("raid", "x", 90)},
			PlanOptions{},
			"node " + uuid + " does not support this deploy step: raid.x",
		},
		"the same step twice": {
			KindDeploy, fake(),
			[]Step{ask("deploy", "hold", 90), ask("deploy", "hold", 80)},
			PlanOptions{},
			"deploy steps cannot have the same interface and step. Duplicate deploy steps for deploy.hold",
		},
		"the core step moved": {
			KindDeploy, fake(),
			[]Step{ask("deploy", "deploy", 90)},
			PlanOptions{},
			"deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0",
		},
		"a required argument is missing": {
			KindClean, fake(),
			[]Step{ask("bios", "apply_configuration", 0)},
			PlanOptions{},
			"clean step bios.apply_configuration is missing these required arguments: settings (BIOS settings to be applied, a list of name and value)",
		},
		"an argument that is none": {
			KindDeploy, fake(),
			[]Step{with(ask("bios", "factory_reset", 10), settings)},
			PlanOptions{},
			"deploy step bios.factory_reset has these unexpected arguments: settings",
		},
		"a step of the agent before it is there": {
			KindDeploy, redfish(),
			[]Step{ask("deploy", "inject_files", 120)},
			PlanOptions{},
			"deploy step deploy.inject_files of node " + uuid + " has priority 120, but the agent that would run it is booted at priority 100 only",
		},
		"a step of the agent after it is gone": {
			KindDeploy, redfish(),
			[]Step{ask("deploy", "inject_files", 25)},
			PlanOptions{},
			"deploy step deploy.inject_files of node " + uuid + " has priority 25, but the agent that would run it is gone by then",
		},
		"inspection that the node has not": {
			KindInspect, redfish(uses("inspect", "no-inspect")), nil,
			PlanOptions{},
			"Driver redfish does not support inspect (disabled or not implemented).",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Plan(c.kind, c.n, c.asked, c.o)
			require.EqualError(t, err, c.words)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
	_, err := Plan("dance", fake(), nil, PlanOptions{})
	require.Equal(t, fault.Internal, fault.KindOf(err))
}

func TestWhatThePlanWaitsForMayBeAborted(t *testing.T) {
	steps, err := Plan(KindDeploy, redfish(), nil, PlanOptions{})
	require.NoError(t, err)
	for _, s := range steps {
		require.Equal(t, s.Step == StepDeploy, s.Abortable, s.Name())
	}
	steps, err = Plan(KindProvide, redfish(), nil, PlanOptions{AutomatedClean: true})
	require.NoError(t, err)
	require.True(t, steps[0].Abortable)
}

func offers(priorities map[string]int) []AgentStep {
	var out []AgentStep
	for name, p := range priorities {
		iface, step, _ := strings.Cut(name, ".")
		out = append(out, AgentStep{Interface: iface, Step: step, Priority: p, Abortable: true})
	}
	return out
}

func TestMerging(t *testing.T) {
	auto := PlanOptions{AutomatedClean: true}
	ipa := offers(map[string]int{
		"deploy.erase_devices": 10, "deploy.erase_devices_metadata": 99, "deploy.burnin_cpu": 0, "raid.delete_configuration": 50,
	})
	done := func(k int) func([]Step) {
		return func(s []Step) {
			for i := range k {
				s[i].State = StepDone
			}
		}
	}
	for name, c := range map[string]struct {
		kind    Kind
		n       *Node
		asked   []Step
		begun   func([]Step)
		offered []AgentStep
		want    string
	}{
		"automated cleaning takes the enabled steps of the deploy interface": {
			KindProvide, redfish(), nil, done(1), ipa,
			"core:deploy.prepare_cleaning@0 agent:deploy.erase_devices_metadata@99 agent:deploy.erase_devices@10 core:deploy.tear_down_cleaning@0",
		},
		"even before the first step has begun": {
			KindProvide, redfish(), nil, done(0), ipa,
			"core:deploy.prepare_cleaning@0 agent:deploy.erase_devices_metadata@99 agent:deploy.erase_devices@10 core:deploy.tear_down_cleaning@0",
		},
		"of an undeploy they are the cleaning half": {
			KindUndeploy, redfish(), nil, done(2), ipa,
			"core:deploy.tear_down@0 core:deploy.prepare_cleaning@0+ agent:deploy.erase_devices_metadata@99+ agent:deploy.erase_devices@10+ core:deploy.tear_down_cleaning@0+",
		},
		"what is over is over": {KindProvide, redfish(), nil, done(2), ipa, "core:deploy.prepare_cleaning@0 core:deploy.tear_down_cleaning@0"},
		"cleaning by hand takes what was asked, in that order": {
			KindClean, redfish(),
			[]Step{ask("deploy", "burnin_cpu", 0), ask("raid", "delete_configuration", 0), ask("deploy", "erase_devices", 0), ask("deploy", "burnin_cpu", 0)},
			done(1), ipa,
			"core:deploy.prepare_cleaning@0 agent:deploy.burnin_cpu@0 agent:raid.delete_configuration@50 agent:deploy.erase_devices@10 agent:deploy.burnin_cpu@0 core:deploy.tear_down_cleaning@0",
		},
		"deploy takes enabled ones at their priority, behind what has begun": {
			KindDeploy, redfish(), nil, done(3),
			offers(map[string]int{"deploy.tune": 90, "deploy.check": 65}),
			"core:deploy.prepare@0 driver:deploy.deploy@100 driver:deploy.write_image@80 agent:deploy.tune@90 agent:deploy.check@65 driver:deploy.prepare_instance_boot@60 " +
				"driver:deploy.tear_down_agent@40 driver:deploy.switch_to_tenant_network@30 driver:deploy.boot_instance@20",
		},
		"out of band shadows in band": {KindDeploy, redfish(), nil, done(2), offers(map[string]int{"deploy.write_image": 85, "deploy.deploy": 95}), directDeploy},
		"an asked priority wins over the agent's": {
			KindDeploy, redfish(),
			[]Step{ask("deploy", "tune", 50)},
			done(2), offers(map[string]int{"deploy.tune": 90}),
			strings.Replace(directDeploy, " driver:deploy.tear_down_agent", " agent:deploy.tune@50 driver:deploy.tear_down_agent", 1),
		},
		"asked with priority 0 it does not run": {
			KindDeploy, redfish(),
			[]Step{ask("deploy", "tune", 0)},
			done(2), offers(map[string]int{"deploy.tune": 90}),
			directDeploy + " agent:deploy.tune@0!",
		},
		"one that the driver has, switched off, does not come back in band": {
			KindDeploy, redfish(),
			[]Step{ask("deploy", "write_image", 0)},
			done(2),
			offers(map[string]int{"deploy.write_image": 85}),
			strings.Replace(directDeploy, " driver:deploy.write_image@80", "", 1) + " driver:deploy.write_image@0!",
		},
		"an offer that comes twice counts once, the higher one": {
			KindProvide, redfish(), nil, done(1),
			append(offers(map[string]int{"deploy.erase_devices": 10}), offers(map[string]int{"deploy.erase_devices": 20})...),
			"core:deploy.prepare_cleaning@0 agent:deploy.erase_devices@20 core:deploy.tear_down_cleaning@0",
		},
		"reserved names can't be taken by an agent": {
			KindProvide, redfish(), nil, done(1), offers(map[string]int{"deploy.hold": 10}),
			"core:deploy.prepare_cleaning@0 core:deploy.tear_down_cleaning@0",
		},
		"without an agent nothing joins": {KindProvide, fake(), nil, done(1), ipa, "core:deploy.prepare_cleaning@0 core:deploy.tear_down_cleaning@0"},
		"inspection has no steps of the agent": {
			KindInspect, redfish(uses("inspect", "agent")), nil, done(1), ipa,
			"core:inspect.boot_agent@0 core:inspect.collect@0 core:inspect.tear_down@0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Plan(c.kind, c.n, c.asked, auto)
			require.NoError(t, err)
			c.begun(plan)
			before := line(plan)
			merged, err := MergeAgentSteps(c.n, c.kind, plan, c.offered)
			require.NoError(t, err)
			require.Equal(t, c.want, line(merged))
			require.Equal(t, before, line(plan), "the plan was changed")
			again, err := MergeAgentSteps(c.n, c.kind, merged, c.offered)
			require.NoError(t, err)
			require.Equal(t, merged, again)
		})
	}
}

func TestMergingTakesBackWhatAnOlderAgentOffered(t *testing.T) {
	n := redfish()
	plan, err := Plan(KindProvide, n, nil, PlanOptions{AutomatedClean: true})
	require.NoError(t, err)
	plan[0].State = StepDone
	plan, err = MergeAgentSteps(n, KindProvide, plan, offers(map[string]int{"deploy.a": 30, "deploy.b": 20, "deploy.c": 10}))
	require.NoError(t, err)
	plan[1].State = StepDone
	plan, err = MergeAgentSteps(n, KindProvide, plan, offers(map[string]int{"deploy.c": 90, "deploy.d": 5}))
	require.NoError(t, err)
	require.Equal(t, "core:deploy.prepare_cleaning@0 agent:deploy.a@30 agent:deploy.c@90 agent:deploy.d@5 core:deploy.tear_down_cleaning@0", line(plan))
}

func TestMergingRefusesWhatNobodyHas(t *testing.T) {
	n := redfish()
	clean, err := Plan(KindClean, n, []Step{ask("deploy", "dance", 0), ask("raid", "sing", 0)}, PlanOptions{})
	require.NoError(t, err)
	_, err = MergeAgentSteps(n, KindClean, clean, nil)
	require.EqualError(t, err, "node "+uuid+" does not support this clean step: deploy.dance, raid.sing")
	require.Equal(t, fault.Invalid, fault.KindOf(err))

	missing := []AgentStep{{Interface: "deploy", Step: "dance", Args: map[string]ArgSpec{"tune": {Required: true}}}, {Interface: "raid", Step: "sing"}}
	_, err = MergeAgentSteps(n, KindClean, clean, missing)
	require.EqualError(t, err, "node "+uuid+": clean step deploy.dance is missing these required arguments: tune")

	deploy, err := Plan(KindDeploy, n, nil, PlanOptions{})
	require.NoError(t, err)
	_, err = MergeAgentSteps(n, KindDeploy, deploy, offers(map[string]int{"deploy.late": 25}))
	require.EqualError(t, err, "deploy step deploy.late of node "+uuid+" has priority 25, but the agent that would run it is gone by then")
}

// Whatever is planned, begun and offered: merging twice changes nothing, what
// has begun stays in front unchanged, nothing asked is lost, no name of the
// driver comes in band, and the rest is in order.
func TestMergingProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ifaces := []string{"deploy", "raid", "bios", "management"}
	for range 3000 {
		kind := []Kind{KindDeploy, KindRebuild, KindProvide, KindUndeploy, KindClean}[r.IntN(5)]
		n := redfish()
		var asked []Step
		for i := range r.IntN(4) {
			if kind == KindProvide || kind == KindUndeploy {
				break
			}
			asked = append(asked, ask(ifaces[r.IntN(4)], fmt.Sprintf("s%d", i), []int{0, 50, 60, 90}[r.IntN(4)]))
		}
		plan, err := Plan(kind, n, asked, PlanOptions{AutomatedClean: true})
		require.NoError(t, err)
		begun := r.IntN(3)
		for i := range min(begun, len(plan)) {
			if plan[i].State == StepPending {
				plan[i].State = StepDone
			}
		}
		var offered []AgentStep
		for _, a := range asked {
			offered = append(offered, AgentStep{Interface: a.Interface, Step: a.Step, Priority: 41 + r.IntN(59)})
		}
		for i := range r.IntN(6) {
			offered = append(offered, AgentStep{Interface: ifaces[r.IntN(4)], Step: fmt.Sprintf("t%d", i%4), Priority: []int{0, 45, 60, 95}[r.IntN(4)]})
		}
		offered = append(offered, AgentStep{Interface: "deploy", Step: "write_image", Priority: 50})
		r.Shuffle(len(offered), func(i, j int) { offered[i], offered[j] = offered[j], offered[i] })

		once, err := MergeAgentSteps(n, kind, plan, offered)
		require.NoError(t, err)
		r.Shuffle(len(offered), func(i, j int) { offered[i], offered[j] = offered[j], offered[i] })
		twice, err := MergeAgentSteps(n, kind, once, offered)
		require.NoError(t, err)
		require.Equal(t, line(once), line(twice))
		require.Equal(t, once, twice)

		for i := range min(begun, len(plan)) {
			require.Equal(t, plan[i], once[i])
		}
		have := map[string]int{}
		for i, s := range once {
			have[s.Name()]++
			require.Equal(t, i, s.Index)
			if i > 0 && kind != KindClean && once[i-1].State == StepPending && once[i-1].Source != SourceCore && s.Source != SourceCore {
				require.GreaterOrEqual(t, once[i-1].Priority, s.Priority, line(once))
			}
			if (kind == KindDeploy || kind == KindRebuild) && s.Step == "write_image" {
				require.Equal(t, SourceDriver, s.Source)
			}
		}
		for _, a := range asked {
			require.Equal(t, 1, have[a.Name()], line(once))
		}
	}
}

func TestEveryInterfaceHasADefault(t *testing.T) {
	for _, name := range HardwareTypes() {
		h, _ := Hardware(name)
		require.Len(t, h.Supports(), len(Interfaces))
		all, err := h.Resolve(nil, h.Supports())
		require.NoError(t, err)
		for _, i := range Interfaces {
			require.Equal(t, h.Supports()[i][0], all[i])
		}
	}
	_, ok := Hardware("ilo")
	require.False(t, ok)
}

func TestResolveInterfaces(t *testing.T) {
	h, _ := Hardware("redfish")
	got, err := h.Resolve(map[string]string{"inspect": "agent"}, h.Supports())
	require.NoError(t, err)
	require.Equal(t, "agent", got["inspect"])
	require.Equal(t, "direct", got["deploy"])

	_, err = h.Resolve(map[string]string{"power": "fake"}, h.Supports())
	require.EqualError(t, err, "power interface implementation 'fake' is not supported by hardware type redfish.")

	few := map[string][]string{}
	for i, impls := range h.Supports() {
		few[i] = impls[:1]
	}
	_, err = h.Resolve(map[string]string{"inspect": "agent"}, few)
	require.EqualError(t, err, "Could not find the following interface in the 'ironic.hardware.interfaces.inspect' entrypoint: agent. Valid interfaces are ['redfish'].")
	delete(few, "raid")
	_, err = h.Resolve(nil, few)
	require.EqualError(t, err, "For hardware type 'redfish', no default value found for raid interface could be determined. Please ensure the interfaces are enabled.")
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func mustSteps(t *testing.T, k Kind, text string) []Step {
	t.Helper()
	steps, err := ValidateSteps(k, json.RawMessage(text))
	require.NoError(t, err)
	return steps
}

func TestAnImplementationMayHaveSeveralNames(t *testing.T) {
	h := HardwareType{Name: "idrac", Implementations: map[string][]Implementation{}}
	for _, i := range Interfaces {
		h.Implementations[i] = []Implementation{{Name: "no-" + i}}
	}
	h.Implementations["inspect"] = []Implementation{{Name: "agent", Aliases: []string{"idrac-agent"}, Means: MeansAgent}, {Name: "no-inspect"}}
	RegisterHardware(h)
	require.Equal(t, []string{"agent", "idrac-agent", "no-inspect"}, h.Supports()["inspect"])

	all, err := h.Resolve(map[string]string{"inspect": "idrac-agent"}, h.Supports())
	require.NoError(t, err)
	require.Equal(t, "idrac-agent", all["inspect"], "a node keeps the name that it was given")
	for _, name := range []string{"agent", "idrac-agent"} {
		require.True(t, UsesAgent(&Node{Driver: "idrac", Interfaces: map[string]string{"inspect": name}}, KindInspect))
	}
	require.False(t, UsesAgent(&Node{Driver: "idrac", Interfaces: map[string]string{"inspect": "agents"}}, KindInspect))
}

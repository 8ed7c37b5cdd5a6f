package plan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
	"go.temper.dev/temper/internal/plan"
)

func offers(priorities map[string]int) []plan.AgentStep {
	var out []plan.AgentStep
	for name, p := range priorities {
		iface, step, _ := strings.Cut(name, ".")
		out = append(out, plan.AgentStep{Interface: iface, Step: step, Priority: p, Abortable: true})
	}
	return out
}

func TestMerging(t *testing.T) {
	auto := plan.Options{AutomatedClean: true}
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
		kind    OperationKind
		n       *Node
		asked   []Step
		begun   func([]Step)
		offered []plan.AgentStep
		want    string
	}{
		"automated cleaning takes the enabled steps of the deploy interface": {
			KindProvide, nodetest.Redfish(), nil, done(1), ipa,
			"core:deploy.prepare_cleaning@0 agent:deploy.erase_devices_metadata@99 agent:deploy.erase_devices@10 core:deploy.tear_down_cleaning@0",
		},
		"even before the first step has begun": {
			KindProvide, nodetest.Redfish(), nil, done(0), ipa,
			"core:deploy.prepare_cleaning@0 agent:deploy.erase_devices_metadata@99 agent:deploy.erase_devices@10 core:deploy.tear_down_cleaning@0",
		},
		"of an undeploy they are the cleaning half": {
			KindUndeploy, nodetest.Redfish(), nil, done(2), ipa,
			"core:deploy.tear_down@0 core:deploy.prepare_cleaning@0+ agent:deploy.erase_devices_metadata@99+ agent:deploy.erase_devices@10+ core:deploy.tear_down_cleaning@0+",
		},
		"what is over is over": {KindProvide, nodetest.Redfish(), nil, done(2), ipa, "core:deploy.prepare_cleaning@0 core:deploy.tear_down_cleaning@0"},
		"cleaning by hand takes what was asked, in that order": {
			KindClean, nodetest.Redfish(nodetest.Uses("raid", "no-raid")),
			[]Step{ask("deploy", "burnin_cpu", 0), ask("raid", "delete_configuration", 0), ask("deploy", "erase_devices", 0), ask("deploy", "burnin_cpu", 0)},
			done(1), ipa,
			"core:deploy.prepare_cleaning@0 agent:deploy.burnin_cpu@0 agent:raid.delete_configuration@50 agent:deploy.erase_devices@10 agent:deploy.burnin_cpu@0 core:deploy.tear_down_cleaning@0",
		},
		"deploy takes enabled ones at their priority, behind what has begun": {
			KindDeploy, nodetest.Redfish(), nil, done(3),
			offers(map[string]int{"deploy.tune": 90, "deploy.check": 65}),
			"core:deploy.prepare@0 driver:deploy.deploy@100 driver:deploy.write_image@80 agent:deploy.tune@90 agent:deploy.check@65 driver:deploy.prepare_instance_boot@60 " +
				"driver:deploy.tear_down_agent@40 driver:deploy.switch_to_tenant_network@30 driver:deploy.boot_instance@20",
		},
		"out of band shadows in band": {KindDeploy, nodetest.Redfish(), nil, done(2), offers(map[string]int{"deploy.write_image": 85, "deploy.deploy": 95}), directDeploy},
		"an asked priority wins over the agent's": {
			KindDeploy, nodetest.Redfish(),
			[]Step{ask("deploy", "tune", 50)},
			done(2), offers(map[string]int{"deploy.tune": 90}),
			strings.Replace(directDeploy, " driver:deploy.tear_down_agent", " agent:deploy.tune@50 driver:deploy.tear_down_agent", 1),
		},
		"asked with priority 0 it does not run": {
			KindDeploy, nodetest.Redfish(),
			[]Step{ask("deploy", "tune", 0)},
			done(2), offers(map[string]int{"deploy.tune": 90}),
			directDeploy + " agent:deploy.tune@0!",
		},
		"one that the driver has, switched off, does not come back in band": {
			KindDeploy, nodetest.Redfish(),
			[]Step{ask("deploy", "write_image", 0)},
			done(2),
			offers(map[string]int{"deploy.write_image": 85}),
			strings.Replace(directDeploy, " driver:deploy.write_image@80", "", 1) + " driver:deploy.write_image@0!",
		},
		"an offer that comes twice counts once, the higher one": {
			KindProvide, nodetest.Redfish(), nil, done(1),
			append(offers(map[string]int{"deploy.erase_devices": 10}), offers(map[string]int{"deploy.erase_devices": 20})...),
			"core:deploy.prepare_cleaning@0 agent:deploy.erase_devices@20 core:deploy.tear_down_cleaning@0",
		},
		"reserved names can't be taken by an agent": {
			KindProvide, nodetest.Redfish(), nil, done(1), offers(map[string]int{"deploy.hold": 10}),
			"core:deploy.prepare_cleaning@0 core:deploy.tear_down_cleaning@0",
		},
		"without an agent nothing joins": {KindProvide, nodetest.Fake(), nil, done(1), ipa, "core:deploy.prepare_cleaning@0 core:deploy.tear_down_cleaning@0"},
		"inspection has no steps of the agent": {
			KindInspect, nodetest.Redfish(nodetest.Uses("inspect", "agent")), nil, done(1), ipa,
			"core:inspect.boot_agent@0 core:inspect.collect@0 core:inspect.tear_down@0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			planned, err := plan.Steps(c.kind, c.n, c.asked, auto)
			require.NoError(t, err)
			c.begun(planned)
			before := line(planned)
			merged, err := plan.Merge(c.n, c.kind, planned, c.offered)
			require.NoError(t, err)
			require.Equal(t, c.want, line(merged))
			require.Equal(t, before, line(planned), "the planned was changed")
			again, err := plan.Merge(c.n, c.kind, merged, c.offered)
			require.NoError(t, err)
			require.Equal(t, merged, again)
		})
	}
}

func TestMergingTakesBackWhatAnOlderAgentOffered(t *testing.T) {
	n := nodetest.Redfish()
	planned, err := plan.Steps(KindProvide, n, nil, plan.Options{AutomatedClean: true})
	require.NoError(t, err)
	planned[0].State = StepDone
	planned, err = plan.Merge(n, KindProvide, planned, offers(map[string]int{"deploy.a": 30, "deploy.b": 20, "deploy.c": 10}))
	require.NoError(t, err)
	planned[1].State = StepDone
	planned, err = plan.Merge(n, KindProvide, planned, offers(map[string]int{"deploy.c": 90, "deploy.d": 5}))
	require.NoError(t, err)
	require.Equal(t, "core:deploy.prepare_cleaning@0 agent:deploy.a@30 agent:deploy.c@90 agent:deploy.d@5 core:deploy.tear_down_cleaning@0", line(planned))
}

func TestMergingRefusesWhatNobodyHas(t *testing.T) {
	n := nodetest.Redfish()
	clean, err := plan.Steps(KindClean, n, []Step{ask("deploy", "dance", 0), ask("raid", "sing", 0)}, plan.Options{})
	require.NoError(t, err)
	_, err = plan.Merge(n, KindClean, clean, nil)
	require.EqualError(t, err, "node "+nodetest.UUID+" does not support this clean step: deploy.dance, raid.sing")
	require.Equal(t, fault.Invalid, fault.KindOf(err))

	missing := []plan.AgentStep{{Interface: "deploy", Step: "dance", Args: map[string]ArgSpec{"tune": {Required: true}}}, {Interface: "raid", Step: "sing"}}
	_, err = plan.Merge(n, KindClean, clean, missing)
	require.EqualError(t, err, "node "+nodetest.UUID+": clean step deploy.dance is missing these required arguments: tune")

	deploy, err := plan.Steps(KindDeploy, n, nil, plan.Options{})
	require.NoError(t, err)
	_, err = plan.Merge(n, KindDeploy, deploy, offers(map[string]int{"deploy.late": 25}))
	require.EqualError(t, err, "deploy step deploy.late of node "+nodetest.UUID+" has priority 25, but the agent that would run it is gone by then")
}

// Whatever is planned, begun and offered: merging twice changes nothing, what
// has begun stays in front unchanged, nothing asked is lost, no name of the
// driver comes in band, and the rest is in order.
func TestMergingProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ifaces := []string{"deploy", "raid", "bios", "management"}
	for range 3000 {
		kind := []OperationKind{KindDeploy, KindRebuild, KindProvide, KindUndeploy, KindClean}[r.IntN(5)]
		n := nodetest.Redfish()
		var asked []Step
		for i := range r.IntN(4) {
			if kind == KindProvide || kind == KindUndeploy {
				break
			}
			asked = append(asked, ask(ifaces[r.IntN(4)], fmt.Sprintf("s%d", i), []int{0, 50, 60, 90}[r.IntN(4)]))
		}
		planned, err := plan.Steps(kind, n, asked, plan.Options{AutomatedClean: true})
		require.NoError(t, err)
		begun := r.IntN(3)
		for i := range min(begun, len(planned)) {
			if planned[i].State == StepPending {
				planned[i].State = StepDone
			}
		}
		var offered []plan.AgentStep
		for _, a := range asked {
			offered = append(offered, plan.AgentStep{Interface: a.Interface, Step: a.Step, Priority: 41 + r.IntN(59)})
		}
		for i := range r.IntN(6) {
			offered = append(offered, plan.AgentStep{Interface: ifaces[r.IntN(4)], Step: fmt.Sprintf("t%d", i%4), Priority: []int{0, 45, 60, 95}[r.IntN(4)]})
		}
		offered = append(offered, plan.AgentStep{Interface: "deploy", Step: "write_image", Priority: 50})
		r.Shuffle(len(offered), func(i, j int) { offered[i], offered[j] = offered[j], offered[i] })

		once, err := plan.Merge(n, kind, planned, offered)
		require.NoError(t, err)
		r.Shuffle(len(offered), func(i, j int) { offered[i], offered[j] = offered[j], offered[i] })
		twice, err := plan.Merge(n, kind, once, offered)
		require.NoError(t, err)
		require.Equal(t, line(once), line(twice))
		require.Equal(t, once, twice)

		for i := range min(begun, len(planned)) {
			require.Equal(t, planned[i], once[i])
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

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestAStepThatTheDriverHasSwitchedOffStillShadowsTheAgents(t *testing.T) {
	node.RegisterHardware(node.HardwareType{Name: t.Name(), Implementations: map[string][]node.Implementation{
		"deploy": {{Name: "test", Means: node.MeansAgent, CleanSteps: []node.StepSpec{{Step: "erase_devices"}}}},
	}})
	n := &node.Node{UUID: "u", Driver: t.Name(), Interfaces: map[string]string{"deploy": "test"}}
	steps, err := plan.Steps(node.KindProvide, n, nil, plan.Options{AutomatedClean: true})
	require.NoError(t, err)
	merged, err := plan.Merge(n, node.KindProvide, steps, []plan.AgentStep{{Interface: "deploy", Step: "erase_devices", Priority: 10}})
	require.NoError(t, err)
	require.Equal(t, steps, merged)
}

func TestEveryKindHasAPlan(t *testing.T) {
	n := &node.Node{UUID: "u", Driver: "fake-hardware", Interfaces: map[string]string{"inspect": "fake", "deploy": "fake", "rescue": "fake"}}
	for _, k := range node.Kinds() {
		_, err := plan.Steps(k, n, nil, plan.Options{AutomatedClean: true, Vendor: node.VendorCall{Method: node.StepResetBMC}})
		require.NoError(t, err, k)
	}
}

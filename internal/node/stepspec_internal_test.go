package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// offering gives an implementation of an interface steps for one test.
func offering(t *testing.T, impl string, o offer) {
	t.Helper()
	had := offers[impl]
	offers[impl] = o
	t.Cleanup(func() { offers[impl] = had })
}

func TestArgumentsThatAStepCallsSecretAreMasked(t *testing.T) {
	offering(t, "vendor/test", offer{clean: []StepSpec{{Step: "license", Args: map[string]ArgSpec{
		"blob": {Secret: true}, "list": {Secret: true}, "plain": {},
	}}}})
	n := &Node{UUID: "u", Interfaces: map[string]string{"vendor": "test", "deploy": "fake"}}
	args := map[string]any{"blob": "s1", "list": []any{"s2", map[string]any{"password": "s3"}}, "plain": "p"}
	plan, err := Plan(KindClean, n, []Step{{Interface: "vendor", Step: "license", Args: args}}, PlanOptions{})
	require.NoError(t, err)
	masked, secrets := MaskArgs(n, KindClean, plan)
	require.Equal(t, map[string]any{"blob": Masked, "list": Masked, "plain": "p"}, masked[1].Args)
	require.Equal(t, args, ClearArgs(masked, 1, secrets))
	require.Equal(t, args, plan[1].Args, "the plan was changed")
}

func TestAStepThatTheDriverHasSwitchedOffStillShadowsTheAgents(t *testing.T) {
	offering(t, "deploy/direct", offer{clean: []StepSpec{{Step: "erase_devices"}}})
	n := &Node{UUID: "u", Interfaces: map[string]string{"deploy": "direct"}}
	plan, err := Plan(KindProvide, n, nil, PlanOptions{AutomatedClean: true})
	require.NoError(t, err)
	merged, err := MergeAgentSteps(n, KindProvide, plan, []AgentStep{{Interface: "deploy", Step: "erase_devices", Priority: 10}})
	require.NoError(t, err)
	require.Equal(t, plan, merged)
}

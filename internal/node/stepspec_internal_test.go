package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// offering returns a node of a hardware type that there is for one test, with these
// implementations.
func offering(t *testing.T, impls map[string]Implementation) *Node {
	t.Helper()
	had := hardware
	t.Cleanup(func() { hardware = had })
	n := &Node{UUID: "u", Driver: "test", Interfaces: map[string]string{}}
	h := HardwareType{Name: n.Driver, Implementations: map[string][]Implementation{}}
	for iface, i := range impls {
		h.Implementations[iface], n.Interfaces[iface] = []Implementation{i}, i.Name
	}
	RegisterHardware(h)
	return n
}

func TestArgumentsThatAStepCallsSecretAreMasked(t *testing.T) {
	n := offering(t, map[string]Implementation{"deploy": pretends, "vendor": {Name: "test", CleanSteps: []StepSpec{{Step: "license", Args: map[string]ArgSpec{
		"blob": {Secret: true}, "list": {Secret: true}, "plain": {},
	}}}}})
	args := map[string]any{"blob": "s1", "list": []any{"s2", map[string]any{"password": "s3"}}, "plain": "p"}
	plan, err := Plan(KindClean, n, []Step{{Interface: "vendor", Step: "license", Args: args}}, PlanOptions{})
	require.NoError(t, err)
	masked, secrets := MaskArgs(n, KindClean, plan)
	require.Equal(t, map[string]any{"blob": Masked, "list": Masked, "plain": "p"}, masked[1].Args)
	require.Equal(t, args, ClearArgs(masked, 1, secrets))
	require.Equal(t, args, plan[1].Args, "the plan was changed")
}

func TestAStepThatTheDriverHasSwitchedOffStillShadowsTheAgents(t *testing.T) {
	n := offering(t, map[string]Implementation{"deploy": {Name: "test", Means: MeansAgent, CleanSteps: []StepSpec{{Step: "erase_devices"}}}})
	plan, err := Plan(KindProvide, n, nil, PlanOptions{AutomatedClean: true})
	require.NoError(t, err)
	merged, err := MergeAgentSteps(n, KindProvide, plan, []AgentStep{{Interface: "deploy", Step: "erase_devices", Priority: 10}})
	require.NoError(t, err)
	require.Equal(t, plan, merged)
}

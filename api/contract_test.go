package api_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

// Clients know verbs, states and kinds from openapi.yaml, so it must have all of them.
func TestTheContractNamesEveryVerbStateAndKind(t *testing.T) {
	t.Parallel()
	doc, err := apitest.Contract()
	require.NoError(t, err)
	var verbs, states, kinds, power []any
	for _, v := range node.Verbs {
		verbs = append(verbs, v.Target)
	}
	for _, p := range node.PowerTargets {
		power = append(power, string(p))
	}
	for _, s := range node.States() {
		states = append(states, string(s))
	}
	for _, k := range node.Kinds() {
		kinds = append(kinds, string(k))
	}
	var conductors []any
	for _, s := range coverage.States {
		conductors = append(conductors, s)
	}
	schema := func(name string) *openapi3.Schema { return doc.Components.Schemas[name].Value }
	require.ElementsMatch(t, verbs, schema("ProvisionRequest").Properties["target"].Value.Enum, "the target of ProvisionRequest")
	require.ElementsMatch(t, conductors, schema("FleetConductor").Properties["state"].Value.Enum, "the state of FleetConductor")
	require.ElementsMatch(t, slices.Concat(verbs, power, []any{node.StepInjectNMI, node.StepSetBootDevice, node.VerbRotatePassword, string(node.KindVendorPassthru)}), schema("OperationRequest").Properties["verb"].Value.Enum, "the verb of OperationRequest")
	require.ElementsMatch(t, append(states, nil), schema("ProvisionState").Enum, "ProvisionState")
	require.ElementsMatch(t, kinds, schema("Kind").Enum, "Kind")
}

var ginParameter = regexp.MustCompile(`:(\w+)`)

func TestRoutesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	doc, err := apitest.Contract()
	require.NoError(t, err)
	var described, served []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	server, err := api.New(api.Config{Store: stubStore{}, Operations: &apitest.Operations{}, Drivers: apitest.Drivers{}})
	require.NoError(t, err)
	for _, r := range server.Routes() {
		served = append(served, r[0]+" "+ginParameter.ReplaceAllString(r[1], "{$1}"))
	}
	slices.Sort(described)
	slices.Sort(served)
	require.Equal(t, described, served)
}

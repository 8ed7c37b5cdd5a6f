package temper_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/coverage"
)

func TestCoverageIsOfLiveConductors(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	mine := map[string]map[string][]string{"fake-hardware": {"power": {"fake"}, "boot": {"fake"}}}
	_, err := b.Store.RegisterConductor(t.Context(), coverage.Conductor{Hostname: "a", Interfaces: mine})
	require.NoError(t, err)
	b.Conductor("b", "", "fake-hardware")
	b.Enrolled("n1")
	row := func() map[string]any {
		for _, r := range b.Get("/temper/v1/coverage").Is(200)["coverage"].([]any) {
			if r := r.(map[string]any); r["driver"] == "fake-hardware" && r["conductor_group"] == "" {
				return r
			}
		}
		return nil
	}
	r := row()
	require.Equal(t, []any{"a", "b"}, r["conductors"])
	require.Equal(t, []any{"a", "b"}, r["interfaces"].(map[string]any)["power"].(map[string]any)["fake"])
	require.Equal(t, []any{"b"}, r["interfaces"].(map[string]any)["deploy"].(map[string]any)["fake"])
	require.EqualValues(t, 1, r["nodes"])
	require.EqualValues(t, 0, r["quarantined"])

	// Conductor a still has the driver, but only b had these interfaces.
	b.Kill("b")
	r = row()
	require.Equal(t, []any{"a"}, r["conductors"])
	require.NotContains(t, r["interfaces"], "deploy")
	require.EqualValues(t, 1, r["quarantined"])
	const words = `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "". Ensure the driver is valid and enabled.`
	require.Equal(t, words, b.Put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}).Fails(404))
	require.Nil(t, b.Field("n1", "conductor"))
	b.Patch("/v1/nodes/n1", apitest.Replace("/extra", map[string]any{"a": 1})).Is(200)

	b.Kill("a")
	r = row()
	require.Empty(t, r["conductors"])
	require.EqualValues(t, 1, r["nodes"])
}

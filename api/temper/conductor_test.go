package temper_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

func TestDrainingTheLastOfADriverNeedsForce(t *testing.T) {
	t.Parallel()
	runs := 0
	b := apitest.New(t, func(c *api.Config) { c.Reconcile = func(context.Context) error { runs++; return errors.New("away") } }).WithConductors()
	for i := range 12 {
		b.Enrolled(fmt.Sprintf("n%d", i))
	}
	writeEpoch(b)
	k := b.Post("/temper/v1/conductors/c1/drain", nil).Is(202)
	require.Equal(t, "draining", k["state"])
	require.Equal(t, 6, whole(k["nodes"]), "in the newest epoch")
	require.Equal(t, 1, runs)
	require.Equal(t, map[any]int{"c2": 12}, owners(b, ""), "at once")
	require.Equal(t, "Conductor c2 is the last one that covers 12 nodes: n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more. Drained with force, it leaves them to nobody.",
		b.Post("/temper/v1/conductors/c2/drain", map[string]any{}).Fails(409))
	b.Post("/temper/v1/conductors/c1/drain", nil).Is(202)
	b.Post("/temper/v1/conductors/c2/drain", map[string]any{"force": true}).Is(202)
	require.Equal(t, map[any]int{nil: 12}, owners(b, ""))
	b.Post("/temper/v1/conductors/c9/drain", nil).Fails(404)
	b.Kill("c1")
	require.Contains(t, b.Post("/temper/v1/conductors/c1/drain", nil).Fails(409), "is dead")
}

func TestADrainIsTakenBack(t *testing.T) {
	t.Parallel()
	runs := 0
	b := apitest.New(t, func(c *api.Config) { c.Reconcile = func(context.Context) error { runs++; return nil } }).WithConductors()
	for i := range 4 {
		b.Enrolled(fmt.Sprintf("n%d", i))
	}
	writeEpoch(b)
	b.Post("/temper/v1/conductors/c1/drain", nil).Is(202)
	k := b.Get("/temper/v1/conductors/c1").Is(200)
	require.Equal(t, []any{"draining", true, true}, []any{k["state"], k["alive"], k["draining"]})
	require.Equal(t, map[any]int{"c2": 4}, owners(b, ""))
	k = b.Post("/temper/v1/conductors/c1/undrain", nil).Is(202)
	require.Equal(t, []any{"alive", true, false}, []any{k["state"], k["alive"], k["draining"]})
	require.Equal(t, 2, runs, "the ring changes each time")
	require.Equal(t, map[any]int{"c1": 2, "c2": 2}, owners(b, ""), "at once")
	b.Post("/temper/v1/conductors/c1/undrain", map[string]any{}).Is(202)
	b.Post("/temper/v1/conductors/c9/undrain", nil).Fails(404)
	b.Kill("c1")
	require.Contains(t, b.Post("/temper/v1/conductors/c1/undrain", nil).Fails(409), "Conductor c1 is dead: once it is started again, it takes work.")
}

func TestAConductorIsShownWithWhatItHas(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for i := range 4 {
		b.Enrolled(fmt.Sprintf("n%d", i))
	}
	writeEpoch(b)
	k := b.Get("/temper/v1/conductors/c2").Is(200)
	require.Equal(t, []any{"c2", "alive", 2, 0}, []any{k["hostname"], k["state"], whole(k["nodes"]), whole(k["steps"])})
	require.Contains(t, k["drivers"], "fake-hardware")
	require.Nil(t, k["version"])
	_, err := b.Store.SeeProcess(t.Context(), coverage.Process{Role: coverage.RoleConductor, Name: "c2", Version: "1.2.3"}, true)
	require.NoError(t, err)
	require.Equal(t, "1.2.3", b.Get("/temper/v1/conductors/c2").Is(200)["version"])
	for _, listed := range b.Get("/temper/v1/conductors").Is(200)["conductors"].([]any) {
		if listed := listed.(map[string]any); listed["hostname"] == "c2" {
			require.Equal(t, listed, b.Get("/temper/v1/conductors/c2").Is(200))
		}
	}
	b.Get("/temper/v1/conductors/c9").Fails(404)

	require.Empty(t, b.Get("/temper/v1/conductors/c2").Is(200)["help"])
	b.Kill("c2")
	var can []string
	for _, h := range b.Get("/temper/v1/conductors/c2").Is(200)["help"].([]any) {
		can = append(can, h.(map[string]any)["command"].(string))
	}
	require.Equal(t, []string{"temper conductor --name c2 --enabled-drivers fake-hardware,redfish", "temper conductor forget c2"}, can)
}

func TestOnlyTheDeadAreForgotten(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.In("n1", node.Deploying)
	writeEpoch(b)
	require.Contains(t, b.Delete("/temper/v1/conductors/c1").Fails(409), "Conductor c1 is alive.")
	b.Kill("c1")
	require.Equal(t, "dead", conductorState(b, "c1"))
	b.Delete("/temper/v1/conductors/c1").Is(204)
	b.Delete("/temper/v1/conductors/c1").Fails(404)
	require.Empty(t, conductorState(b, "c1"))
	require.Equal(t, "c2", b.Field(uuid, "conductor"))
	ops := b.Get("/temper/v1/operations?node=n1").Is(200)["operations"].([]any)
	require.Equal(t, "running", ops[0].(map[string]any)["state"], "what it held goes on")
	b.Kill("c2")
	b.Delete("/temper/v1/conductors/c2").Is(204)
	require.Nil(t, b.Field(uuid, "conductor"))
}

// conductorState returns the state of a conductor, "" where it is not listed.
func conductorState(b *apitest.Bench, host string) string {
	for _, k := range b.Get("/temper/v1/conductors").Is(200)["conductors"].([]any) {
		if k := k.(map[string]any); k["hostname"] == host {
			return k["state"].(string)
		}
	}
	return ""
}

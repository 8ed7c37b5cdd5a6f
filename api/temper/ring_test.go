package temper_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/coverage"
)

// writeEpoch computes and writes the next epoch, as a reconciliation does.
func writeEpoch(b *apitest.Bench) {
	b.T.Helper()
	f, err := b.Store.Fleet(b.T.Context())
	require.NoError(b.T, err)
	next := coverage.Epoch{Read: f.Epoch, Changes: f.Changes}
	for _, c := range f.Members {
		next.Members = append(next.Members, c.ID)
	}
	for _, r := range coverage.Rings(f) {
		var needs []int64
		for _, d := range r.Requirements {
			needs = append(needs, d.ID)
		}
		nodes, err := b.Store.RingNodes(b.T.Context(), needs)
		require.NoError(b.T, err)
		moves, _ := r.Next(nodes)
		for _, m := range moves {
			next.Nodes, next.Owners = append(next.Nodes, m.Node.ID), append(next.Owners, m.To)
		}
		next.Rings = append(next.Rings, coverage.RingState{Group: r.Group, Driver: r.Driver, Covers: r.Covers})
	}
	_, err = b.Store.WriteEpoch(b.T.Context(), next)
	require.NoError(b.T, err)
}

// owners returns how many nodes each conductor owns, from GET /temper/v1/ring.
func owners(b *apitest.Bench, query string) map[any]int {
	b.T.Helper()
	out := map[any]int{}
	for _, o := range b.Get("/temper/v1/ring" + query).Is(200)["owners"].([]any) {
		out[o.(map[string]any)["conductor"]]++
	}
	return out
}

func TestTheRingTellsWhoOwnsWhat(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for i := range 10 {
		b.Enrolled(fmt.Sprintf("n%d", i))
	}
	require.Equal(t, 10, owners(b, "")["c1"]+owners(b, "")["c2"], "before the first epoch, too")
	writeEpoch(b)
	require.EqualValues(t, 1, b.Get("/temper/v1/ring").Is(200)["epoch"])
	require.Equal(t, map[any]int{"c1": 5, "c2": 5}, owners(b, "?driver=fake-hardware&conductor_group="))
	require.Empty(t, owners(b, "?driver=redfish"))
	first := b.Get("/temper/v1/ring?limit=7").Is(200)
	require.Len(t, first["owners"], 7)
	require.Contains(t, first["next"], "marker=")

	b.Kill("c1")
	require.Equal(t, map[any]int{"c2": 10}, owners(b, ""), "a dead one is never named, whatever the epoch says")
	n := b.Get("/v1/nodes/n3?fields=conductor").Is(200)
	require.Equal(t, "c2", n["conductor"])
	require.Len(t, b.Get("/v1/nodes?conductor=c2").Is(200)["nodes"], 10)
	require.Empty(t, b.Get("/v1/nodes?conductor=c1").Is(200)["nodes"])
	b.Kill("c2")
	require.Equal(t, map[any]int{nil: 10}, owners(b, ""))
}

func TestTheRingTellsWhoOwnsANode(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	b.Enrolled("n2")
	writeEpoch(b)
	for _, ident := range []string{"n1", uuid} {
		a := b.Get("/temper/v1/ring?node=" + ident).Is(200)
		require.Nil(t, a["next"])
		require.Len(t, a["owners"], 1)
		o := a["owners"].([]any)[0].(map[string]any)
		require.Equal(t, []any{"n1", b.Field(uuid, "conductor")}, []any{o["node_name"], o["conductor"]})
	}
	b.Get("/temper/v1/ring?node=n9").Fails(404)
	require.Contains(t, b.Get("/temper/v1/ring?node=n1&driver=redfish").Fails(400), "exclude each other")
}

func TestTheNodesOfAConductorAreThoseOfTheRing(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for i := range 6 {
		b.Enrolled(fmt.Sprintf("n%d", i))
	}
	writeEpoch(b)
	b.Enrolled("new")
	c1, c2 := b.Get("/v1/nodes?conductor=c1").Is(200)["nodes"].([]any), b.Get("/v1/nodes?conductor=c2").Is(200)["nodes"].([]any)
	require.Equal(t, 7, len(c1)+len(c2), "one that came since is somebody's")
	require.GreaterOrEqual(t, len(c1), 3)
	require.GreaterOrEqual(t, len(c2), 3)
}

func TestWhatIfTouchesNothing(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for i := range 8 {
		b.Enrolled(fmt.Sprintf("n%d", i))
	}
	b.Conductor("r1", "rack", "fake-hardware")
	for i := range 3 {
		b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": fmt.Sprintf("r%d", i), "conductor_group": "rack"}).Is(201)
	}
	writeEpoch(b)
	got := b.Get("/temper/v1/ring/what-if?without=c1,r1").Is(200)
	require.EqualValues(t, 4, got["moved"])
	require.EqualValues(t, 3, got["quarantined"])
	require.Equal(t, map[string]any{"c2": 4.0}, got["gains"])
	require.Len(t, got["moves"], 4)
	var names []any
	for _, q := range got["quarantines"].([]any) {
		names = append(names, q.(map[string]any)["node_name"])
		require.Equal(t, map[string]any{"from": "r1", "to": nil}, without(without(q.(map[string]any), "node_uuid"), "node_name"))
	}
	require.ElementsMatch(t, []any{"r0", "r1", "r2"}, names)
	got = b.Get("/temper/v1/ring/what-if?without=c1,r1&conductor_group=rack").Is(200)
	require.EqualValues(t, 0, got["moved"])
	require.EqualValues(t, 3, got["quarantined"])
	require.Equal(t, map[any]int{"c1": 4, "c2": 4, "r1": 3}, owners(b, ""))
	require.EqualValues(t, 1, b.Get("/temper/v1/ring").Is(200)["epoch"])
	require.Contains(t, b.Get("/temper/v1/ring/what-if?without=c9").Fails(404), "Conductor c9 could not be found.")
	b.Get("/temper/v1/ring/what-if").Fails(400)
}

func without(m map[string]any, key string) map[string]any {
	delete(m, key)
	return m
}

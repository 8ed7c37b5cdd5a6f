package ironic_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestAllocationsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n1", "gold")
	taken := allocate(b, map[string]any{"resource_class": "gold", "name": "web"})["uuid"]
	for name, c := range map[string]struct {
		body   any
		status int
		words  string
	}{
		"no class":                {map[string]any{}, 400, "The resource_class field is mandatory when not backfilling"},
		"a class too long":        {map[string]any{"resource_class": fmt.Sprintf("%081d", 1)}, 400, "resource_class"},
		"a bad name":              {map[string]any{"resource_class": "gold", "name": "a b"}, 400, "Cannot create allocation with invalid name 'a b'"},
		"a uuid for a name":       {map[string]any{"resource_class": "gold", "name": uuid.NewString()}, 400, "Cannot create allocation with invalid name"},
		"a name that is taken":    {map[string]any{"resource_class": "gold", "name": "web"}, 409, "An allocation with name web already exists."},
		"a uuid that is taken":    {map[string]any{"resource_class": "gold", "uuid": taken}, 409, fmt.Sprintf("An allocation with UUID %s already exists.", taken)},
		"a uuid that is none":     {map[string]any{"resource_class": "gold", "uuid": "web"}, 400, "Expected UUID for uuid: web"},
		"a trait that is none":    {map[string]any{"resource_class": "gold", "traits": []string{"gold"}}, 400, "is not a trait"},
		"traits that are no list": {map[string]any{"resource_class": "gold", "traits": "CUSTOM_A"}, 400, "traits"},
		"an unknown candidate":    {map[string]any{"resource_class": "gold", "candidate_nodes": []string{"n1", "n7", "n8"}}, 400, "Nodes cannot be found: n7, n8"},
		"an unknown node":         {map[string]any{"node": "n7"}, 400, "Node n7 could not be found."},
		"an unknown field":        {map[string]any{"resource_class": "gold", "colour": 1}, 400, "colour"},
		"a field not for clients": {map[string]any{"resource_class": "gold", "state": "active"}, 400, "state"},
		"a list":                  {[]string{}, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			require.Contains(t, b.Post("/v1/allocations", c.body).Fails(c.status), c.words)
		})
	}
	b.T = t
	b.Get("/v1/allocations?node=n7").Fails(400)
	b.Get("/v1/allocations?sort_key=traits").Fails(400)
	b.Get("/v1/allocations?sort_key=colour").Fails(400)
	b.Get("/v1/allocations?fields=colour").Fails(400)
	b.Get("/v1/allocations?marker=web").Fails(400)
	b.Get("/v1/allocations?marker=" + uuid.NewString()).Fails(404)
	b.Get("/v1/nodes/n7/allocation").Fails(404)
	b.Delete("/v1/nodes/n7/allocation").Fails(404)
	b.Get("/v1/allocations/a%20b").Fails(400)
	failed := allocate(b, map[string]any{"resource_class": "gold"})
	require.Equal(t, "error", failed["state"])
	require.Equal(t, fmt.Sprintf("Failed to process allocation %s: no available nodes match the resource class gold (1 of class gold: 1 in use)", failed["uuid"]), failed["last_error"])
	b.Delete("/v1/allocations/" + failed["uuid"].(string)).Is(204)
}

func TestBackfill(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := offeredNode(b, "n1", "gold", "CUSTOM_A")
	instance := uuid.NewString()
	require.Contains(t, b.Post("/v1/allocations", map[string]any{"node": "n1"}).Fails(409), `Node must be in the "active" state, but the current state is "available"`)
	b.MoveTo(n1, node.Active)
	b.SQL(`UPDATE nodes SET instance_uuid = $2 WHERE uuid = $1`, n1, instance)
	require.Contains(t, b.Post("/v1/allocations", map[string]any{"node": "n1", "uuid": uuid.NewString()}).Fails(409), "is associated with instance "+instance)
	require.Contains(t, b.Post("/v1/allocations", map[string]any{"node": "n1", "resource_class": "tin"}).Fails(409), "does not match the requested resource class tin")
	require.Contains(t, b.Post("/v1/allocations", map[string]any{"node": "n1", "traits": []string{"CUSTOM_B"}}).Fails(409), "does not match the requested traits")
	a := b.Post("/v1/allocations", map[string]any{"node": "n1", "traits": []string{"CUSTOM_A"}, "name": "old"}).Is(201)
	require.Equal(t, "active", b.Last.Header.Get("Temper-Allocation"))
	require.Equal(t, []any{"active", instance, "gold", n1}, []any{a["state"], a["uuid"], a["resource_class"], a["node_uuid"]})
	require.Equal(t, instance, b.Field("n1", "allocation_uuid"))
	b.Post("/v1/allocations", map[string]any{"node": "n1"}).Fails(409)
	n2 := offeredNode(b, "n2", "gold")
	b.MoveTo(n2, node.Active)
	fresh := b.Post("/v1/allocations", map[string]any{"node": "n2"}).Is(201)
	require.Equal(t, fresh["uuid"], b.Field("n2", "instance_uuid"))
}

func TestDedicatedNodes(t *testing.T) {
	t.Parallel()
	for dedicated, want := range map[bool]int{true: 1, false: 2} {
		b := apitest.New(t, func(c *api.Config) { c.DedicatedNodes = dedicated }).WithConductors()
		offeredNode(b, "n1", "gold")
		offeredNode(b, "n2", "gold")
		b.Patch("/v1/nodes/n1", apitest.Add("/owner", "p1")).Is(200)
		require.Len(t, b.Get("/temper/v1/nodes/available").Is(200)["nodes"], want)
		require.Len(t, b.Get("/temper/v1/nodes/available?owner=p1").Is(200)["nodes"], 1)
		states := []any{}
		for range 2 {
			states = append(states, allocate(b, map[string]any{"resource_class": "gold"})["state"])
		}
		require.Equal(t, []any{"active", map[bool]any{true: "error", false: "active"}[dedicated]}, states)
		if dedicated {
			require.Equal(t, "active", allocate(b, map[string]any{"resource_class": "gold", "candidate_nodes": []string{"n1"}})["state"])
		}
	}
}

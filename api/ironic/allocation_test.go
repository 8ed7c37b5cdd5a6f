package ironic_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// offeredNode makes a node that an allocation may get, and returns its uuid.
func offeredNode(b *apitest.Bench, name, class string, traits ...string) string {
	b.T.Helper()
	id := b.In(name, node.Available)
	b.SQL(`UPDATE nodes SET resource_class = $2, power_state = 'power off', traits = $3 WHERE uuid = $1`, id, class, append([]string{}, traits...))
	return id
}

// allocate creates an allocation and returns it as GET shows it then.
func allocate(b *apitest.Bench, body map[string]any) map[string]any {
	b.T.Helper()
	made := b.Post("/v1/allocations", body).Is(201)
	require.Equal(b.T, []any{"allocating", nil, nil}, []any{made["state"], made["node_uuid"], made["last_error"]})
	require.Equal(b.T, "http://temper.test:6385/v1/allocations/"+made["uuid"].(string), b.Last.Header.Get("Location"))
	decided := b.Last.Header.Get("Temper-Allocation")
	a := b.Get("/v1/allocations/" + made["uuid"].(string)).Is(200)
	require.Equal(b.T, decided, a["state"])
	return a
}

func TestAllocationFromRequestToDelete(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := offeredNode(b, "n1", "gold", "CUSTOM_A", "CUSTOM_B")
	offeredNode(b, "n2", "tin")
	a := allocate(b, map[string]any{
		"resource_class": "gold", "name": "web", "traits": []string{"CUSTOM_A"}, "candidate_nodes": []string{"n2", n1, "n1"}, "extra": map[string]any{"k": 1},
	})
	id := a["uuid"].(string)
	n2 := b.Field("n2", "uuid")
	require.Equal(t, []any{"active", n1, "web", nil, []any{"CUSTOM_A"}, []any{n2, n1}, nil, map[string]any{"k": 1.0}, nil},
		[]any{a["state"], a["node_uuid"], a["name"], a["last_error"], a["traits"], a["candidate_nodes"], a["owner"], a["extra"], a["updated_at"]})
	n := b.Get("/v1/nodes/n1").Is(200)
	require.Equal(t, []any{id, id, map[string]any{"traits": []any{"CUSTOM_A"}}}, []any{n["instance_uuid"], n["allocation_uuid"], n["instance_info"]})

	for path, want := range map[string]int{
		"": 1, "?node=n1": 1, "?node=" + n1: 1, "?node=n2": 0, "?resource_class=gold": 1, "?resource_class=tin": 0, "?state=active": 1,
		"?state=error": 0, "?owner=p1": 0, "?limit=1": 1, "?sort_key=name&sort_dir=desc": 1, "?fields=uuid,name": 1,
	} {
		require.Len(t, b.Get("/v1/allocations" + path).Is(200)["allocations"], want, path)
	}
	require.ElementsMatch(t, []string{"uuid", "name", "links"}, slices.Collect(maps.Keys(b.Get("/v1/allocations/web?fields=uuid,name").Is(200))))
	require.Equal(t, id, b.Get("/v1/nodes/n1/allocation").Is(200)["uuid"])
	require.Contains(t, b.Get("/v1/nodes/n2/allocation").Fails(404), "Allocation for node n2 was not found")

	changed := b.Patch("/v1/allocations/web", apitest.Replace("/name", "db"), apitest.Add("/extra/l", 2)).Is(200)
	require.Equal(t, []any{"db", map[string]any{"k": 1.0, "l": 2.0}}, []any{changed["name"], changed["extra"]})
	require.NotNil(t, changed["updated_at"])
	require.Nil(t, b.Patch("/v1/allocations/db", apitest.Remove("/name")).Is(200)["name"])
	require.Contains(t, b.Patch("/v1/allocations/"+id, apitest.Replace("/state", "error")).Fails(400), "Cannot patch /state. Only the following can be updated: extra, name")
	require.Contains(t, b.Patch("/v1/allocations/"+id, apitest.Replace("/name", "a b")).Fails(400), "Cannot update allocation with invalid name 'a b'")

	b.Delete("/v1/allocations/" + id).Is(204)
	b.Get("/v1/allocations/" + id).Fails(404)
	require.Equal(t, "Allocation "+id+" could not be found.", b.Delete("/v1/allocations/"+id).Fails(404))
	n = b.Get("/v1/nodes/n1").Is(200)
	require.Equal(t, []any{nil, nil, map[string]any{}}, []any{n["instance_uuid"], n["allocation_uuid"], n["instance_info"]})
}

// Versions as in Ironic's webapi history: allocations 1.52, PATCH 1.57,
// backfill 1.58, owner 1.60.
func TestAllocationsByVersion(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n1", "gold")
	id := allocate(b, map[string]any{"resource_class": "gold"})["uuid"].(string)
	require.NotContains(t, b.At(51, "GET", "/v1", nil).Is(200), "allocations")
	require.Contains(t, b.At(52, "GET", "/v1", nil).Is(200), "allocations")
	for _, path := range []string{"/v1/allocations", "/v1/allocations/" + id, "/v1/nodes/n1/allocation"} {
		b.At(51, "GET", path, nil).Fails(404)
		b.At(52, "GET", path, nil).Is(200)
	}
	b.At(51, "POST", "/v1/allocations", map[string]any{"resource_class": "gold"}).Fails(405)
	b.At(51, "DELETE", "/v1/allocations/"+id, nil).Fails(405)
	b.At(51, "DELETE", "/v1/nodes/n1/allocation", nil).Fails(404)
	b.At(56, "PATCH", "/v1/allocations/"+id, []apitest.Op{apitest.Replace("/name", "a")}).Fails(405)
	b.At(57, "PATCH", "/v1/allocations/"+id, []apitest.Op{apitest.Replace("/name", "a")}).Is(200)
	require.Equal(t, "Cannot set node when creating an allocation in this API version", b.At(57, "POST", "/v1/allocations", map[string]any{"node": "n1"}).Fails(400))
	b.At(58, "POST", "/v1/allocations", map[string]any{"node": "n1"}).Fails(409)
	b.At(59, "POST", "/v1/allocations", map[string]any{"resource_class": "gold", "owner": "p"}).Fails(406)
	b.At(59, "GET", "/v1/allocations?owner=p", nil).Fails(406)
	b.At(59, "GET", "/v1/allocations?fields=owner", nil).Fails(406)
	require.NotContains(t, b.At(59, "GET", "/v1/allocations/a", nil).Is(200), "owner")
	require.Contains(t, b.At(60, "GET", "/v1/allocations/a", nil).Is(200), "owner")
	b.At(51, "GET", "/v1/nodes?fields=allocation_uuid", nil).Fails(406)
}

func TestAnAllocationInUseStays(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := offeredNode(b, "n1", "gold")
	id := allocate(b, map[string]any{"resource_class": "gold"})["uuid"].(string)
	b.MoveTo(n1, node.Active)
	for _, path := range []string{"/v1/allocations/" + id, "/v1/nodes/n1/allocation"} {
		require.Equal(t, "Cannot remove allocation "+id+" for node "+n1+", because the node is active (and maintenance mode is off)", b.Delete(path).Fails(409))
	}
	require.Contains(t, b.Patch("/v1/nodes/n1", apitest.Remove("/instance_uuid")).Fails(409), "with an allocation can not have instance_uuid removed")
	b.Put("/v1/nodes/n1/maintenance", nil).Is(202)
	b.Delete("/v1/nodes/n1/allocation").Is(204)
	b.Get("/v1/allocations/" + id).Fails(404)
	require.Equal(t, []any{nil, id}, []any{b.Field("n1", "allocation_uuid"), b.Field("n1", "instance_uuid")}, "it is still on the node")
	gone := b.Get("/temper/v1/instances?wanted=absent").Is(200)["instances"].([]any)[0].(map[string]any)
	require.Equal(t, []any{id, n1, true}, []any{gone["uuid"], gone["node_uuid"], gone["orphaned"]})
	b.Patch("/v1/nodes/n1", apitest.Remove("/instance_uuid")).Is(200)

	n2 := offeredNode(b, "n2", "gold")
	id = allocate(b, map[string]any{"resource_class": "gold"})["uuid"].(string)
	b.MoveTo(n2, node.Deploying)
	require.Contains(t, b.Delete("/v1/allocations/"+id).Fails(409), "is locked by host")
	b.MoveTo(offeredNode(b, "n3", "gold"), node.Available)
	other := allocate(b, map[string]any{"resource_class": "gold"})["uuid"].(string)
	b.Patch("/v1/nodes/n3", apitest.Remove("/instance_uuid")).Is(200)
	b.Get("/v1/allocations/" + other).Fails(404)
	require.Nil(t, b.Field("n3", "allocation_uuid"))
}

func TestADeployInMaintenanceOnPurpose(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	const trait = "CUSTOM_MAINTENANCE"
	n1 := offeredNode(b, "n1", "gold")
	deploy := func(status int) string {
		a := b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"})
		if status == 202 {
			a.Is(202)
			return ""
		}
		return a.Fails(status)
	}
	for _, r := range []*apitest.Answer{
		b.Put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_A", trait}}), b.Put("/v1/nodes/n1/traits/"+trait, nil),
	} {
		require.Contains(t, r.Fails(400), trait+" can not be set")
	}
	b.Put("/v1/nodes/n1/maintenance", map[string]any{"reason": "disk swap"}).Is(202)
	require.Equal(t, []any{}, b.Get("/v1/nodes/n1/traits").Is(200)["traits"], "it is computed")
	refused := "The provisioning operation can't be performed on node " + n1 + " because it's in maintenance mode."
	require.Equal(t, refused, deploy(400))

	// The node was allocated before its maintenance, or without the trait: refused, whatever instance_info has.
	b.Delete("/v1/nodes/n1/maintenance").Is(202)
	plain := allocate(b, map[string]any{"resource_class": "gold", "candidate_nodes": []string{"n1"}})["uuid"].(string)
	b.Put("/v1/nodes/n1/maintenance", nil).Is(202)
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/traits", []string{trait})).Is(200)
	require.Equal(t, refused, deploy(400))
	b.Delete("/v1/allocations/" + plain).Is(204)

	a := allocate(b, map[string]any{"resource_class": "gold", "candidate_nodes": []string{"n1"}, "traits": []string{trait}})
	require.Equal(t, "active", a["state"], a["last_error"])
	require.Equal(t, true, b.Get("/v1/nodes/n1/validate").Is(200)["deploy"].(map[string]any)["result"])
	b.SQL(`UPDATE nodes SET fault = 'power failure' WHERE uuid = $1`, n1)
	require.Equal(t, refused, deploy(400))
	b.SQL(`UPDATE nodes SET fault = NULL WHERE uuid = $1`, n1)
	require.Equal(t, refused, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "rebuild"}).Fails(400))
	deploy(202)
	require.Equal(t, true, b.Field("n1", "maintenance"), "it stays until an operator lifts it")

	// If maintenance was ended meanwhile, the instance's trait does no harm.
	offeredNode(b, "n2", "tin")
	b.Put("/v1/nodes/n2/maintenance", nil).Is(202)
	allocate(b, map[string]any{"resource_class": "tin", "candidate_nodes": []string{"n2"}, "traits": []string{trait}})
	b.Delete("/v1/nodes/n2/maintenance").Is(202)
	b.Put("/v1/nodes/n2/states/provision", map[string]any{"target": "active"}).Is(202)
}

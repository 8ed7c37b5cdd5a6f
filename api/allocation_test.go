package api_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// offered makes a node that an allocation may get.
func (b *bench) offered(name, class string, traits ...string) string {
	b.t.Helper()
	id := b.in(name, node.Available)
	b.sql(`UPDATE nodes SET resource_class = $2, power_state = 'power off', traits = $3 WHERE uuid = $1`, id, class, append([]string{}, traits...))
	return id
}

// allocated asks for a node and gives the allocation as it stands then.
func (b *bench) allocated(body map[string]any) map[string]any {
	b.t.Helper()
	made := b.post("/v1/allocations", body).is(201)
	require.Contains(b.t, []any{"allocating", "active"}, made["state"])
	require.Nil(b.t, made["last_error"])
	require.Equal(b.t, "http://temper.test:6385/v1/allocations/"+made["uuid"].(string), b.last.header.Get("Location"))
	return b.get("/v1/allocations/" + made["uuid"].(string)).is(200)
}

func TestAllocationFromRequestToDelete(t *testing.T) {
	b := newBench(t).withConductors()
	n1 := b.offered("n1", "gold", "CUSTOM_A", "CUSTOM_B")
	b.offered("n2", "tin")
	a := b.allocated(map[string]any{
		"resource_class": "gold", "name": "web", "traits": []string{"CUSTOM_A"}, "candidate_nodes": []string{"n2", n1, "n1"}, "extra": map[string]any{"k": 1},
	})
	id := a["uuid"].(string)
	n2 := b.field("n2", "uuid")
	require.Equal(t, []any{"active", n1, "web", nil, []any{"CUSTOM_A"}, []any{n2, n1}, nil, map[string]any{"k": 1.0}, nil},
		[]any{a["state"], a["node_uuid"], a["name"], a["last_error"], a["traits"], a["candidate_nodes"], a["owner"], a["extra"], a["updated_at"]})
	n := b.get("/v1/nodes/n1").is(200)
	require.Equal(t, []any{id, id, map[string]any{"traits": []any{"CUSTOM_A"}}}, []any{n["instance_uuid"], n["allocation_uuid"], n["instance_info"]})

	for path, want := range map[string]int{
		"": 1, "?node=n1": 1, "?node=" + n1: 1, "?node=n2": 0, "?resource_class=gold": 1, "?resource_class=tin": 0, "?state=active": 1,
		"?state=error": 0, "?owner=p1": 0, "?limit=1": 1, "?sort_key=name&sort_dir=desc": 1, "?fields=uuid,name": 1,
	} {
		require.Len(t, b.get("/v1/allocations" + path).is(200)["allocations"], want, path)
	}
	require.ElementsMatch(t, []string{"uuid", "name", "links"}, keys(b.get("/v1/allocations/web?fields=uuid,name").is(200)))
	require.Equal(t, id, b.get("/v1/nodes/n1/allocation").is(200)["uuid"])
	require.Contains(t, b.get("/v1/nodes/n2/allocation").fails(404), "Allocation for node n2 was not found")

	changed := b.patch("/v1/allocations/web", replace("/name", "db"), add("/extra/l", 2)).is(200)
	require.Equal(t, []any{"db", map[string]any{"k": 1.0, "l": 2.0}}, []any{changed["name"], changed["extra"]})
	require.NotNil(t, changed["updated_at"])
	require.Nil(t, b.patch("/v1/allocations/db", remove("/name")).is(200)["name"])
	require.Contains(t, b.patch("/v1/allocations/"+id, replace("/state", "error")).fails(400), "Cannot patch /state. Only the following can be updated: extra, name")
	require.Contains(t, b.patch("/v1/allocations/"+id, replace("/name", "a b")).fails(400), "Cannot update allocation with invalid name 'a b'")

	b.delete("/v1/allocations/" + id).is(204)
	b.get("/v1/allocations/" + id).fails(404)
	require.Equal(t, "Allocation "+id+" could not be found.", b.delete("/v1/allocations/"+id).fails(404))
	n = b.get("/v1/nodes/n1").is(200)
	require.Equal(t, []any{nil, nil, map[string]any{}}, []any{n["instance_uuid"], n["allocation_uuid"], n["instance_info"]})
}

func TestAllocationsThatAreRefused(t *testing.T) {
	b := newBench(t).withConductors()
	b.offered("n1", "gold")
	taken := b.allocated(map[string]any{"resource_class": "gold", "name": "web"})["uuid"]
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
			b.t = t
			require.Contains(t, b.post("/v1/allocations", c.body).fails(c.status), c.words)
		})
	}
	b.t = t
	b.get("/v1/allocations?node=n7").fails(400)
	b.get("/v1/allocations?sort_key=traits").fails(400)
	b.get("/v1/allocations?sort_key=colour").fails(400)
	b.get("/v1/allocations?fields=colour").fails(400)
	b.get("/v1/allocations?marker=web").fails(400)
	b.get("/v1/allocations?marker=" + uuid.NewString()).fails(404)
	b.get("/v1/nodes/n7/allocation").fails(404)
	b.delete("/v1/nodes/n7/allocation").fails(404)
	b.get("/v1/allocations/a%20b").fails(400)
	failed := b.allocated(map[string]any{"resource_class": "gold"})
	require.Equal(t, "error", failed["state"])
	require.Equal(t, fmt.Sprintf("Failed to process allocation %s: no available nodes match the resource class gold (1 of class gold: 1 in use)", failed["uuid"]), failed["last_error"])
	b.delete("/v1/allocations/" + failed["uuid"].(string)).is(204)
}

// Versions as in Ironic's webapi history: allocations 1.52, PATCH 1.57,
// backfill 1.58, owner 1.60.
func TestAllocationsByVersion(t *testing.T) {
	b := newBench(t).withConductors()
	b.offered("n1", "gold")
	id := b.allocated(map[string]any{"resource_class": "gold"})["uuid"].(string)
	require.NotContains(t, b.at(51, "GET", "/v1", nil).is(200), "allocations")
	require.Contains(t, b.at(52, "GET", "/v1", nil).is(200), "allocations")
	for _, path := range []string{"/v1/allocations", "/v1/allocations/" + id, "/v1/nodes/n1/allocation"} {
		b.at(51, "GET", path, nil).fails(404)
		b.at(52, "GET", path, nil).is(200)
	}
	b.at(51, "POST", "/v1/allocations", map[string]any{"resource_class": "gold"}).fails(405)
	b.at(51, "DELETE", "/v1/allocations/"+id, nil).fails(405)
	b.at(51, "DELETE", "/v1/nodes/n1/allocation", nil).fails(404)
	b.at(56, "PATCH", "/v1/allocations/"+id, []op{replace("/name", "a")}).fails(405)
	b.at(57, "PATCH", "/v1/allocations/"+id, []op{replace("/name", "a")}).is(200)
	require.Equal(t, "Cannot set node when creating an allocation in this API version", b.at(57, "POST", "/v1/allocations", map[string]any{"node": "n1"}).fails(400))
	b.at(58, "POST", "/v1/allocations", map[string]any{"node": "n1"}).fails(409)
	b.at(59, "POST", "/v1/allocations", map[string]any{"resource_class": "gold", "owner": "p"}).fails(406)
	b.at(59, "GET", "/v1/allocations?owner=p", nil).fails(406)
	b.at(59, "GET", "/v1/allocations?fields=owner", nil).fails(406)
	require.NotContains(t, b.at(59, "GET", "/v1/allocations/a", nil).is(200), "owner")
	require.Contains(t, b.at(60, "GET", "/v1/allocations/a", nil).is(200), "owner")
	b.at(51, "GET", "/v1/nodes?fields=allocation_uuid", nil).fails(406)
}

func TestAnAllocationInUseStays(t *testing.T) {
	b := newBench(t).withConductors()
	n1 := b.offered("n1", "gold")
	id := b.allocated(map[string]any{"resource_class": "gold"})["uuid"].(string)
	b.moveTo(n1, node.Active)
	for _, path := range []string{"/v1/allocations/" + id, "/v1/nodes/n1/allocation"} {
		require.Equal(t, "Cannot remove allocation "+id+" for node "+n1+", because the node is active (and maintenance mode is off)", b.delete(path).fails(409))
	}
	require.Contains(t, b.patch("/v1/nodes/n1", remove("/instance_uuid")).fails(409), "with an allocation can not have instance_uuid removed")
	b.put("/v1/nodes/n1/maintenance", nil).is(202)
	b.delete("/v1/nodes/n1/allocation").is(204)
	b.get("/v1/allocations/" + id).fails(404)
	require.Equal(t, []any{nil, id}, []any{b.field("n1", "allocation_uuid"), b.field("n1", "instance_uuid")}, "it is still on the node")
	gone := b.get("/temper/v1/instances?wanted=absent").is(200)["instances"].([]any)[0].(map[string]any)
	require.Equal(t, []any{id, n1, true}, []any{gone["uuid"], gone["node_uuid"], gone["orphaned"]})
	b.patch("/v1/nodes/n1", remove("/instance_uuid")).is(200)

	n2 := b.offered("n2", "gold")
	id = b.allocated(map[string]any{"resource_class": "gold"})["uuid"].(string)
	b.moveTo(n2, node.Deploying)
	require.Contains(t, b.delete("/v1/allocations/"+id).fails(409), "is locked by host")
	b.moveTo(b.offered("n3", "gold"), node.Available)
	other := b.allocated(map[string]any{"resource_class": "gold"})["uuid"].(string)
	b.patch("/v1/nodes/n3", remove("/instance_uuid")).is(200)
	b.get("/v1/allocations/" + other).fails(404)
	require.Nil(t, b.field("n3", "allocation_uuid"))
}

func TestBackfill(t *testing.T) {
	b := newBench(t).withConductors()
	n1 := b.offered("n1", "gold", "CUSTOM_A")
	instance := uuid.NewString()
	require.Contains(t, b.post("/v1/allocations", map[string]any{"node": "n1"}).fails(409), `Node must be in the "active" state, but the current state is "available"`)
	b.moveTo(n1, node.Active)
	b.sql(`UPDATE nodes SET instance_uuid = $2 WHERE uuid = $1`, n1, instance)
	require.Contains(t, b.post("/v1/allocations", map[string]any{"node": "n1", "uuid": uuid.NewString()}).fails(409), "is associated with instance "+instance)
	require.Contains(t, b.post("/v1/allocations", map[string]any{"node": "n1", "resource_class": "tin"}).fails(409), "does not match the requested resource class tin")
	require.Contains(t, b.post("/v1/allocations", map[string]any{"node": "n1", "traits": []string{"CUSTOM_B"}}).fails(409), "does not match the requested traits")
	a := b.post("/v1/allocations", map[string]any{"node": "n1", "traits": []string{"CUSTOM_A"}, "name": "old"}).is(201)
	require.Equal(t, []any{"active", instance, "gold", n1}, []any{a["state"], a["uuid"], a["resource_class"], a["node_uuid"]})
	require.Equal(t, instance, b.field("n1", "allocation_uuid"))
	b.post("/v1/allocations", map[string]any{"node": "n1"}).fails(409)
	n2 := b.offered("n2", "gold")
	b.moveTo(n2, node.Active)
	fresh := b.post("/v1/allocations", map[string]any{"node": "n2"}).is(201)
	require.Equal(t, fresh["uuid"], b.field("n2", "instance_uuid"))
}

func TestADeployInMaintenanceOnPurpose(t *testing.T) {
	b := newBench(t).withConductors()
	const trait = "CUSTOM_MAINTENANCE"
	n1 := b.offered("n1", "gold")
	deploy := func(status int) string {
		a := b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"})
		if status == 202 {
			a.is(202)
			return ""
		}
		return a.fails(status)
	}
	for _, r := range []*answer{
		b.put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_A", trait}}), b.put("/v1/nodes/n1/traits/"+trait, nil),
	} {
		require.Contains(t, r.fails(400), trait+" can not be set")
	}
	b.put("/v1/nodes/n1/maintenance", map[string]any{"reason": "disk swap"}).is(202)
	require.Equal(t, []any{}, b.get("/v1/nodes/n1/traits").is(200)["traits"], "it is computed")
	refused := "The provisioning operation can't be performed on node " + n1 + " because it's in maintenance mode."
	require.Equal(t, refused, deploy(400))

	// Given before the maintenance, or without the trait: refused, whatever instance_info says.
	b.delete("/v1/nodes/n1/maintenance").is(202)
	plain := b.allocated(map[string]any{"resource_class": "gold", "candidate_nodes": []string{"n1"}})["uuid"].(string)
	b.put("/v1/nodes/n1/maintenance", nil).is(202)
	b.patch("/v1/nodes/n1", add("/instance_info/traits", []string{trait})).is(200)
	require.Equal(t, refused, deploy(400))
	b.delete("/v1/allocations/" + plain).is(204)

	a := b.allocated(map[string]any{"resource_class": "gold", "candidate_nodes": []string{"n1"}, "traits": []string{trait}})
	require.Equal(t, "active", a["state"], a["last_error"])
	require.Equal(t, true, b.get("/v1/nodes/n1/validate").is(200)["deploy"].(map[string]any)["result"])
	b.sql(`UPDATE nodes SET fault = 'power failure' WHERE uuid = $1`, n1)
	require.Equal(t, refused, deploy(400))
	b.sql(`UPDATE nodes SET fault = NULL WHERE uuid = $1`, n1)
	require.Equal(t, refused, b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "rebuild"}).fails(400))
	deploy(202)
	require.Equal(t, true, b.field("n1", "maintenance"), "it stays until an operator lifts it")

	// Lifted meanwhile, the trait of the instance is still fine.
	b.offered("n2", "tin")
	b.put("/v1/nodes/n2/maintenance", nil).is(202)
	b.allocated(map[string]any{"resource_class": "tin", "candidate_nodes": []string{"n2"}, "traits": []string{trait}})
	b.delete("/v1/nodes/n2/maintenance").is(202)
	b.put("/v1/nodes/n2/states/provision", map[string]any{"target": "active"}).is(202)
}

func TestDedicatedNodes(t *testing.T) {
	for dedicated, want := range map[bool]int{true: 1, false: 2} {
		b := newBench(t, func(c *config) { c.DedicatedNodes = dedicated }).withConductors()
		b.offered("n1", "gold")
		b.offered("n2", "gold")
		b.patch("/v1/nodes/n1", add("/owner", "p1")).is(200)
		require.Len(t, b.get("/temper/v1/nodes/available").is(200)["nodes"], want)
		require.Len(t, b.get("/temper/v1/nodes/available?owner=p1").is(200)["nodes"], 1)
		states := []any{}
		for range 2 {
			states = append(states, b.allocated(map[string]any{"resource_class": "gold"})["state"])
		}
		require.Equal(t, []any{"active", map[bool]any{true: "error", false: "active"}[dedicated]}, states)
		if dedicated {
			require.Equal(t, "active", b.allocated(map[string]any{"resource_class": "gold", "candidate_nodes": []string{"n1"}})["state"])
		}
	}
}

func TestANodeDoesNotMoveWithAnothersInstance(t *testing.T) {
	b := newBench(t, func(c *config) { c.AutomaticLessee = true }).withConductors()
	b.offered("n1", "gold")
	b.patch("/v1/nodes/n1", add("/owner", "p1")).is(200)
	b.patch("/v1/nodes/n1", add("/owner", "p2")).is(200)
	require.Equal(t, "error", b.allocated(map[string]any{"resource_class": "gold", "owner": "p1"})["state"])
	require.Equal(t, "active", b.allocated(map[string]any{"resource_class": "gold", "owner": "p2"})["state"])
	for name, change := range map[string]op{"another owner": add("/owner", "p1"), "nobody": remove("/owner"), "another lessee": add("/lessee", "p1")} {
		require.Contains(t, b.patch("/v1/nodes/n1", change).fails(409), `while instance`, name)
	}
	b.patch("/v1/nodes/n1", add("/lessee", "p2")).is(200)
	b.patch("/v1/nodes/n1", add("/owner", "p1")).is(200)
	b.patch("/v1/nodes/n1", remove("/lessee")).fails(409)
	b.delete("/v1/nodes/n1/allocation").is(204)
	b.patch("/v1/nodes/n1", remove("/lessee")).is(200)

	b.offered("n2", "tin")
	b.allocated(map[string]any{"resource_class": "tin"})
	b.patch("/v1/nodes/n2", add("/instance_info/project_id", "p3")).is(200)
	b.put("/v1/nodes/n2/states/provision", map[string]any{"target": "active"}).is(202)
	require.Equal(t, "p3", b.field("n2", "lessee"), "the project of the instance")
	require.Equal(t, true, b.field("n2", "driver_internal_info").(map[string]any)["automatic_lessee"])
	b.patch("/v1/nodes/n2", replace("/lessee", "p1")).fails(409)
}

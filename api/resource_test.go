package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/node"
)

type config = api.Config

func TestPorts(t *testing.T) {
	b := newBench(t).withConductors()
	n1, n2 := b.enrolled("n1"), b.enrolled("n2")
	body := b.post("/v1/ports", map[string]any{
		"node_uuid": n1, "address": "52-54-00-AA-BB-01", "name": "eth0", "extra": map[string]any{"a": 1},
		"local_link_connection": map[string]any{"switch_id": "0A:1B:2C:3D:4E:5F", "port_id": "Eth1", "switch_info": "sw"}, "physical_network": "prov",
	}).is(201)
	id := body["uuid"].(string)
	require.Equal(t, "http://temper.test:6385/v1/ports/"+id, b.last.header.Get("Location"))
	require.Equal(t, "52:54:00:aa:bb:01", body["address"])
	require.Equal(t, "0a:1b:2c:3d:4e:5f", body["local_link_connection"].(map[string]any)["switch_id"])
	require.Equal(t, true, body["pxe_enabled"])
	require.Equal(t, n1, body["node_uuid"])
	for i := 2; i < 5; i++ {
		b.post("/v1/ports", map[string]any{"node_uuid": []string{n1, n2}[i%2], "address": fmt.Sprintf("52:54:00:aa:bb:%02d", i)}).is(201)
	}
	for path, want := range map[string]int{
		"/v1/ports": 4, "/v1/ports/detail": 4, "/v1/ports?node=n1": 3, "/v1/ports?node_uuid=" + n2: 1, "/v1/nodes/n1/ports": 3, "/v1/nodes/n2/ports/detail": 1,
		"/v1/ports?address=52:54:00:AA:BB:01": 1, "/v1/ports?address=52:54:00:00:00:00": 0, "/v1/ports?shard=s1": 0, "/v1/ports?limit=2": 2, "/v1/ports?fields=uuid,extra": 4,
	} {
		require.Len(t, b.get(path).is(200)["ports"], want, path)
	}
	require.ElementsMatch(t, []string{"uuid", "address", "links"}, keys(b.get("/v1/ports").is(200)["ports"].([]any)[0].(map[string]any)))
	require.Equal(t, id, b.get("/v1/ports/eth0").is(200)["uuid"])
	b.at(87, "GET", "/v1/ports/eth0", nil).fails(400)
	for minor, hidden := range map[int]string{17: "internal_info", 18: "pxe_enabled", 23: "portgroup_uuid", 33: "physical_network", 52: "is_smartnic", 87: "name"} {
		require.NotContains(t, b.at(minor, "GET", "/v1/ports/"+id, nil).is(200), hidden)
		require.Contains(t, b.at(minor+1, "GET", "/v1/ports/"+id, nil).is(200), hidden)
	}
	changed := b.patch("/v1/ports/"+id, replace("/pxe_enabled", false), add("/extra/b", 2), remove("/name")).is(200)
	require.Equal(t, false, changed["pxe_enabled"])
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0}, changed["extra"])
	b.delete("/v1/ports/" + id).is(204)
	b.get("/v1/ports/" + id).fails(404)
	b.delete("/v1/ports/" + id).fails(404)
	b.delete("/v1/nodes/n1").is(204)
	require.Len(t, b.get("/v1/ports").is(200)["ports"], 1, "ports go with their node")
}

func TestPortsAreRefused(t *testing.T) {
	b := newBench(t).withConductors()
	n1 := b.enrolled("n1")
	id := b.post("/v1/ports", map[string]any{"node_uuid": n1, "address": mac, "name": "eth0"}).is(201)["uuid"].(string)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
	}{
		"no address":              {map[string]any{"node_uuid": n1}, 400},
		"no node":                 {map[string]any{"address": mac}, 400},
		"a MAC that is none":      {map[string]any{"node_uuid": n1, "address": "52:54:00:zz:00:00"}, 400},
		"a MAC that is short":     {map[string]any{"node_uuid": n1, "address": "52:54:00"}, 400},
		"a MAC that is a number":  {map[string]any{"node_uuid": n1, "address": 5}, 400},
		"a MAC that is taken":     {map[string]any{"node_uuid": n1, "address": strings.ToUpper(mac)}, 409},
		"a name that is taken":    {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "name": "eth0"}, 409},
		"a node nobody knows":     {map[string]any{"node_uuid": uuid.NewString(), "address": "52:54:00:00:00:02"}, 400},
		"a field that is none":    {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "colour": 1}, 400},
		"a port group":            {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "portgroup_uuid": uuid.NewString()}, 400},
		"half a link":             {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "local_link_connection": map[string]any{"port_id": "1"}}, 400},
		"an unknown switch":       {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "local_link_connection": map[string]any{"port_id": "1", "switch_id": "x"}}, 400},
		"a smart NIC without any": {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "is_smartnic": true}, 400},
		"an empty network":        {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "physical_network": ""}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.post("/v1/ports", c.body).fails(c.status)
		})
	}
	b.t = t
	b.at(18, "POST", "/v1/ports", map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "pxe_enabled": true}).fails(406)
	b.at(18, "PATCH", "/v1/ports/"+id, []op{replace("/pxe_enabled", true)}).fails(406)
	b.patch("/v1/ports/"+id, replace("/uuid", uuid.NewString())).fails(400)
	b.patch("/v1/ports/"+id, replace("/node_uuid", uuid.NewString())).fails(400)
	b.patch("/v1/ports/"+id, remove("/address")).fails(400)
	require.Equal(t, "Operation not permitted.", b.get("/v1/ports?node=n1&shard=s").fails(403))
	b.get("/v1/ports?node=nosuch").fails(404)
	b.get("/v1/ports?address=junk").fails(400)

	b.moveTo(n1, node.Active)
	require.Contains(t, b.patch("/v1/ports/"+id, replace("/address", "52:54:00:00:00:03")).fails(409), "Cannot update hardware address for port")
	require.Contains(t, b.patch("/v1/ports/"+id, replace("/pxe_enabled", false)).fails(409), "connectivity attributes")
	b.patch("/v1/ports/"+id, add("/extra/a", 1)).is(200)
	b.put("/v1/nodes/n1/maintenance", nil).is(202)
	b.patch("/v1/ports/"+id, replace("/address", "52:54:00:00:00:03")).is(200)
}

func TestTraits(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	path := "/v1/nodes/n1/traits"
	require.Equal(t, []any{}, b.get(path).is(200)["traits"])
	b.put(path, map[string]any{"traits": []string{"HW_CPU_X86_VMX", "CUSTOM_B", "CUSTOM_A", "CUSTOM_A"}}).is(204)
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"}, b.get(path).is(200)["traits"])
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"}, b.field("n1", "traits"))
	b.put(path+"/CUSTOM_C", nil).is(204)
	require.Contains(t, b.last.header.Get("Location"), "/v1/nodes/n1/traits/CUSTOM_C")
	b.delete(path + "/CUSTOM_A").is(204)
	b.delete(path + "/CUSTOM_A").fails(404)
	require.Equal(t, []any{"CUSTOM_B", "CUSTOM_C", "HW_CPU_X86_VMX"}, b.get(path).is(200)["traits"])
	for _, bad := range []any{map[string]any{}, map[string]any{"traits": "CUSTOM_A"}, map[string]any{"traits": []any{1}}, map[string]any{"traits": []string{"custom_a"}}, map[string]any{"x": 1}} {
		b.put(path, bad).fails(400)
	}
	b.put(path+"/lower", nil).fails(400)
	b.put(path+"/CUSTOM_D", map[string]any{"traits": []string{}}).fails(400)
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf("CUSTOM_T%d", i)
	}
	b.put(path, map[string]any{"traits": many}).fails(400)
	b.put(path, map[string]any{"traits": many[:50]}).is(204)
	b.put(path+"/CUSTOM_ONE_MORE", nil).fails(400)
	b.delete(path).is(204)
	require.Equal(t, []any{}, b.get(path).is(200)["traits"])
	b.get("/v1/nodes/nosuch/traits").fails(404)
	b.put("/v1/nodes/nosuch/traits/CUSTOM_A", nil).fails(404)
}

func TestDriversAndConductors(t *testing.T) {
	b := newBench(t)
	require.Equal(t, []any{}, b.get("/v1/drivers").is(200)["drivers"], "nothing is ready yet")
	b.withConductors()
	old := b.conductor("c3", "far", "redfish")
	drivers := b.get("/v1/drivers").is(200)["drivers"].([]any)
	require.Len(t, drivers, 2)
	redfish := drivers[1].(map[string]any)
	require.Equal(t, "redfish", redfish["name"])
	require.Equal(t, []any{"c1", "c2", "c3"}, redfish["hosts"])
	require.Equal(t, "dynamic", redfish["type"])
	require.NotContains(t, redfish, "default_power_interface")
	one := b.get("/v1/drivers/redfish").is(200)
	require.Equal(t, "redfish", one["default_power_interface"])
	require.Equal(t, []any{"direct"}, one["enabled_deploy_interfaces"])
	require.NotContains(t, b.at(29, "GET", "/v1/drivers/redfish", nil).is(200), "type")
	require.NotContains(t, b.at(13, "GET", "/v1/drivers/redfish", nil).is(200), "properties")
	require.Equal(t, []any{}, b.get("/v1/drivers?type=classic").is(200)["drivers"])
	require.Contains(t, b.get("/v1/drivers?detail=true").is(200)["drivers"].([]any)[0], "default_power_interface")
	require.ElementsMatch(t, []string{"name", "links"}, keys(b.get("/v1/drivers?fields=name").is(200)["drivers"].([]any)[0].(map[string]any)))
	b.get("/v1/drivers?type=odd").fails(400)
	b.get("/v1/drivers?fields=odd").fails(400)
	b.at(76, "GET", "/v1/drivers?fields=name", nil).fails(406)
	require.Equal(t, "Could not find the following driver(s) or hardware type(s): ipmi.", b.get("/v1/drivers/ipmi").fails(404))
	properties := b.get("/v1/drivers/redfish/properties").is(200)
	require.Contains(t, properties["redfish_address"], "URL or host of the BMC")
	require.Contains(t, properties["deploy_iso"], "Required by the boot interface redfish-virtual-media")
	require.Equal(t, map[string]any{}, b.get("/v1/drivers/fake-hardware/properties").is(200))
	b.get("/v1/drivers/ipmi/properties").fails(404)

	all := b.get("/v1/conductors").is(200)["conductors"].([]any)
	require.Len(t, all, 3)
	require.ElementsMatch(t, []string{"hostname", "conductor_group", "alive", "links"}, keys(all[0].(map[string]any)))
	require.NoError(t, b.store.StopConductor(t.Context(), "c3", old))
	c3 := b.get("/v1/conductors/c3").is(200)
	require.Equal(t, []any{false, "far", []any{"redfish"}}, []any{c3["alive"], c3["conductor_group"], c3["drivers"]})
	require.Equal(t, "Conductor c9 could not be found.", b.get("/v1/conductors/c9").fails(404))
	page := b.get("/v1/conductors?limit=2&sort_key=hostname&sort_dir=desc").is(200)
	require.Len(t, page["conductors"], 2)
	next := b.get(strings.TrimPrefix(page["next"].(string), "http://temper.test:6385")).is(200)
	require.Equal(t, "c1", next["conductors"].([]any)[0].(map[string]any)["hostname"])
	b.get("/v1/conductors?marker=c9").fails(404)
	b.get("/v1/conductors?fields=odd").fails(400)
	b.get("/v1/conductors?sort_key=alive").fails(400)
	b.conductor("a-late-one", "", "redfish")
	hosts := func(query string) (out []any) {
		for _, k := range b.get("/v1/conductors" + query).is(200)["conductors"].([]any) {
			out = append(out, k.(map[string]any)["hostname"])
		}
		return out
	}
	require.Equal(t, []any{"a-late-one", "c1", "c2", "c3"}, hosts(""), "by name, unless asked otherwise")
	require.Equal(t, []any{"c3", "c2", "c1", "a-late-one"}, hosts("?sort_dir=desc"))
	require.Equal(t, []any{"c1", "c2"}, hosts("?marker=a-late-one&limit=2"))
	require.Equal(t, []any{"c1", "c2", "c3", "a-late-one"}, hosts("?sort_key=id"))
}

func TestValidate(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("fake")
	b.post("/v1/nodes", map[string]any{"driver": "redfish", "name": "real"}).is(201)
	for _, i := range node.Interfaces {
		require.Equal(t, map[string]any{"result": true}, b.get("/v1/nodes/fake/validate").is(200)[i], i)
	}
	body := b.get("/v1/nodes/real/validate").is(200)
	require.Len(t, body, 13)
	require.Equal(t, map[string]any{"result": false, "reason": "Missing redfish_address", "code": "validation_failed"}, body["power"])
	require.Equal(t, map[string]any{"result": false, "reason": "Driver redfish does not support rescue (disabled or not implemented).", "code": "not_supported"}, body["rescue"])
	require.Equal(t, map[string]any{"result": true}, body["network"])
	require.Equal(t, false, body["deploy"].(map[string]any)["result"])
	b.get("/v1/nodes/nosuch/validate").fails(404)
}

func TestHistoryAndInventory(t *testing.T) {
	b := newBench(t).withConductors()
	id := b.enrolled("n1")
	b.put("/v1/nodes/n1/maintenance", map[string]any{"reason": strings.Repeat("long ", 100)}).is(202)
	events := b.get("/v1/nodes/n1/history").is(200)["history"].([]any)
	require.Len(t, events, 2)
	short := events[0].(map[string]any)
	for _, e := range events {
		require.ElementsMatch(t, []string{"uuid", "created_at", "severity", "event", "links"}, keys(e.(map[string]any)))
		require.LessOrEqual(t, len(e.(map[string]any)["event"].(string)), 255)
	}
	whole := b.get("/v1/nodes/n1/history/" + short["uuid"].(string)).is(200)
	long := events[1].(map[string]any)
	require.Equal(t, b.get("/v1/nodes/n1/history/" + long["uuid"].(string)).is(200)["event"].(string)[:251]+"...", long["event"], "Ironic keeps 251 characters")
	require.ElementsMatch(t, []string{"uuid", "created_at", "severity", "event", "event_type", "conductor", "user", "links"}, keys(whole))
	require.Contains(t, b.get("/v1/nodes/n1/history?detail=true&limit=1").is(200), "next")
	b.get("/v1/nodes/n1/history/" + uuid.NewString()).fails(404)
	b.get("/v1/nodes/n1/history/junk").fails(404)
	b.get("/v1/nodes/nosuch/history").fails(404)
	b.get("/v1/nodes/n1/history?marker=x").fails(400)
	b.get("/v1/nodes/n1/inventory").fails(404)
	b.sql(`INSERT INTO node_inventory (node_id, inventory, plugin_data, collected_at) SELECT id, '{"cpu": {"count": 4}}', '{}', now() FROM nodes WHERE uuid = $1`, id)
	require.Equal(t, map[string]any{"inventory": map[string]any{"cpu": map[string]any{"count": 4.0}}, "plugin_data": map[string]any{}}, b.get("/v1/nodes/n1/inventory").is(200))
}

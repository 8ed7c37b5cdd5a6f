package ironic_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestPorts(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1, n2 := b.Enrolled("n1"), b.Enrolled("n2")
	body := b.Post("/v1/ports", map[string]any{
		"node_uuid": n1, "address": "52:54:00:AA:BB:01", "name": "eth0", "extra": map[string]any{"a": 1},
		"local_link_connection": map[string]any{"switch_id": "0A:1B:2C:3D:4E:5F", "port_id": "Eth1", "switch_info": "sw"}, "physical_network": "prov",
	}).Is(201)
	id := body["uuid"].(string)
	require.Equal(t, "http://temper.test:6385/v1/ports/"+id, b.Last.Header.Get("Location"))
	require.Equal(t, "52:54:00:aa:bb:01", body["address"])
	require.Equal(t, "0a:1b:2c:3d:4e:5f", body["local_link_connection"].(map[string]any)["switch_id"])
	require.Equal(t, true, body["pxe_enabled"])
	require.Equal(t, n1, body["node_uuid"])
	for i := 2; i < 5; i++ {
		b.Post("/v1/ports", map[string]any{"node_uuid": []string{n1, n2}[i%2], "address": fmt.Sprintf("52:54:00:aa:bb:%02d", i)}).Is(201)
	}
	for path, want := range map[string]int{
		"/v1/ports": 4, "/v1/ports/detail": 4, "/v1/ports?node=n1": 3, "/v1/ports?node_uuid=" + n2: 1, "/v1/nodes/n1/ports": 3, "/v1/nodes/n2/ports/detail": 1,
		"/v1/ports?address=52:54:00:AA:BB:01": 1, "/v1/ports?address=52:54:00:00:00:00": 0, "/v1/ports?shard=s1": 0, "/v1/ports?limit=2": 2, "/v1/ports?fields=uuid,extra": 4,
	} {
		require.Len(t, b.Get(path).Is(200)["ports"], want, path)
	}
	require.ElementsMatch(t, []string{"uuid", "address", "links"}, slices.Collect(maps.Keys(b.Get("/v1/ports").Is(200)["ports"].([]any)[0].(map[string]any))))
	require.Equal(t, id, b.Get("/v1/ports/eth0").Is(200)["uuid"])
	b.At(87, "GET", "/v1/ports/eth0", nil).Fails(400)
	for minor, hidden := range map[int]string{17: "internal_info", 18: "pxe_enabled", 23: "portgroup_uuid", 33: "physical_network", 52: "is_smartnic", 87: "name"} {
		require.NotContains(t, b.At(minor, "GET", "/v1/ports/"+id, nil).Is(200), hidden)
		require.Contains(t, b.At(minor+1, "GET", "/v1/ports/"+id, nil).Is(200), hidden)
	}
	changed := b.Patch("/v1/ports/"+id, apitest.Replace("/pxe_enabled", false), apitest.Add("/extra/b", 2), apitest.Remove("/name")).Is(200)
	require.Equal(t, false, changed["pxe_enabled"])
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0}, changed["extra"])
	b.Delete("/v1/ports/" + id).Is(204)
	b.Get("/v1/ports/" + id).Fails(404)
	b.Delete("/v1/ports/" + id).Fails(404)
	b.Delete("/v1/nodes/n1").Is(204)
	require.Len(t, b.Get("/v1/ports").Is(200)["ports"], 1, "ports go with their node")
}

func TestPortsAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	b.Post("/v1/ports", map[string]any{"node_uuid": n1, "address": apitest.MAC, "name": "eth0"}).Is(201)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
	}{
		"no address":             {map[string]any{"node_uuid": n1}, 400},
		"no node":                {map[string]any{"address": apitest.MAC}, 400},
		"a MAC that is none":     {map[string]any{"node_uuid": n1, "address": "52:54:00:zz:00:00"}, 400},
		"a MAC that is short":    {map[string]any{"node_uuid": n1, "address": "52:54:00"}, 400},
		"a MAC that is a number": {map[string]any{"node_uuid": n1, "address": 5}, 400},
		"a MAC that is taken":    {map[string]any{"node_uuid": n1, "address": strings.ToUpper(apitest.MAC)}, 409},
		"a name that is taken":   {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "name": "eth0"}, 409},
		"a node nobody knows":    {map[string]any{"node_uuid": uuid.NewString(), "address": "52:54:00:00:00:02"}, 400},
		"a field that is none":   {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "colour": 1}, 400},
		"a port group":           {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "portgroup_uuid": uuid.NewString()}, 400},
		"half a link":            {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "local_link_connection": map[string]any{"port_id": "1"}}, 400},
		"an unknown switch":      {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "local_link_connection": map[string]any{"port_id": "1", "switch_id": "x"}}, 400},
		"a smart NIC without a host": {
			map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "is_smartnic": true, "local_link_connection": map[string]any{"port_id": "p", "switch_id": "0a:1b:2c:3d:4e:5f"}},
			400,
		},
		"a MAC with dashes": {map[string]any{"node_uuid": n1, "address": "52-54-00-00-00-02"}, 400},
		"an empty network":  {map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "physical_network": ""}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			b.Post("/v1/ports", c.body).Fails(c.status)
		})
	}
	b.T = t
	b.Post("/v1/ports", map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:12", "is_smartnic": true}).Is(201)
	b.At(18, "POST", "/v1/ports", map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02", "pxe_enabled": true}).Fails(406)
	require.Equal(t, "Operation not permitted.", b.Get("/v1/ports?node=n1&shard=s").Fails(403))
	b.Get("/v1/ports?node=nosuch").Fails(404)
	b.Get("/v1/ports?address=junk").Fails(400)
}

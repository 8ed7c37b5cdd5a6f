package ironic_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestPortgroups(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1, n2 := b.Enrolled("n1"), b.Enrolled("n2")
	body := b.Post("/v1/portgroups", map[string]any{
		"node_uuid": n1, "name": "bond0", "address": "52:54:00:AA:BB:01", "mode": "802.3ad", "properties": map[string]any{"miimon": "100"}, "extra": map[string]any{"a": 1},
	}).Is(201)
	id := body["uuid"].(string)
	require.Equal(t, "http://temper.test:6385/v1/portgroups/"+id, b.Last.Header.Get("Location"))
	require.Equal(t, "52:54:00:aa:bb:01", body["address"])
	require.Equal(t, true, body["standalone_ports_supported"])
	require.Equal(t, map[string]any{}, body["internal_info"])
	require.Equal(t, "http://temper.test:6385/v1/portgroups/"+id+"/ports", body["ports"].([]any)[0].(map[string]any)["href"])
	plain := b.Post("/v1/portgroups", map[string]any{"node_uuid": n2, "standalone_ports_supported": "no"}).Is(201)
	require.Equal(t, "active-backup", plain["mode"])
	require.Nil(t, plain["name"])
	require.Equal(t, false, plain["standalone_ports_supported"])

	for path, want := range map[string]int{
		"/v1/portgroups": 2, "/v1/portgroups/detail": 2, "/v1/portgroups?node=n1": 1, "/v1/portgroups?node=" + n2: 1, "/v1/nodes/n1/portgroups": 1,
		"/v1/nodes/n2/portgroups/detail": 1, "/v1/portgroups?address=52:54:00:AA:BB:01": 1, "/v1/portgroups?address=52:54:00:00:00:00": 0,
		"/v1/portgroups?limit=1": 1, "/v1/portgroups?detail=true": 2, "/v1/portgroups?marker=" + id: 1, "/v1/portgroups?sort_key=name&sort_dir=desc": 2,
	} {
		require.Len(t, b.Get(path).Is(200)["portgroups"], want, path)
	}
	first := b.Get("/v1/portgroups?limit=1").Is(200)
	require.Equal(t, "http://temper.test:6385/v1/portgroups?limit=1&marker="+id, first["next"])
	require.ElementsMatch(t, []string{"uuid", "address", "name", "links"}, slices.Collect(maps.Keys(first["portgroups"].([]any)[0].(map[string]any))))
	require.ElementsMatch(t, []string{"name", "links"}, slices.Collect(maps.Keys(b.Get("/v1/portgroups/bond0?fields=name").Is(200))))
	require.Equal(t, id, b.Get("/v1/portgroups/bond0").Is(200)["uuid"])

	changed := b.Patch("/v1/portgroups/bond0", apitest.Replace("/name", "bond1"), apitest.Add("/properties/xmit", "layer2"), apitest.Remove("/address")).Is(200)
	require.Equal(t, map[string]any{"miimon": "100", "xmit": "layer2"}, changed["properties"])
	require.Nil(t, changed["address"])
	require.NotNil(t, changed["updated_at"])
	moved := b.Patch("/v1/portgroups/bond1", apitest.Replace("/node_uuid", n2)).Is(200)
	require.Equal(t, n2, moved["node_uuid"])
	b.Delete("/v1/portgroups/" + id).Is(204)
	require.Equal(t, "Portgroup "+id+" could not be found.", b.Get("/v1/portgroups/"+id).Fails(404))
	b.Delete("/v1/nodes/n2").Is(204)
	require.Empty(t, b.Get("/v1/portgroups").Is(200)["portgroups"], "port groups go with their node")
}

func TestVersionsOfPortgroups(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	b.Post("/v1/portgroups", map[string]any{"node_uuid": n1, "name": "bond0"}).Is(201)
	for _, method := range []string{"GET", "POST"} {
		b.At(22, method, "/v1/portgroups", nil).Fails(404)
	}
	b.At(23, "GET", "/v1/nodes/"+n1+"/portgroups", nil).Fails(404)
	b.At(23, "GET", "/v1/portgroups/bond0/ports", nil).Fails(404)
	b.At(24, "GET", "/v1/portgroups/bond0/ports", nil).Is(200)
	for _, name := range []string{"mode", "properties"} {
		require.NotContains(t, b.At(25, "GET", "/v1/portgroups/bond0", nil).Is(200), name)
		require.Contains(t, b.At(26, "GET", "/v1/portgroups/bond0", nil).Is(200), name)
		b.At(25, "GET", "/v1/portgroups?fields="+name, nil).Fails(406)
	}
	b.At(25, "POST", "/v1/portgroups", map[string]any{"node_uuid": n1, "mode": "802.3ad"}).Fails(406)
	b.At(25, "PATCH", "/v1/portgroups/bond0", []apitest.Op{apitest.Replace("/mode", "802.3ad")}).Fails(406)
	for name, first := range map[string]int{"physical_network": 102, "category": 103, "dynamic_portgroup": 111} {
		require.NotContains(t, b.At(first-1, "GET", "/v1/portgroups/bond0", nil).Is(200), name)
		require.Contains(t, b.At(first, "GET", "/v1/portgroups/bond0", nil).Is(200), name)
		b.At(first-1, "GET", "/v1/portgroups/bond0?fields="+name, nil).Fails(406)
	}
	for field, first := range map[string]int{"physical_network": 102, "category": 103} {
		b.At(first-1, "POST", "/v1/portgroups", map[string]any{"node_uuid": n1, field: "x"}).Fails(406)
		require.Equal(t, "x", b.At(first, "POST", "/v1/portgroups", map[string]any{"node_uuid": n1, field: "x"}).Is(201)[field])
		b.At(first-1, "PATCH", "/v1/portgroups/bond0", []apitest.Op{apitest.Add("/"+field, "y")}).Fails(406)
		b.At(first, "PATCH", "/v1/portgroups/bond0", []apitest.Op{apitest.Add("/"+field, "y")}).Is(200)
		require.Equal(t, "y", b.Get("/v1/portgroups/bond0").Is(200)[field])
	}
	require.Contains(t, b.Patch("/v1/portgroups/bond0", apitest.Add("/dynamic_portgroup", true)).Fails(400), "Cannot patch /dynamic_portgroup", "only Ironic sets it")
	b.SQL(`UPDATE nodes SET shard = 's1', conductor_group = ''`)
	for query, first := range map[string]int{"shard=s1": 106, "conductor_groups=": 99} {
		b.At(first-1, "GET", "/v1/portgroups?"+query, nil).Fails(406)
		require.Len(t, b.At(first, "GET", "/v1/portgroups?"+query, nil).Is(200)["portgroups"], 3, query)
	}
	require.Empty(t, b.Get("/v1/portgroups?shard=s2").Is(200)["portgroups"])
	require.Empty(t, b.Get("/v1/portgroups?conductor_groups=moon").Is(200)["portgroups"])
	b.At(42, "GET", "/v1/portgroups?detail=true", nil).Fails(400)
	require.Contains(t, b.At(23, "GET", "/v1", nil).Is(200), "portgroups")
	require.NotContains(t, b.At(22, "GET", "/v1", nil).Is(200), "portgroups")
}

func TestPortgroupsAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	b.Post("/v1/portgroups", map[string]any{"node_uuid": n1, "name": "bond0", "address": apitest.MAC}).Is(201)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		words  string
	}{
		"no node":               {map[string]any{}, 400, "'node_uuid' is a required property"},
		"a node nobody knows":   {map[string]any{"node_uuid": uuid.NewString()}, 400, "could not be found"},
		"a node that is no id":  {map[string]any{"node_uuid": "n1"}, 400, "Expected UUID for node_uuid"},
		"a MAC that is none":    {map[string]any{"node_uuid": n1, "address": "x"}, 400, "Expected valid MAC address"},
		"a MAC that is taken":   {map[string]any{"node_uuid": n1, "address": apitest.MAC}, 409, "A portgroup with MAC address " + apitest.MAC + " already exists."},
		"a name that is taken":  {map[string]any{"node_uuid": n1, "name": "bond0"}, 409, "A portgroup with name bond0 already exists."},
		"a name that is none":   {map[string]any{"node_uuid": n1, "name": "a b"}, 400, "Cannot create portgroup with invalid name 'a b'"},
		"an unknown field":      {map[string]any{"node_uuid": n1, "colour": 1}, 400, "Unexpected arguments: colour"},
		"a field of the server": {map[string]any{"node_uuid": n1, "internal_info": map[string]any{}}, 400, "Unexpected arguments"},
		"properties in a list":  {map[string]any{"node_uuid": n1, "properties": []any{}}, 400, "is not of type 'object', 'null'"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			require.Contains(t, b.Post("/v1/portgroups", c.body).Fails(c.status), c.words)
		})
	}
	b.T = t
	for name, op := range map[string]apitest.Op{
		"the mode": apitest.Remove("/mode"), "the node": apitest.Remove("/node_uuid"), "the uuid": apitest.Replace("/uuid", uuid.NewString()),
		"a bad name": apitest.Replace("/name", "a/b"), "nobody's node": apitest.Replace("/node_uuid", uuid.NewString()),
	} {
		t.Run("a change of "+name, func(t *testing.T) {
			b.T = t
			b.Patch("/v1/portgroups/bond0", op).Fails(400)
		})
	}
	b.T = t
	b.Get("/v1/portgroups?node=n1&address=" + apitest.MAC).Fails(400)
	b.Get("/v1/portgroups?node=nosuch").Fails(404)
	b.Get("/v1/portgroups?sort_key=properties").Fails(400)
	b.Get("/v1/portgroups?marker=" + uuid.NewString()).Fails(404)
}

func TestPortsOfAPortgroup(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1, n2 := b.Enrolled("n1"), b.Enrolled("n2")
	group := b.Post("/v1/portgroups", map[string]any{"node_uuid": n1, "name": "bond0"}).Is(201)["uuid"].(string)
	other := b.Post("/v1/portgroups", map[string]any{"node_uuid": n2}).Is(201)["uuid"].(string)
	port := func(address string, more map[string]any) *apitest.Answer {
		body := map[string]any{"node_uuid": n1, "address": address}
		maps.Copy(body, more)
		return b.Post("/v1/ports", body)
	}
	p1 := port("52:54:00:00:00:01", map[string]any{"portgroup_uuid": group, "physical_network": "net"}).Is(201)
	require.Equal(t, group, p1["portgroup_uuid"])
	p2 := port("52:54:00:00:00:02", nil).Is(201)["uuid"].(string)
	require.Contains(t, port("52:54:00:00:00:03", map[string]any{"portgroup_uuid": uuid.NewString()}).Fails(400), "could not be found")
	require.Contains(t, port("52:54:00:00:00:03", map[string]any{"portgroup_uuid": other}).Fails(400), "belonging to a different node")
	require.Contains(t, port("52:54:00:00:00:03", map[string]any{"portgroup_uuid": group}).Fails(409), "which has ports in physical network net")
	b.Patch("/v1/ports/"+p2, apitest.Add("/portgroup_uuid", group)).Fails(409)
	b.Patch("/v1/ports/"+p2, apitest.Add("/portgroup_uuid", group), apitest.Add("/physical_network", "net")).Is(200)
	b.Patch("/v1/ports/"+p2, apitest.Replace("/node_uuid", n2)).Fails(400)

	for path, want := range map[string]int{
		"/v1/portgroups/bond0/ports": 2, "/v1/portgroups/" + group + "/ports/detail": 2, "/v1/ports?portgroup=bond0": 2, "/v1/ports?portgroup=" + other: 0, "/v1/portgroups/" + other + "/ports": 0,
		"/v1/portgroups/bond0/ports?limit=1": 1,
	} {
		require.Len(t, b.Get(path).Is(200)["ports"], want, path)
	}
	b.Get("/v1/ports?portgroup=nosuch").Fails(404)
	b.Get("/v1/portgroups/nosuch/ports").Fails(404)
	b.Get("/v1/ports?portgroup=bond0&node=n1").Fails(403)

	notEmpty := "Cannot complete the requested action because portgroup " + group + " contains ports."
	require.Equal(t, notEmpty, b.Delete("/v1/portgroups/bond0").Fails(400))
	require.Equal(t, notEmpty, b.Patch("/v1/portgroups/bond0", apitest.Replace("/node_uuid", n2)).Fails(400))

	b.MoveTo(n1, node.Active)
	require.Contains(t, b.Patch("/v1/ports/"+p2, apitest.Remove("/portgroup_uuid")).Fails(409), "connectivity attributes")
	require.Contains(t, b.Patch("/v1/portgroups/"+other, apitest.Replace("/node_uuid", n1)).Fails(409), "can not be associated to node "+n1)
	b.Patch("/v1/portgroups/bond0", apitest.Add("/extra/a", 1)).Is(200)
	b.Put("/v1/nodes/n1/maintenance", nil).Is(202)
	b.Patch("/v1/ports/"+p2, apitest.Remove("/portgroup_uuid")).Is(200)
	b.Patch("/v1/portgroups/"+other, apitest.Replace("/node_uuid", n1)).Is(200)
	b.Delete("/v1/ports/" + p1["uuid"].(string)).Is(204)
	b.Delete("/v1/portgroups/bond0").Is(204)
}

// While an operation holds the node, what connects it does not change.
func TestPortgroupsOfANodeThatIsHeld(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	b.Post("/v1/portgroups", map[string]any{"node_uuid": n1, "name": "bond0"}).Is(201)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).Is(202)
	require.Contains(t, b.Patch("/v1/portgroups/bond0", apitest.Replace("/mode", "802.3ad")).Fails(409), "is locked by host")
	b.Patch("/v1/portgroups/bond0", apitest.Add("/extra/a", 1)).Is(200)
	n2 := b.Enrolled("n2")
	b.Post("/v1/portgroups", map[string]any{"node_uuid": n2, "name": "bond1"}).Is(201)
	b.MoveTo(n2, node.Inspecting)
	require.Contains(t, b.Patch("/v1/portgroups/bond1", apitest.Add("/extra/a", 2)).Fails(409), "while it is in state")
}

package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// held records that a conductor holds the console of a node and listens at an address, and returns its claim.
func held(b *apitest.Bench, conductor node.Host, uuid, address string) int64 {
	b.T.Helper()
	n, err := b.Store.Node(b.T.Context(), uuid)
	require.NoError(b.T, err)
	b.SQL(`INSERT INTO ring_owners (node_id, conductor_id) SELECT $1, c.id FROM conductors c WHERE c.hostname = $2 ON CONFLICT (node_id) DO UPDATE SET conductor_id = excluded.conductor_id`, n.ID, conductor.Name)
	claimed, err := b.Store.HoldConsoles(b.T.Context(), conductor, []int64{n.ID})
	require.NoError(b.T, err)
	require.Len(b.T, claimed, 1)
	kept, err := b.Store.SaveConsoles(b.T.Context(), []node.ConsoleState{{ID: n.ID, Claim: claimed[0].Claim, Address: address}})
	require.NoError(b.T, err)
	require.Equal(b.T, claimed[0].Claim, kept[n.ID])
	return claimed[0].Claim
}

func TestConsole(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	first := node.Host{Name: "c1", Incarnation: b.Conductor("c1", "", "ipmi")}
	second := node.Host{Name: "c2", Incarnation: b.Conductor("c2", "", "ipmi")}
	uuid := b.Post("/v1/nodes", map[string]any{"driver": "ipmi", "name": "n1", "driver_info": map[string]any{"ipmi_address": "192.0.2.7"}}).Is(201)["uuid"].(string)
	require.Equal(t, "ipmitool-socat", b.Field("n1", "console_interface"))
	const console = "/v1/nodes/n1/states/console"
	none := map[string]any{"console_enabled": false, "console_info": nil}
	at := func(url string) map[string]any {
		return map[string]any{"console_enabled": true, "console_info": map[string]any{"type": "socat", "url": url}}
	}
	require.Equal(t, none, b.Get(console).Is(200))

	b.Put("/v1/nodes/n1/maintenance", nil).Is(202)
	b.Put(console, map[string]any{"enabled": true}).Is(202)
	require.Equal(t, "http://temper.test:6385/v1/nodes/n1/states/console", b.Last.Header.Get("Location"))
	require.Equal(t, none, b.Get(console).Is(200), "no conductor listens yet")
	require.Equal(t, true, b.Field("n1", "console_enabled"))
	require.Equal(t, true, b.Get("/v1/nodes/n1/states").Is(200)["console_enabled"])
	b.Put(console, map[string]any{"enabled": "true"}).Is(202)

	held(b, first, uuid, "192.0.2.1:10000")
	require.Equal(t, at("tcp://192.0.2.1:10000"), b.Get(console).Is(200))
	b.Kill("c1")
	require.Equal(t, none, b.Get(console).Is(200), "no address of a dead conductor is told")
	held(b, second, uuid, "[2001:db8::2]:10000")
	require.Equal(t, at("tcp://[2001:db8::2]:10000"), b.Get(console).Is(200))
	b.Conductor("c2", "", "ipmi")
	require.Equal(t, none, b.Get(console).Is(200), "the process that held it was started again")

	b.Put(console, map[string]any{"enabled": false}).Is(202)
	require.Equal(t, none, b.Get(console).Is(200))
	require.Equal(t, "0", b.Text("SELECT count(*)::text FROM consoles"))
	require.Equal(t, "console enabled, console disabled", b.Text("SELECT string_agg(text, ', ' ORDER BY seq) FROM events WHERE text LIKE 'console%'"))
	require.Equal(t, `[{"console_enabled": true}, {"console_enabled": false}]`, b.Text("SELECT jsonb_agg(data ORDER BY seq)::text FROM events WHERE type = 'baremetal.node.console_set.end'"))

	for _, wrong := range []any{nil, "maybe", map[string]any{}} {
		b.Put(console, map[string]any{"enabled": wrong}).Fails(400)
	}
	require.Contains(t, b.Put(console, map[string]any{}).Fails(400), "Missing mandatory parameter: enabled")
	b.Put("/v1/nodes/nosuch/states/console", map[string]any{"enabled": true}).Fails(404)
	b.Get("/v1/nodes/nosuch/states/console").Fails(404)
	b.Kill("c1", "c2")
	b.Get(console).Fails(503)
}

// A node whose driver has no console can't have it enabled, and loses it with the interface.
func TestConsoleOfOtherInterfaces(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	b.Conductor("c1", "", "ipmi", "redfish", "fake-hardware")
	none := map[string]any{"console_enabled": false, "console_info": nil}
	b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "r1", "driver_info": map[string]any{"redfish_address": "https://192.0.2.8"}}).Is(201)
	require.Equal(t, none, b.Get("/v1/nodes/r1/states/console").Is(200), "as Ironic's no-console")
	for _, on := range []bool{true, false} {
		require.Contains(t, b.Put("/v1/nodes/r1/states/console", map[string]any{"enabled": on}).Fails(400), "Driver redfish does not support console")
	}

	b.Post("/v1/nodes", map[string]any{"driver": "ipmi", "name": "i1", "driver_info": map[string]any{"ipmi_address": "192.0.2.7"}}).Is(201)
	b.Put("/v1/nodes/i1/states/console", map[string]any{"enabled": true}).Is(202)
	b.Patch("/v1/nodes/i1", apitest.Add("/extra/rack", "7")).Is(200)
	require.Equal(t, true, b.Field("i1", "console_enabled"))
	b.Patch("/v1/nodes/i1", apitest.Replace("/console_interface", "no-console")).Is(200)
	require.Equal(t, false, b.Field("i1", "console_enabled"))
	b.Patch("/v1/nodes/i1", apitest.Replace("/console_interface", "ipmitool-socat")).Is(200)
	require.Equal(t, false, b.Field("i1", "console_enabled"))
	require.Contains(t, b.Patch("/v1/nodes/i1", apitest.Add("/console_enabled", true)).Fails(400), "console_enabled")

	b.Enrolled("f1")
	b.Put("/v1/nodes/f1/states/console", map[string]any{"enabled": true}).Is(202)
	require.Equal(t, map[string]any{"console_enabled": true, "console_info": map[string]any{}}, b.Get("/v1/nodes/f1/states/console").Is(200), "as Ironic's fake console")
}

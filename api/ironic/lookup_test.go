package ironic_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.WaitingWithPort("n1")
	b.SQL(`UPDATE nodes SET instance_info = '{"configdrive": "******", "image_url": "http://x"}', properties = '{"cpus": 4}'`)

	token, found := b.At(62, "GET", "/v1/lookup?addresses=52:54:00:AA:BB:01,not-a-mac", nil).Lookup()
	require.Equal(t, uuid, found)
	require.Len(t, token, 43)
	body := b.Last.Is(200)
	require.EqualValues(t, 300, body["config"].(map[string]any)["heartbeat_timeout"])
	require.Equal(t, true, body["config"].(map[string]any)["agent_token_required"])
	n := body["node"].(map[string]any)
	require.ElementsMatch(t, []string{"uuid", "properties", "instance_info", "driver_internal_info", "links"}, slices.Collect(maps.Keys(n)))
	require.Equal(t, map[string]any{"configdrive": "******", "image_url": "******"}, n["instance_info"])

	again, _ := b.At(62, "GET", "/v1/lookup?addresses=52:54:00:00:00:99&node_uuid="+uuid, nil).Lookup()
	require.Equal(t, "******", again, "other MACs are another source")
	known, err := b.Store.Node(t.Context(), uuid)
	require.NoError(t, err)
	require.Regexp(t, `the agent of node .* has not called in time; 52:54:00:aa:bb:01@\S+ looked itself up first and got its token, and 52:54:00:00:00:99@\S+ was refused it`, known.NeverCalled().Error)
	same, _ := b.At(62, "GET", "/v1/lookup?addresses="+apitest.MAC, nil).Lookup()
	require.Equal(t, token, same, "a lost answer is told again to the same source")

	require.NotContains(t, string(b.Get("/v1/nodes/"+uuid).Body), token)
	old, _ := b.At(61, "GET", "/v1/lookup?addresses="+apitest.MAC, nil).Lookup()
	require.Empty(t, old, "no tokens before 1.62")
}

// A lookup needs no password, so its answer has nothing that is of use to anybody but the
// node's agent.
func TestALookupShowsWhatAnAgentNeedsAndNoMore(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.WaitingWithPort("n1")
	b.SQL(`UPDATE nodes SET last_error = 'the last error', owed = '["eject media"]',
		instance_info = '{"image_source": "http://reader:SECRET@images/disk.raw?X-Amz-Signature=SECRET", "root_device": {"name": "/dev/sda"}, "nested": [{"url": "https://SECRET@h/?a=SECRET"}]}',
		properties = '{"cpus": 4, "firmware": "http://u:SECRET@h/"}', driver_internal_info = '{"agent_erase_devices_iterations": 1, "agent_enable_ata_secure_erase": true, "x": "http://h/?token=SECRET"}'`)
	b.SQL(`UPDATE operations SET waiting_for = 'what it waits for', run_id = 'the-run',
		steps = '[{"index":0,"interface":"deploy","step":"deploy","source":"core","state":"waiting","phase":"booted","attempts":1,"last_error":"the error of a step"}]'`)
	for _, body := range []map[string]any{
		b.At(62, "GET", "/v1/lookup?addresses="+apitest.MAC, nil).Is(200),
		b.At(62, "GET", "/v1/lookup?node_uuid="+uuid+"&addresses="+apitest.MAC, nil).Is(200),
	} {
		require.Equal(t, map[string]any{
			"image_source": "http://******@images/disk.raw?X-Amz-Signature=******", "root_device": map[string]any{"name": "/dev/sda"},
			"nested": []any{map[string]any{"url": "https://******@h/?a=******"}},
		}, body["node"].(map[string]any)["instance_info"])
		require.Equal(t, map[string]any{"agent_erase_devices_iterations": 1.0, "agent_enable_ata_secure_erase": true, "x": "http://h/?token=******"},
			body["node"].(map[string]any)["driver_internal_info"])
		for _, word := range []string{"SECRET", "error", "workflow", "waits", "the-run", "temper", "eject"} {
			require.NotContains(t, strings.ReplaceAll(string(b.Last.Body), "http://temper.test:6385", ""), word)
		}
	}
	require.Contains(t, string(b.Get("/v1/nodes/n1").Body), "reader:SECRET", "who may see the node sees what it deploys")
}

func TestLookupIsRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	require.Equal(t, `At least one of "addresses" and "node_uuid" parameters is required`, b.Get("/v1/lookup").Fails(400))
	b.Get("/v1/lookup?addresses=junk").Fails(400)
	b.Get("/v1/lookup?node_uuid=junk").Fails(400)
	b.Get("/v1/lookup?addresses=" + apitest.MAC + "&x=1").Fails(400)
	unknown := b.Get("/v1/lookup?addresses=" + apitest.MAC).Fails(404)
	uuid := b.In("n1", node.Active)
	b.Post("/v1/ports", map[string]any{"node_uuid": uuid, "address": apitest.MAC}).Is(201)
	require.Equal(t, unknown, b.Get("/v1/lookup?addresses="+apitest.MAC).Fails(404), "the wrong state looks like an unknown node")
	require.Equal(t, unknown, b.Get("/v1/lookup?node_uuid="+uuid).Fails(404))
}

// A MAC that all servers of a vendor have is a port of one of them. The lookups of the
// others still succeed.
func TestASharedMACBlocksNobody(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	first := b.In("n1", node.Manageable)
	const shared = "52:54:00:ff:ff:ff"
	b.Post("/v1/ports", map[string]any{"node_uuid": first, "address": shared}).Is(201)
	uuid := b.WaitingWithPort("n2")
	_, found := b.At(62, "GET", "/v1/lookup?addresses="+apitest.MAC+","+shared, nil).Lookup()
	require.Equal(t, uuid, found)
	b.Get("/v1/lookup?addresses=" + shared).Fails(404)
}

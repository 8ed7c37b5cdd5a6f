package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

const mac = "52:54:00:aa:bb:01"

func (b *bench) waitingWithPort(name string) string {
	uuid := b.in(name, node.DeployWait)
	b.post("/v1/ports", map[string]any{"node_uuid": uuid, "address": mac}).is(201)
	return uuid
}

func lookup(a *answer) (token string, uuid string) {
	body := a.is(200)
	token, _ = body["config"].(map[string]any)["agent_token"].(string)
	return token, body["node"].(map[string]any)["uuid"].(string)
}

func TestLookup(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.waitingWithPort("n1")
	b.sql(`UPDATE nodes SET instance_info = '{"configdrive": "******", "image_url": "http://x"}', properties = '{"cpus": 4}'`)

	token, found := lookup(b.at(62, "GET", "/v1/lookup?addresses=52:54:00:AA:BB:01,not-a-mac", nil))
	require.Equal(t, uuid, found)
	require.Len(t, token, 43)
	body := b.last.is(200)
	require.EqualValues(t, 300, body["config"].(map[string]any)["heartbeat_timeout"])
	require.Equal(t, true, body["config"].(map[string]any)["agent_token_required"])
	n := body["node"].(map[string]any)
	require.ElementsMatch(t, []string{"uuid", "properties", "instance_info", "driver_internal_info", "links"}, keys(n))
	require.Equal(t, map[string]any{"configdrive": "******", "image_url": "******"}, n["instance_info"])

	again, _ := lookup(b.at(62, "GET", "/v1/lookup?addresses=52:54:00:00:00:99&node_uuid="+uuid, nil))
	require.Equal(t, "******", again, "other MACs are another source")
	same, _ := lookup(b.at(62, "GET", "/v1/lookup?addresses="+mac, nil))
	require.Equal(t, token, same, "a lost answer is told again to the same source")

	require.NotContains(t, string(b.get("/v1/nodes/"+uuid).raw), token)
	old, _ := lookup(b.at(61, "GET", "/v1/lookup?addresses="+mac, nil))
	require.Empty(t, old, "no tokens before 1.62")
}

func TestLookupIsRefused(t *testing.T) {
	b := newBench(t).withConductors()
	require.Equal(t, `At least one of "addresses" and "node_uuid" parameters is required`, b.get("/v1/lookup").fails(400))
	b.get("/v1/lookup?addresses=junk").fails(400)
	b.get("/v1/lookup?node_uuid=junk").fails(400)
	b.get("/v1/lookup?addresses=" + mac + "&x=1").fails(400)
	unknown := b.get("/v1/lookup?addresses=" + mac).fails(404)
	uuid := b.in("n1", node.Active)
	b.post("/v1/ports", map[string]any{"node_uuid": uuid, "address": mac}).is(201)
	require.Equal(t, unknown, b.get("/v1/lookup?addresses="+mac).fails(404), "the wrong state looks like an unknown node")
	require.Equal(t, unknown, b.get("/v1/lookup?node_uuid="+uuid).fails(404))
}

func beat(token string, more ...string) map[string]any {
	h := map[string]any{"callback_url": "http://10.0.0.5:9999", "agent_token": token, "agent_version": "11.5.0"}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

func TestHeartbeat(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.waitingWithPort("n1")
	token, _ := lookup(b.at(62, "GET", "/v1/lookup?addresses="+mac, nil))
	path := "/v1/heartbeat/" + uuid
	for name, h := range map[string]map[string]any{
		"no callback_url":      {"agent_token": token, "agent_version": "1"},
		"no token":             {"callback_url": "http://10.0.0.5:9999", "agent_version": "1"},
		"another token":        beat(strings.Repeat("x", 43)),
		"the mask as token":    beat("******"),
		"no version":           {"callback_url": "http://10.0.0.5:9999", "agent_token": token},
		"a URL that is none":   beat(token, "callback_url", "ftp://x"),
		"an unknown field":     beat(token, "colour", "red"),
		"a broken certificate": beat(token, "agent_verify_ca", "junk"),
	} {
		require.NotEmpty(t, b.at(68, "POST", path, h).fails(400), name)
	}
	require.Empty(t, b.ops.toldWhat())
	b.at(67, "POST", path, beat(token, "agent_verify_ca", "x")).fails(400)
	b.at(35, "POST", path, beat(token)).fails(400)
	b.at(21, "POST", path, beat(token)).fails(404)
	b.at(68, "POST", "/v1/heartbeat/nosuch", beat(token)).fails(404)

	a := b.at(68, "POST", path, beat(token, "callback_url", "http://10.0.0.5:9999/"))
	require.Empty(t, a.raw)
	a.is(202)
	require.Len(t, b.ops.toldWhat(), 1, "the workflow waits, and this is a new boot")
	b.at(68, "POST", path, beat(token)).is(202)
	require.Len(t, b.ops.toldWhat(), 1, "only the first one is news")
	info := b.field(uuid, "driver_internal_info").(map[string]any)
	require.Equal(t, "http://10.0.0.5:9999", info["agent_url"])
	require.NotNil(t, info["agent_last_heartbeat"])
	require.Contains(t, b.at(68, "POST", path, beat(token, "callback_url", "http://10.0.0.6:9999")).fails(400), "callback_url")

	late, _ := lookup(b.at(62, "GET", "/v1/lookup?addresses="+mac, nil))
	require.Equal(t, "******", late, "after a heartbeat nothing is told any more")
}

func TestAgentsNeedTLSUnlessToldOtherwise(t *testing.T) {
	b := newBench(t, func(c *config) { c.Agent.Callback.AllowHTTP = false }).withConductors()
	uuid := b.waitingWithPort("n1")
	token, _ := lookup(b.at(62, "GET", "/v1/lookup?addresses="+mac, nil))
	b.at(68, "POST", "/v1/heartbeat/"+uuid, beat(token)).fails(400)
	b.at(68, "POST", "/v1/heartbeat/"+uuid, beat(token, "callback_url", "https://10.0.0.5:9999")).is(202)
}

func TestContinueInspection(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.in("n1", node.InspectWait)
	b.post("/v1/ports", map[string]any{"node_uuid": uuid, "address": mac}).is(201)
	found := map[string]any{
		"inventory": map[string]any{
			"interfaces": []any{map[string]any{"name": "eth0", "mac_address": strings.ToUpper(mac)}},
			"cpu":        map[string]any{"count": 4}, "odd": "a\x00b",
		},
		"root_disk": map[string]any{"name": "/dev/sda"}, "logs": "QUJD", "error": nil,
	}
	body := b.at(84, "POST", "/v1/continue_inspection", found).is(202)
	require.Equal(t, uuid, body["node"].(map[string]any)["uuid"])
	require.Len(t, body["config"].(map[string]any)["agent_token"], 43)
	require.Len(t, b.ops.toldWhat(), 1)
	stored := b.get("/v1/nodes/n1/inventory").is(200)
	require.EqualValues(t, 4, stored["inventory"].(map[string]any)["cpu"].(map[string]any)["count"])
	require.Equal(t, "ab", stored["inventory"].(map[string]any)["odd"], "what PostgreSQL can't keep is left out")
	require.Equal(t, map[string]any{"root_disk": map[string]any{"name": "/dev/sda"}}, stored["plugin_data"])

	require.Equal(t, uuid, b.with(http.Header{}, "POST", "/v1/continue_inspection?node_uuid="+uuid, found).is(202)["uuid"], "old agents ask without a version")
	b.at(50, "POST", "/v1/continue_inspection", found).fails(404)
	b.at(84, "POST", "/v1/continue_inspection", map[string]any{"inventory": map[string]any{}}).fails(400)
	b.at(84, "POST", "/v1/continue_inspection", map[string]any{}).fails(400)
	b.at(84, "POST", "/v1/continue_inspection", "{").fails(400)
	b.moveTo(b.in("n2", node.Active), node.Active)
	b.sql(`DELETE FROM operations`)
	b.moveTo(uuid, node.Manageable)
	b.at(84, "POST", "/v1/continue_inspection", found).fails(404)
}

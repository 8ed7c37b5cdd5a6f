package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

const mac = "52:54:00:aa:bb:01"

func (b *bench) waitingWithPort(name string) string {
	uuid := b.in(name, node.DeployWait)
	b.sql(`UPDATE nodes SET interfaces = interfaces || '{"deploy": "direct"}' WHERE uuid = $1`, uuid)
	b.post("/v1/ports", map[string]any{"node_uuid": uuid, "address": mac}).is(201)
	return uuid
}

// inspecting makes a node whose agent was booted to be inspected.
func (b *bench) inspecting(name string) string {
	uuid := b.in(name, node.InspectWait)
	b.sql(`UPDATE nodes SET interfaces = interfaces || '{"inspect": "agent"}' WHERE uuid = $1`, uuid)
	b.sql(`UPDATE operations SET steps = '[{"index":0,"interface":"inspect","step":"boot_agent","source":"core","state":"waiting","phase":"booted","attempts":1},
		{"index":1,"interface":"inspect","step":"collect","source":"core","state":"pending","attempts":0}]' WHERE node_uuid = $1 AND ended_at IS NULL`, uuid)
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

// A lookup asks for no password: who knows a MAC address learns nothing that is of
// use to anybody but the node's agent.
func TestALookupShowsWhatAnAgentNeedsAndNoMore(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.waitingWithPort("n1")
	b.sql(`UPDATE nodes SET last_error = 'the last error', owed = '["eject media"]',
		instance_info = '{"image_source": "http://reader:SECRET@images/disk.raw?X-Amz-Signature=SECRET", "root_device": {"name": "/dev/sda"}, "nested": [{"url": "https://SECRET@h/?a=SECRET"}]}',
		properties = '{"cpus": 4, "firmware": "http://u:SECRET@h/"}', driver_internal_info = '{"agent_erase_devices_iterations": 1, "agent_enable_ata_secure_erase": true, "x": "http://h/?token=SECRET"}'`)
	b.sql(`UPDATE operations SET waiting_for = 'what it waits for', run_id = 'the-run',
		steps = '[{"index":0,"interface":"deploy","step":"deploy","source":"core","state":"waiting","phase":"booted","attempts":1,"last_error":"the error of a step"}]'`)
	for _, body := range []map[string]any{
		b.at(62, "GET", "/v1/lookup?addresses="+mac, nil).is(200),
		b.at(62, "GET", "/v1/lookup?node_uuid="+uuid+"&addresses="+mac, nil).is(200),
	} {
		require.Equal(t, map[string]any{
			"image_source": "http://******@images/disk.raw?X-Amz-Signature=******", "root_device": map[string]any{"name": "/dev/sda"},
			"nested": []any{map[string]any{"url": "https://******@h/?a=******"}},
		}, body["node"].(map[string]any)["instance_info"])
		require.Equal(t, map[string]any{"agent_erase_devices_iterations": 1.0, "agent_enable_ata_secure_erase": true, "x": "http://h/?token=******"},
			body["node"].(map[string]any)["driver_internal_info"])
		for _, word := range []string{"SECRET", "error", "workflow", "waits", "the-run", "temper", "eject"} {
			require.NotContains(t, strings.ReplaceAll(string(b.last.raw), "http://temper.test:6385", ""), word)
		}
	}
	require.Contains(t, string(b.get("/v1/nodes/n1").raw), "reader:SECRET", "who may see the node sees what it deploys")
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

	b.sql(`UPDATE agents SET verify_ca = 'pem'`)
	require.Contains(t, b.at(68, "POST", path, beat(token)).fails(400), "agent_verify_ca", "once a certificate is known it is not taken away")
	require.Contains(t, b.at(68, "POST", path, beat(token, "agent_verify_ca", "x")).fails(400), "agent_verify_ca")
	require.Equal(t, "pem", b.text(`SELECT verify_ca FROM agents`))
}

// A MAC that all servers of a vendor have is a port of one of them, and refuses
// none of the others.
func TestASharedMACBlocksNobody(t *testing.T) {
	b := newBench(t).withConductors()
	first := b.in("n1", node.Manageable)
	const shared = "52:54:00:ff:ff:ff"
	b.post("/v1/ports", map[string]any{"node_uuid": first, "address": shared}).is(201)
	uuid := b.waitingWithPort("n2")
	_, found := lookup(b.at(62, "GET", "/v1/lookup?addresses="+mac+","+shared, nil))
	require.Equal(t, uuid, found)
	b.get("/v1/lookup?addresses=" + shared).fails(404)
}

// An inventory in which 16 MiB are nothing but empty interfaces takes no more
// memory than it has bytes, nor time that grows with the square of its MACs.
func TestAnInventoryIsBounded(t *testing.T) {
	counted := prometheus.NewRegistry()
	b := newBench(t, func(c *config) { c.Metrics = counted }).withConductors()
	uuid := b.inspecting("n1")
	b.post("/v1/ports", map[string]any{"node_uuid": uuid, "address": mac}).is(201)
	send := func(body string) *answer {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := b.at(84, "POST", "/v1/continue_inspection", body)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20), "in all, not at once")
		return a
	}
	require.Contains(t, send(`{"inventory":{"interfaces":[{}`+strings.Repeat(`,{}`, 5<<20)+`]}}`).fails(400), "more than 50000 elements")
	require.Contains(t, send(`{"inventory":{"odd":[`+strings.Repeat(`"`+strings.Repeat("x", 1<<19)+`",`, 12)+`1]}}`).fails(413), "larger than 4194304 bytes")
	var macs strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&macs, `,{"mac_address":"52:54:01:%02x:%02x:00"}`, i>>8, i&255)
	}
	send(`{"inventory":{"interfaces":[{"mac_address":"52:54:01:ff:ff:ff"}` + macs.String() + `]}}`).fails(404)
	send(`{"inventory":{"interfaces":[{"mac_address":"` + mac + `"}]},"logs":"` + strings.Repeat("QUJD", 3<<20) + `"}`).is(202)
	require.Empty(t, b.get("/v1/nodes/n1/inventory").is(200)["plugin_data"])

	require.Equal(t, map[string]float64{"bytes": 1, "elements": 1, "depth": 0, "budget": 0, "other": 0}, counts(t, counted, "temper_http_bodies_refused_total"))
	require.Equal(t, map[string]float64{"inventory": 3, "heartbeat": 0, "lookup": 0}, counts(t, counted, "temper_agent_requests_refused_total"))
}

// counts are the values of a counter by its only label.
func counts(t *testing.T, g prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return out
}

// dawdler sends a little, says so, and then nothing until it may.
type dawdler struct {
	first io.Reader
	began chan struct{}
	end   chan struct{}
	once  sync.Once
}

func (d *dawdler) Read(p []byte) (int, error) {
	if n, err := d.first.Read(p); err == nil {
		return n, nil
	}
	d.once.Do(func() { close(d.began) })
	<-d.end
	return 0, io.ErrUnexpectedEOF
}

// Inventories that come slowly, and many, are put off when they hold too much.
func TestTooManyInventoriesAtOnceArePutOff(t *testing.T) {
	b := newBench(t).withConductors()
	b.inspecting("n1")
	end := make(chan struct{})
	var all sync.WaitGroup
	for range 9 {
		d := &dawdler{first: strings.NewReader(`{"inventory":["` + strings.Repeat("x", 1<<20) + `","` + strings.Repeat("x", 1<<20) +
			`","` + strings.Repeat("x", 1<<20) + `","` + strings.Repeat("x", 1<<19+1<<18)), began: make(chan struct{}), end: end}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/continue_inspection", d)
		all.Go(func() {
			b.handler.ServeHTTP(httptest.NewRecorder(), r)
			d.once.Do(func() { close(d.began) })
		})
		<-d.began
	}
	a := b.at(84, "POST", "/v1/continue_inspection", `{"inventory":["`+strings.Repeat("x", 1<<20)+`","`+strings.Repeat("x", 1<<20)+`","`+strings.Repeat("x", 1<<20)+`"]}`)
	a.fails(503)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	b.at(68, "POST", "/v1/heartbeat/n1", beat("x")).fails(400) // others are answered meanwhile
	b.get("/v1/nodes/n1").is(200)
	close(end)
	all.Wait()
	b.at(84, "POST", "/v1/continue_inspection", `{"inventory":{"interfaces":[]}}`).fails(400)
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
	b.at(84, "POST", "/v1/continue_inspection", "{").fails(404) // nobody waits: it is not even read
	uuid := b.inspecting("n1")
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

	found["inventory"].(map[string]any)["interfaces"] = []any{map[string]any{"mac_address": mac}, map[string]any{"mac_address": "52:54:00:aa:bb:02"}}
	b.at(84, "POST", "/v1/continue_inspection", found).fails(404) // this boot has told its inventory
	b.inspecting("n2")
	b.sql(`UPDATE operations SET steps = jsonb_set(steps, '{0,phase}', '"off"')`)
	b.sql(`DELETE FROM agents`)
	b.at(84, "POST", "/v1/continue_inspection", found).fails(404) // this boot has not begun
	b.sql(`DELETE FROM operations WHERE node_uuid = $1`, uuid)
	b.moveTo(uuid, node.Manageable)
	b.at(84, "POST", "/v1/continue_inspection", found).fails(404)
}

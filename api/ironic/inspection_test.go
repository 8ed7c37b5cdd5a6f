package ironic_test

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

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// An inventory of 16 MiB of empty interfaces takes no more memory than it has bytes, and
// no time that grows with the square of its MACs.
func TestAnInventoryIsBounded(t *testing.T) {
	counted := prometheus.NewRegistry()
	b := apitest.New(t, func(c *api.Config) { c.Metrics = counted }).WithConductors()
	uuid := b.Inspecting("n1")
	b.Post("/v1/ports", map[string]any{"node_uuid": uuid, "address": apitest.MAC}).Is(201)
	send := func(body string) *apitest.Answer {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := b.At(84, "POST", "/v1/continue_inspection", body)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20), "in all, not at once")
		return a
	}
	require.Contains(t, send(`{"inventory":{"interfaces":[{}`+strings.Repeat(`,{}`, 5<<20)+`]}}`).Fails(400), "more than 50000 elements")
	require.Contains(t, send(`{"inventory":{"odd":[`+strings.Repeat(`"`+strings.Repeat("x", 1<<19)+`",`, 12)+`1]}}`).Fails(413), "larger than 4194304 bytes")
	var macs strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&macs, `,{"mac_address":"52:54:01:%02x:%02x:00"}`, i>>8, i&255)
	}
	send(`{"inventory":{"interfaces":[{"mac_address":"52:54:01:ff:ff:ff"}` + macs.String() + `]}}`).Fails(404)
	send(`{"inventory":{"interfaces":[{"mac_address":"` + apitest.MAC + `"}]},"logs":"` + strings.Repeat("QUJD", 3<<20) + `"}`).Is(202)
	require.Empty(t, b.Get("/v1/nodes/n1/inventory").Is(200)["plugin_data"])

	require.Equal(t, map[string]float64{"bytes": 1, "elements": 1, "depth": 0, "budget": 0, "other": 0}, counts(t, counted, "temper_http_bodies_refused_total"))
	require.Equal(t, map[string]float64{"inventory": 3, "heartbeat": 0, "lookup": 0, "token": 0}, counts(t, counted, "temper_agent_requests_refused_total"))
}

// counts returns the values of a counter by its only label.
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

// slowBody is a body that sends its first part, closes began, and then waits for end.
type slowBody struct {
	first io.Reader
	began chan struct{}
	end   chan struct{}
	once  sync.Once
}

func (d *slowBody) Read(p []byte) (int, error) {
	if n, err := d.first.Read(p); err == nil {
		return n, nil
	}
	d.once.Do(func() { close(d.began) })
	<-d.end
	return 0, io.ErrUnexpectedEOF
}

// If many inventories that arrive slowly hold too much memory, further ones get 503.
func TestTooManyInventoriesAtOnceArePutOff(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Inspecting("n1")
	end := make(chan struct{})
	var all sync.WaitGroup
	for range 9 {
		d := &slowBody{first: strings.NewReader(`{"inventory":["` + strings.Repeat("x", 1<<20) + `","` + strings.Repeat("x", 1<<20) +
			`","` + strings.Repeat("x", 1<<20) + `","` + strings.Repeat("x", 1<<19+1<<18)), began: make(chan struct{}), end: end}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/continue_inspection", d)
		all.Go(func() {
			b.Serve(r)
			d.once.Do(func() { close(d.began) })
		})
		<-d.began
	}
	a := b.At(84, "POST", "/v1/continue_inspection", `{"inventory":["`+strings.Repeat("x", 1<<20)+`","`+strings.Repeat("x", 1<<20)+`","`+strings.Repeat("x", 1<<20)+`"]}`)
	a.Fails(503)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	b.At(68, "POST", "/v1/heartbeat/n1", apitest.Heartbeat("x")).Fails(400) // other requests are answered meanwhile
	b.Get("/v1/nodes/n1").Is(200)
	close(end)
	all.Wait()
	b.At(84, "POST", "/v1/continue_inspection", `{"inventory":{"interfaces":[]}}`).Fails(400)
}

func TestContinueInspection(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.At(84, "POST", "/v1/continue_inspection", "{").Fails(404) // no node waits for one, so it is not even read
	uuid := b.Inspecting("n1")
	b.Post("/v1/ports", map[string]any{"node_uuid": uuid, "address": apitest.MAC}).Is(201)
	found := map[string]any{
		"inventory": map[string]any{
			"interfaces": []any{map[string]any{"name": "eth0", "mac_address": strings.ToUpper(apitest.MAC)}},
			"cpu":        map[string]any{"count": 4}, "odd": "a\x00b",
		},
		"root_disk": map[string]any{"name": "/dev/sda"}, "logs": "QUJD", "error": nil,
		"lldp_raw": map[string]any{"eth0": []any{[]any{1, "04885a92ec5459"}, []any{2, "0545746831"}}, "eth1": []any{}, "eth2": "odd"},
	}
	body := b.At(84, "POST", "/v1/continue_inspection", found).Is(202)
	require.Equal(t, uuid, body["node"].(map[string]any)["uuid"])
	require.Len(t, body["config"].(map[string]any)["agent_token"], 43)
	require.Len(t, b.Operations.Told(), 1)
	stored := b.Get("/v1/nodes/n1/inventory").Is(200)
	require.EqualValues(t, 4, stored["inventory"].(map[string]any)["cpu"].(map[string]any)["count"])
	require.Equal(t, "ab", stored["inventory"].(map[string]any)["odd"], "what PostgreSQL can't keep is left out")
	plugin := stored["plugin_data"].(map[string]any)
	require.Equal(t, map[string]any{"name": "/dev/sda"}, plugin["root_disk"])
	require.NotContains(t, plugin, "logs")
	require.Equal(t, map[string]any{"eth0": map[string]any{"switch_chassis_id": "88:5a:92:ec:54:59", "switch_port_id": "Eth1"}}, plugin["parsed_lldp"])

	require.Equal(t, uuid, b.With(http.Header{}, "POST", "/v1/continue_inspection?node_uuid="+uuid, found).Is(202)["uuid"], "old agents ask without a version")
	b.At(50, "POST", "/v1/continue_inspection", found).Fails(404)
	b.At(84, "POST", "/v1/continue_inspection", map[string]any{"inventory": map[string]any{}}).Fails(400)
	b.At(84, "POST", "/v1/continue_inspection", map[string]any{}).Fails(400)
	b.At(84, "POST", "/v1/continue_inspection", "{").Fails(400)

	found["inventory"].(map[string]any)["interfaces"] = []any{map[string]any{"mac_address": apitest.MAC}, map[string]any{"mac_address": "52:54:00:aa:bb:02"}}
	b.At(84, "POST", "/v1/continue_inspection", found).Fails(404) // this boot has sent its inventory
	b.Inspecting("n2")
	b.SQL(`UPDATE operations SET steps = jsonb_set(steps, '{0,phase}', '"off"')`)
	b.SQL(`DELETE FROM agents`)
	b.At(84, "POST", "/v1/continue_inspection", found).Fails(404) // this boot has not begun
	b.SQL(`DELETE FROM operations WHERE node_uuid = $1`, uuid)
	b.MoveTo(uuid, node.Manageable)
	b.At(84, "POST", "/v1/continue_inspection", found).Fails(404)
}

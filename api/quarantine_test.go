package api_test

import (
	"net/url"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
)

func TestANodeThatNobodyCoversIsShownInMaintenance(t *testing.T) {
	metrics := prometheus.NewRegistry()
	b := newBench(t, func(c *api.Config) { c.Metrics = metrics })
	i := b.conductor("c1", "", "fake-hardware")
	uuid := b.enrolled("n1")
	require.Equal(t, false, b.field("n1", "maintenance"))
	require.NoError(t, b.store.StopConductor(t.Context(), "c1", i))

	one := b.get("/v1/nodes/n1").is(200)
	require.Equal(t, true, one["maintenance"])
	require.Equal(t, "no conductor", one["fault"])
	require.Contains(t, one["maintenance_reason"], `No conductor service registered which supports driver fake-hardware for conductor group ""`)
	families, err := metrics.Gather()
	require.NoError(t, err)
	count := 0.0
	for _, f := range families {
		if f.GetName() == "temper_nodes_quarantined" {
			count = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.InDelta(t, 1, count, 0)
	list := b.get("/v1/nodes?maintenance=true&fault=" + url.QueryEscape("no conductor")).is(200)["nodes"].([]any)
	require.Len(t, list, 1)
	require.Equal(t, true, list[0].(map[string]any)["maintenance"])
	require.Empty(t, b.get("/v1/nodes?maintenance=false").is(200)["nodes"])

	b.put("/v1/nodes/n1/maintenance", map[string]any{"reason": "fan"}).is(202)
	require.Contains(t, b.field("n1", "maintenance_reason"), "fan; No conductor")
	b.delete("/v1/nodes/n1/maintenance").is(202)
	require.Equal(t, true, b.field("n1", "maintenance"))
	require.Equal(t, true, b.patch("/v1/nodes/n1", replace("/maintenance", false)).is(200)["maintenance"], "quarantine is not lifted by hand")
	require.Equal(t, true, b.patch("/v1/nodes/n1", replace("/maintenance", true)).is(200)["maintenance"])
	b.conductor("c1", "", "fake-hardware")
	require.Equal(t, true, b.field("n1", "maintenance"), "the operator's stays")
	require.Nil(t, b.field("n1", "fault"))
	require.Equal(t, false, b.patch("/v1/nodes/n1", replace("/maintenance", false)).is(200)["maintenance"])
	require.Equal(t, uuid, b.field("n1", "uuid"))
}

func TestQuarantineGrantsNothingThatMaintenanceDoes(t *testing.T) {
	b := newBench(t)
	i := b.conductor("c1", "", "fake-hardware")
	b.in("n1", "active")
	b.sql(`UPDATE nodes SET instance_uuid = gen_random_uuid()`)
	require.NoError(t, b.store.StopConductor(t.Context(), "c1", i))
	require.Equal(t, true, b.field("n1", "maintenance"))
	b.delete("/v1/nodes/n1").fails(409)
	b.conductor("c2", "other", "fake-hardware")
	require.Contains(t, b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "rebuild"}).fails(404), "No valid host was found")
	require.NotContains(t, string(b.last.raw), "maintenance mode")
}

func TestSchedulersAreOfferedWhatCanBeServed(t *testing.T) {
	b := newBench(t)
	i := b.conductor("c1", "", "fake-hardware")
	for _, n := range []string{"n1", "n2"} {
		b.in(n, "available")
	}
	b.sql(`UPDATE nodes SET power_state = 'power off', resource_class = 'gold', traits = '{CUSTOM_A}'`)
	b.put("/v1/nodes/n2/maintenance", map[string]any{}).is(202)
	body := b.get("/temper/v1/nodes/available?resource_class=gold&conductor_group=&limit=2").is(200)
	nodes := body["nodes"].([]any)
	require.Len(t, nodes, 2)
	require.Equal(t, []any{}, nodes[0].(map[string]any)["requires"])
	require.Equal(t, []any{"CUSTOM_MAINTENANCE"}, nodes[1].(map[string]any)["requires"])
	require.Equal(t, "gold", nodes[0].(map[string]any)["resource_class"])
	next, err := url.Parse(body["next"].(string))
	require.NoError(t, err)
	require.Equal(t, "gold", next.Query().Get("resource_class"))
	require.Empty(t, b.get(next.RequestURI()).is(200)["nodes"])
	require.Len(t, b.get("/temper/v1/nodes/available?traits=CUSTOM_A").is(200)["nodes"], 1)
	require.Len(t, b.get("/temper/v1/nodes/available?traits=CUSTOM_A,CUSTOM_MAINTENANCE").is(200)["nodes"], 1)
	b.get("/temper/v1/nodes/available?traits=nonsense").fails(400)
	b.get("/temper/v1/nodes/available?sort_key=name").fails(400)
	b.get("/temper/v1/nodes/available?marker=n1").fails(400)

	require.NoError(t, b.store.DrainConductor(t.Context(), "c1", i))
	require.Empty(t, b.get("/temper/v1/nodes/available").is(200)["nodes"], "at once")
}

func TestTheTraitOfMaintenanceIsNotSetByHand(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	b.put("/v1/nodes/n1/traits/CUSTOM_MAINTENANCE", nil).fails(400)
	b.put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_A", "CUSTOM_MAINTENANCE"}}).fails(400)
}

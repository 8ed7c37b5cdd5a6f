package api_test

import (
	"net/url"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

func TestANodeThatNobodyCoversIsShownInMaintenance(t *testing.T) {
	t.Parallel()
	metrics := prometheus.NewRegistry()
	b := apitest.New(t, func(c *api.Config) { c.Metrics = metrics })
	i := b.Conductor("c1", "", "fake-hardware")
	uuid := b.Enrolled("n1")
	require.Equal(t, false, b.Field("n1", "maintenance"))
	require.NoError(t, b.Store.StopConductor(t.Context(), "c1", i))

	one := b.Get("/v1/nodes/n1").Is(200)
	require.Equal(t, true, one["maintenance"])
	require.Equal(t, "no conductor", one["fault"])
	require.Contains(t, one["maintenance_reason"], `No conductor service registered which supports driver fake-hardware for the default conductor group`)
	families, err := metrics.Gather()
	require.NoError(t, err)
	count := 0.0
	for _, f := range families {
		if f.GetName() == "temper_nodes_quarantined" {
			count = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.InDelta(t, 1, count, 0)
	list := b.Get("/v1/nodes?maintenance=true&fault=" + url.QueryEscape("no conductor")).Is(200)["nodes"].([]any)
	require.Len(t, list, 1)
	require.Equal(t, true, list[0].(map[string]any)["maintenance"])
	require.Empty(t, b.Get("/v1/nodes?maintenance=false").Is(200)["nodes"])

	b.Put("/v1/nodes/n1/maintenance", map[string]any{"reason": "fan"}).Is(202)
	require.Contains(t, b.Field("n1", "maintenance_reason"), "fan; No conductor")
	b.Delete("/v1/nodes/n1/maintenance").Is(202)
	require.Equal(t, true, b.Field("n1", "maintenance"))
	require.Equal(t, true, b.Patch("/v1/nodes/n1", apitest.Replace("/maintenance", false)).Is(200)["maintenance"], "quarantine is not lifted by hand")
	require.Equal(t, true, b.Patch("/v1/nodes/n1", apitest.Replace("/maintenance", true)).Is(200)["maintenance"])
	b.Conductor("c1", "", "fake-hardware")
	require.Equal(t, true, b.Field("n1", "maintenance"), "the operator's stays")
	require.Nil(t, b.Field("n1", "fault"))
	require.Equal(t, false, b.Patch("/v1/nodes/n1", apitest.Replace("/maintenance", false)).Is(200)["maintenance"])
	require.Equal(t, uuid, b.Field("n1", "uuid"))
}

func TestQuarantineGrantsNothingThatMaintenanceDoes(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	i := b.Conductor("c1", "", "fake-hardware")
	b.In("n1", "active")
	b.SQL(`UPDATE nodes SET instance_uuid = gen_random_uuid()`)
	require.NoError(t, b.Store.StopConductor(t.Context(), "c1", i))
	require.Equal(t, true, b.Field("n1", "maintenance"))
	b.Delete("/v1/nodes/n1").Fails(409)
	b.Conductor("c2", "other", "fake-hardware")
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "rebuild"}).Fails(404), "No valid host was found")
	require.NotContains(t, string(b.Last.Body), "maintenance mode")
}

package temper_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

func TestTheReconciliationCanBeRun(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	require.Contains(t, b.Post("/temper/v1/reconcile", nil).Fails(503), "Temporal is away")
	runs := 0
	metrics := prometheus.NewRegistry()
	b = apitest.New(t, func(c *api.Config) {
		c.Reconcile = func(context.Context) error { runs++; return nil }
		c.Metrics = metrics
	}).WithConductors()
	require.Equal(t, map[string]any{"queued": true, "late": true, "reconciled_seconds_ago": nil}, b.Post("/temper/v1/reconcile", nil).Is(202))
	require.Equal(t, 1, runs)
	require.Nil(t, b.Get("/temper/v1/readyz").Is(200)["reconciled_seconds_ago"])
	require.NoError(t, b.Store.Reconciled(t.Context()))
	b.SQL("UPDATE ring_epoch SET reconciled_at = reconciled_at - interval '42 seconds'")
	require.InDelta(t, 42, b.Get("/temper/v1/readyz").Is(200)["reconciled_seconds_ago"], 2)
	b.Kill("c1")
	told := map[string]float64{}
	families, err := metrics.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				told[f.GetName()+" "+l.GetValue()] = m.GetGauge().GetValue()
			}
			told[f.GetName()] = m.GetGauge().GetValue()
		}
	}
	require.InDelta(t, 42, told["temper_reconcile_age_seconds"], 2)
	require.Equal(t, 1, int(told["temper_conductors alive"]))
	require.Equal(t, 1, int(told["temper_conductors dead"]))
	require.Contains(t, told, "temper_ring_epoch")
}

package api_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

func TestRequestsAreNamedAndCounted(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	b := apitest.New(t, func(c *api.Config) { c.Metrics = registry })
	id := b.At(107, "GET", "/v1/nodes/a", nil).Header
	require.Regexp(t, `^req-[0-9a-f-]{36}$`, id.Get("Openstack-Request-Id"))
	require.Equal(t, id.Get("Openstack-Request-Id"), id.Get("X-Openstack-Request-Id"))
	require.Empty(t, b.At(106, "GET", "/v1/nodes/b", nil).Header.Get("X-Openstack-Request-Id"))
	b.Get("/nosuch/path")
	families, err := registry.Gather()
	require.NoError(t, err)
	routes := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "temper_http_requests_total" {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "route" {
						routes[l.GetValue()] += m.GetCounter().GetValue()
					}
				}
			}
		}
	}
	require.Equal(t, map[string]float64{"/v1/nodes/:node": 2, "none": 1}, routes, "by template, never by path")
}

// Clients that are not logged in must not be able to create any number of time series.
func TestInventedMethodsAreCountedAsOne(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	b := apitest.New(t, func(c *api.Config) { c.Metrics = registry })
	for i := range 50 {
		b.At(apitest.Newest, fmt.Sprintf("INVENTED%d", i), "/v1/nodes", nil).Fails(405)
	}
	b.Get("/v1/nodes").Is(200)
	families, err := registry.Gather()
	require.NoError(t, err)
	counted := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "temper_http_requests_total" {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "method" {
						counted[l.GetValue()] += m.GetCounter().GetValue()
					}
				}
			}
		}
		if f.GetName() == "temper_http_request_seconds" {
			require.LessOrEqual(t, len(f.GetMetric()), 2)
		}
	}
	require.Equal(t, map[string]float64{"other": 50, "GET": 1}, counted)
}

package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// scraped returns the gauges of the collector, as name{labels} value.
func scraped(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	families, err := r.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			out[fmt.Sprintf("%s{%s}", strings.TrimPrefix(f.GetName(), "temper_"), strings.Join(labels, ","))] = m.GetGauge().GetValue()
		}
	}
	return out
}

func TestSensorsBecomeMetricsWithBoundedLabels(t *testing.T) {
	parts := func(s node.HealthStatus) map[node.ComponentKind]node.HealthStatus {
		return map[node.ComponentKind]node.HealthStatus{node.ComponentFan: s}
	}
	read := func() []conductor.ReadHealth {
		return []conductor.ReadHealth{
			{UUID: "a", Health: bmc.Health{Status: node.HealthOK, Parts: parts(node.HealthOK), Readings: []bmc.Reading{
				{Quantity: bmc.Temperature, Place: bmc.PlaceIntake, Value: 22},
				{Quantity: bmc.Temperature, Place: bmc.PlaceIntake, Value: 24},
				{Quantity: bmc.PowerDraw, Value: 200},
				{Quantity: bmc.FanSpeed, Value: 8000},
				{Quantity: bmc.FanSpeed, Value: 7000},
			}}},
			{UUID: "b", Health: bmc.Health{Status: node.HealthCritical, Parts: parts(node.HealthCritical), Readings: []bmc.Reading{
				{Quantity: bmc.Temperature, Place: bmc.PlaceIntake, Value: 31}, {Quantity: bmc.PowerDraw, Value: 300.5}, {Quantity: bmc.FanPercent, Value: 40},
			}}},
			{UUID: "c", Health: bmc.Health{Status: node.HealthUnknown}},
		}
	}
	fleet := map[string]float64{
		"nodes_by_health{ok}": 1, "nodes_by_health{critical}": 1, "nodes_by_health{unknown}": 1, "nodes_by_health{warning}": 0,
		"nodes_by_component_health{fan,ok}": 1, "nodes_by_component_health{fan,critical}": 1, "nodes_by_component_health{fan,warning}": 0, "nodes_by_component_health{fan,unknown}": 0,
		"temperature_celsius_max{intake}": 31, "power_watts{}": 500.5,
	}
	require.Equal(t, fleet, scraped(t, healthCollector{read: read}))
	for k, v := range map[string]float64{
		"node_health_status{a}": 1, "node_health_status{b}": 3, "node_health_status{c}": 0,
		"node_temperature_celsius_max{a,intake}": 24, "node_temperature_celsius_max{b,intake}": 31,
		"node_power_watts{a}": 200, "node_power_watts{b}": 300.5, "node_fan_speed_rpm_min{a}": 7000, "node_fan_speed_percent_min{b}": 40,
	} {
		fleet[k] = v
	}
	require.Equal(t, fleet, scraped(t, healthCollector{read: read, perNode: true}))
}

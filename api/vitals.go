package api

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	conductorsByState = prometheus.NewDesc("temper_conductors",
		"Conductors by state: alive, draining, dead, stopped, counted at the scrape. Every API process tells the same.", []string{"state"}, nil)
	reconcileAge = prometheus.NewDesc("temper_reconcile_age_seconds", "How long ago a reconciliation ended last, at the scrape.", nil, nil)
	ringEpoch    = prometheus.NewDesc("temper_ring_epoch", "The newest epoch of the ring.", nil, nil)
)

// vitals asks when it is scraped, so that it is true with every orchestrator dead.
type vitals struct{ store Store }

// Describe is of prometheus.Collector.
func (vitals) Describe(to chan<- *prometheus.Desc) {
	to <- conductorsByState
	to <- reconcileAge
	to <- ringEpoch
}

// Collect is of prometheus.Collector.
func (v vitals) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTime)
	defer cancel()
	now, err := v.store.Vitals(ctx)
	if err != nil {
		return // a scrape that says nothing of it is no lie
	}
	for _, state := range []string{"alive", "draining", "dead", "stopped"} {
		to <- prometheus.MustNewConstMetric(conductorsByState, prometheus.GaugeValue, float64(now.Conductors[state]), state)
	}
	if now.Age >= 0 {
		to <- prometheus.MustNewConstMetric(reconcileAge, prometheus.GaugeValue, now.Age.Seconds())
	}
	to <- prometheus.MustNewConstMetric(ringEpoch, prometheus.GaugeValue, float64(now.Epoch))
}

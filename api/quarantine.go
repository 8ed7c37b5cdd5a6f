package api

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// countTime bounds the count of a scrape; what takes longer is left out of it.
const countTime = 2 * time.Second

var nodesQuarantined = prometheus.NewDesc("temper_nodes_quarantined",
	"Nodes that no live conductor covers, by conductor group and driver, counted at the scrape. Every API process tells the same.",
	[]string{"conductor_group", "driver"}, nil)

// quarantined counts when it is scraped, so that it is true with every
// orchestrator dead.
type quarantined struct{ store Store }

// Describe is of prometheus.Collector.
func (quarantined) Describe(to chan<- *prometheus.Desc) { to <- nodesQuarantined }

// Collect is of prometheus.Collector.
func (q quarantined) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTime)
	defer cancel()
	counts, err := q.store.Quarantined(ctx)
	if err != nil {
		return // a scrape that says nothing of it is no lie
	}
	for _, c := range counts {
		to <- prometheus.MustNewConstMetric(nodesQuarantined, prometheus.GaugeValue, float64(c.Nodes), c.Group, c.Driver)
	}
}

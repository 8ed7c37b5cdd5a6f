package compute

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/internal/client"
)

// Metrics are the metrics of a compute service. NewMetrics creates them; nil counts nothing.
type Metrics struct {
	cycles *prometheus.HistogramVec
}

// The outcomes of a cycle.
const (
	cyclePublished = "published" // the lease was renewed and the share is published
	cycleUnrenewed = "unrenewed" // the lease was not renewed
	cycleUnread    = "unread"    // the lease was renewed, but the share could not be read
	cycleOutpaced  = "outpaced"  // the lease was renewed, but there is already a newer epoch
)

// NewMetrics creates the metrics of a service and registers them. The gauges are computed at
// each scrape, so that they show at once when the lease has expired.
func NewMetrics(r prometheus.Registerer, s *Service) *Metrics {
	m := &Metrics{cycles: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "temper_compute_cycle_duration_seconds", Buckets: prometheus.DefBuckets,
		Help: "One cycle, by outcome: published; unrenewed, the lease was not renewed; unread, the share could not be read; outpaced, there is a newer epoch already.",
	}, []string{"outcome"})}
	for _, outcome := range []string{cyclePublished, cycleUnrenewed, cycleUnread, cycleOutpaced} {
		m.cycles.WithLabelValues(outcome) // an outcome that has not occurred is 0 instead of missing
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	r.MustRegister(m.cycles,
		gauge("temper_compute_nodes", "Nodes that are published.", s.count(func(client.ComputeNode) bool { return true })),
		gauge("temper_compute_free_nodes", "Nodes that are published and can be had by whoever knows requires.", s.count(free)),
		gauge("temper_compute_epoch", "The epoch whose share is published; 0 without one.", func() float64 { return float64(s.publishedEpoch()) }),
		gauge("temper_compute_lease_seconds", "For how long the service may go on publishing without a renewal; 0 when it publishes nothing.", s.leaseSeconds))
	return m
}

// free reports whether a node has capacity left.
func free(n client.ComputeNode) bool { return n.Total > n.Used+n.Reserved }

func (s *Service) count(which func(client.ComputeNode) bool) func() float64 {
	return func() float64 {
		_, nodes, _, _ := s.current()
		sum := 0
		for _, n := range nodes {
			if which(n) {
				sum++
			}
		}
		return float64(sum)
	}
}

// leaseSeconds returns for how many seconds the lease is still valid.
func (s *Service) leaseSeconds() float64 {
	_, _, until, live := s.current()
	if !live {
		return 0
	}
	return time.Until(until).Seconds()
}

func (m *Metrics) cycle(outcome string, took time.Duration) {
	if m != nil {
		m.cycles.WithLabelValues(outcome).Observe(took.Seconds())
	}
}

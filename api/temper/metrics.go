package temper

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/status"
)

// countTimeout bounds the query of a scrape. Its metrics are left out if it takes longer.
const countTimeout = 2 * time.Second

var nodesQuarantined = prometheus.NewDesc("temper_nodes_quarantined",
	"Nodes that no live conductor covers, by conductor group and driver, counted at the scrape. Every API process tells the same.",
	[]string{"conductor_group", "driver"}, nil)

// quarantineCollector counts at every scrape, so that the value is true even if every
// orchestrator is dead.
type quarantineCollector struct{ store intent.Store }

// Describe is of prometheus.Collector.
func (quarantineCollector) Describe(to chan<- *prometheus.Desc) { to <- nodesQuarantined }

// Collect is of prometheus.Collector.
func (q quarantineCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	counts, err := q.store.Quarantined(ctx)
	if err != nil {
		return // without an answer of the database there is no value to export
	}
	for _, c := range counts {
		to <- prometheus.MustNewConstMetric(nodesQuarantined, prometheus.GaugeValue, float64(c.Nodes), c.Group, c.Driver)
	}
}

var (
	conductorsByState = prometheus.NewDesc("temper_conductors",
		"Conductors by state: "+strings.Join(coverage.States, ", ")+", counted at the scrape. Every API process tells the same.", []string{"state"}, nil)
	conductorsLate = prometheus.NewDesc("temper_conductors_late",
		"Conductors that count as alive and have sent no heartbeat for longer than two of their intervals, counted at the scrape.", nil, nil)
	reconcileAge = prometheus.NewDesc("temper_reconcile_age_seconds", "How long ago a reconciliation ended last, at the scrape.", nil, nil)
	ringEpoch    = prometheus.NewDesc("temper_ring_epoch", "The newest epoch of the ring.", nil, nil)
)

// fleetCollector asks at every scrape, so that the values are true even if every
// orchestrator is dead.
type fleetCollector struct{ store intent.Store }

// Describe is of prometheus.Collector.
func (fleetCollector) Describe(to chan<- *prometheus.Desc) {
	to <- conductorsByState
	to <- conductorsLate
	to <- reconcileAge
	to <- ringEpoch
}

// Collect is of prometheus.Collector.
func (v fleetCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	now, err := v.store.FleetHealth(ctx)
	if err != nil {
		return // without an answer of the database there is no value to export
	}
	for _, state := range coverage.States {
		to <- prometheus.MustNewConstMetric(conductorsByState, prometheus.GaugeValue, float64(now.Conductors[state]), state)
	}
	to <- prometheus.MustNewConstMetric(conductorsLate, prometheus.GaugeValue, float64(now.LateCount))
	if now.Age >= 0 {
		to <- prometheus.MustNewConstMetric(reconcileAge, prometheus.GaugeValue, now.Age.Seconds())
	}
	to <- prometheus.MustNewConstMetric(ringEpoch, prometheus.GaugeValue, float64(now.Epoch))
}

var partOK = prometheus.NewDesc("temper_part_ok",
	"Whether a part of Temper is all right, as GET /temper/v1/status says, at the scrape: 1 or 0. A part of which this API process does not know it is left out.",
	[]string{"part"}, nil)

// partCollector asks at every scrape what GET /temper/v1/status asks.
type partCollector struct{ server *Server }

// Describe is of prometheus.Collector.
func (partCollector) Describe(to chan<- *prometheus.Desc) { to <- partOK }

// Collect is of prometheus.Collector.
func (p partCollector) Collect(to chan<- prometheus.Metric) {
	for _, part := range status.Parts(p.server.system(context.Background(), true)) {
		if part.OK == nil {
			continue
		}
		value := 0.0
		if *part.OK {
			value = 1
		}
		to <- prometheus.MustNewConstMetric(partOK, prometheus.GaugeValue, value, part.Name)
	}
}

var (
	eventStreams  = prometheus.NewDesc("temper_event_streams", "Event streams of this API process.", nil, nil)
	eventResets   = prometheus.NewDesc("temper_event_resets_total", "How often a stream was told that the events it asked for are not kept any more.", nil, nil)
	eventsRefused = prometheus.NewDesc("temper_event_streams_refused_total", "Event streams that were refused because there were too many.", nil, nil)
	eventsBehind  = prometheus.NewDesc("temper_event_behind_seconds",
		"For how long event streams have been waiting for a transaction that has written events and is still open; 0 = for none.", nil, nil)
)

// eventCollector tells of the event streams.
type eventCollector struct{ hub *events.Hub }

// Describe is of prometheus.Collector.
func (eventCollector) Describe(to chan<- *prometheus.Desc) {
	to <- eventStreams
	to <- eventResets
	to <- eventsRefused
	to <- eventsBehind
}

// Collect is of prometheus.Collector.
func (v eventCollector) Collect(to chan<- prometheus.Metric) {
	now := v.hub.Health()
	to <- prometheus.MustNewConstMetric(eventStreams, prometheus.GaugeValue, float64(now.Streams))
	to <- prometheus.MustNewConstMetric(eventResets, prometheus.CounterValue, float64(now.Resets))
	to <- prometheus.MustNewConstMetric(eventsRefused, prometheus.CounterValue, float64(now.Refused))
	to <- prometheus.MustNewConstMetric(eventsBehind, prometheus.GaugeValue, now.Behind.Seconds())
}

var (
	lockWaiters = prometheus.NewDesc("temper_node_locked_waiters", "Requests of this API process that wait for the end of an operation that holds their node for a moment.", nil, nil)
	lockWaits   = prometheus.NewDesc("temper_node_locked_waits_total",
		"Requests that met such an operation, by what became of them: answered after the wait, timed_out with 409, refused with 409 at once because too many waited, left by their client.", []string{"outcome"}, nil)
)

// lockCollector tells of the requests that wait for nodes.
type lockCollector struct{ service *intent.Service }

// Describe is of prometheus.Collector.
func (lockCollector) Describe(to chan<- *prometheus.Desc) {
	to <- lockWaiters
	to <- lockWaits
}

// Collect is of prometheus.Collector.
func (v lockCollector) Collect(to chan<- prometheus.Metric) {
	now := v.service.LockWaits()
	to <- prometheus.MustNewConstMetric(lockWaiters, prometheus.GaugeValue, float64(now.Waiting))
	for outcome, n := range map[string]int64{"answered": now.Answered, "timed_out": now.TimedOut, "refused": now.Refused, "left": now.Left} {
		to <- prometheus.MustNewConstMetric(lockWaits, prometheus.CounterValue, float64(n), outcome)
	}
}

var (
	webhookDeliveries = prometheus.NewDesc("temper_webhook_deliveries_total", "Events that the endpoint of a webhook has taken. Every API process tells the same.", []string{"webhook"}, nil)
	webhookFailures   = prometheus.NewDesc("temper_webhook_failures_total", "Tries that failed, by webhook.", []string{"webhook"}, nil)
	webhookDead       = prometheus.NewDesc("temper_webhook_dead_letters", "Events that were given up and are kept, by webhook.", []string{"webhook"}, nil)
	webhookBehind     = prometheus.NewDesc("temper_webhook_behind_seconds",
		"How old the oldest event is that was not delivered yet or looked at, by enabled webhook; 0 = there is none.", []string{"webhook"}, nil)
)

// webhookCollector asks at every scrape, so that the values are true even if every orchestrator is dead.
type webhookCollector struct{ store intent.Store }

// Describe is of prometheus.Collector.
func (webhookCollector) Describe(to chan<- *prometheus.Desc) {
	to <- webhookDeliveries
	to <- webhookFailures
	to <- webhookDead
	to <- webhookBehind
}

// Collect is of prometheus.Collector.
func (v webhookCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	all, err := v.store.Webhooks(ctx)
	if err != nil {
		return // without an answer of the database there is no value to export
	}
	for _, w := range all {
		to <- prometheus.MustNewConstMetric(webhookDeliveries, prometheus.CounterValue, float64(w.Deliveries), w.Name)
		to <- prometheus.MustNewConstMetric(webhookFailures, prometheus.CounterValue, float64(w.Failures), w.Name)
		to <- prometheus.MustNewConstMetric(webhookDead, prometheus.GaugeValue, float64(w.DeadLetters), w.Name)
		if !w.Enabled {
			continue
		}
		behind := 0.0
		if w.Behind != nil {
			behind = max(0, time.Since(*w.Behind).Seconds())
		}
		to <- prometheus.MustNewConstMetric(webhookBehind, prometheus.GaugeValue, behind, w.Name)
	}
}

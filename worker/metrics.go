package worker

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/node"
)

// Metrics count what operations, steps and BMCs do.
type Metrics struct {
	registerer prometheus.Registerer
	operations *prometheus.CounterVec
	took       *prometheus.HistogramVec
	steps      *prometheus.HistogramVec
	bmc        *prometheus.HistogramVec
	waits      *prometheus.HistogramVec
	lost       *prometheus.CounterVec
	leftOut    prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	slow := []float64{.01, .05, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600}
	m := &Metrics{
		registerer: r,
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "temper_operations_ended_total", Help: "Operations that ended, by kind and outcome.",
		}, []string{"kind", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "temper_operation_duration_seconds", Help: "From acceptance to end, by kind and outcome.", Buckets: slow,
		}, []string{"kind", "outcome"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "temper_step_duration_seconds", Help: "One attempt at a step, by interface, step and outcome.", Buckets: slow,
		}, []string{"interface", "step", "outcome"}),
		bmc: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "temper_bmc_request_duration_seconds", Help: "Requests to BMCs, by method (with IPMI: the command) and outcome.", Buckets: append(slices.Clone(prometheus.DefBuckets), 20, 40, 60),
		}, []string{"method", "outcome"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "temper_queue_wait_seconds", Help: "From scheduling to a conductor's taking the steps of an operation, by group and driver.", Buckets: slow,
		}, []string{"conductor_group", "driver"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "temper_claims_lost_total",
			Help: "What was refused because another claim is newer, or the operation another run's or over: claim, guard (of a request to hardware), save, begin, undo, close.",
		}, []string{"refused"}),
		leftOut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "temper_inspection_macs_left_out_total", Help: "MACs that inspections found and that got no port, because they belong to another node or are too many.",
		}),
	}
	r.MustRegister(m.operations, m.took, m.steps, m.bmc, m.waits, m.lost, m.leftOut)
	return m
}

func (m *Metrics) ended(k node.OperationKind, o node.Outcome, d time.Duration) {
	m.operations.WithLabelValues(string(k), string(o)).Inc()
	m.took.WithLabelValues(string(k), string(o)).Observe(d.Seconds())
}

// Observer feeds steps into the metrics.
func (m *Metrics) Observer() conductor.Observer {
	return conductor.Observer{
		Step: func(iface, step, outcome string, d time.Duration) {
			m.steps.WithLabelValues(iface, step, outcome).Observe(d.Seconds())
		},
		Wait: func(group, driver string, d time.Duration) {
			m.waits.WithLabelValues(group, driver).Observe(d.Seconds())
		},
		Lost:    m.refused,
		LeftOut: func(n int) { m.leftOut.Add(float64(n)) },
	}
}

func (m *Metrics) refused(what string) { m.lost.WithLabelValues(what).Inc() }

// BMC is told of each request to a BMC.
func (m *Metrics) BMC(method, outcome string, d time.Duration) {
	m.bmc.WithLabelValues(method, outcome).Observe(d.Seconds())
}

// Conductor registers what a conductor tells of its BMCs: how many give no answer, since how long, and how many need longer than
// usual for one.
func (m *Metrics) Conductor(reach *conductor.Reach, slow func() int) {
	gauge := func(name, help string, n func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(n()) })
	}
	m.registerer.MustRegister(
		gauge("temper_bmcs_silent", "BMCs that gave this conductor no answer when it asked last, in the last five minutes.", reach.Silent),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "temper_bmc_longest_silence_seconds", Help: "For how long the BMC that has been silent longest has given this conductor no answer; 0 = none is silent.",
		}, func() float64 { return reach.LongestSilence().Seconds() }),
		gauge("temper_bmcs_slow", "BMCs whose answers this conductor awaits for longer than bmc_request_timeout.", slow))
}

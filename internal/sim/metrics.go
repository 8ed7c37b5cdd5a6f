package sim

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/internal/sim/machine"
)

// metrics counts requests to BMCs and commands to agents.
type metrics struct {
	requests *prometheus.CounterVec
	commands *prometheus.CounterVec
}

func newMetrics(to prometheus.Registerer, servers []*machine.Server) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "temper_rack_bmc_requests_total", Help: "Requests to simulated BMCs; code 0 is a connection that was cut.",
		}, []string{"method", "code"}),
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "temper_rack_agent_commands_total", Help: "Commands that simulated agents brought to an end.",
		}, []string{"command", "status"}),
	}
	if to == nil {
		return m, nil
	}
	gauge := func(name, help string, is func(*machine.Server) bool) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			n := 0
			for _, s := range servers {
				if is(s) {
					n++
				}
			}
			return float64(n)
		})
	}
	return m, errors.Join(
		to.Register(m.requests), to.Register(m.commands),
		to.Register(gauge("temper_rack_servers", "Simulated servers.", func(*machine.Server) bool { return true })),
		to.Register(gauge("temper_rack_servers_on", "Simulated servers that are on.", func(s *machine.Server) bool {
			return s.PowerState() == machine.On
		})),
	)
}

func (m *metrics) command(name, status string) { m.commands.WithLabelValues(name, status).Inc() }

// count counts the requests that next answers.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &statusRecorder{ResponseWriter: w}
		defer func() { m.requests.WithLabelValues(method(r.Method), strconv.Itoa(c.status)).Inc() }()
		next.ServeHTTP(c, r)
	})
}

// method returns the label for a method, so that clients can't create label values.
func method(s string) string {
	switch s {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete:
		return s
	}
	return "other"
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (c *statusRecorder) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController, with which faults take over the connection.
func (c *statusRecorder) Unwrap() http.ResponseWriter { return c.ResponseWriter }

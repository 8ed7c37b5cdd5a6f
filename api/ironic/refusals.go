package ironic

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/jsonlimit"
)

// refusals counts the refused requests of agents, or of clients that claim to be one.
// The label has a fixed set of values, all of which are exported from the beginning.
type refusals struct{ agents *prometheus.CounterVec }

// The requests of agents.
const (
	askLookup    = "lookup"
	askToken     = "token" // a lookup that was answered without the token, because another machine had it
	askHeartbeat = "heartbeat"
	askInventory = "inventory"
)

func newRefusals(r prometheus.Registerer) (*refusals, error) {
	f := &refusals{
		agents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "temper_agent_requests_refused_total", Help: "Refused requests of agents, or of clients that claim to be one, by request.",
		}, []string{"request"}),
	}
	for _, request := range []string{askLookup, askToken, askHeartbeat, askInventory} {
		f.agents.WithLabelValues(request)
	}
	if r == nil {
		return f, nil
	}
	return f, r.Register(f.agents)
}

// agent counts a request that was refused because of its content. It does not count
// internal errors, except for a budget that is used up.
func (f *refusals) agent(request string, err error) {
	if format.StatusOf(err) < http.StatusInternalServerError || errors.Is(err, jsonlimit.ErrBusy) {
		f.agents.WithLabelValues(request).Inc()
	}
}

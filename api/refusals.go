package api

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/internal/jsonlimit"
)

// refusals counts refused requests. Every label has a fixed set of values, all of
// which are exported from the beginning.
type refusals struct {
	bodies *prometheus.CounterVec
	agents *prometheus.CounterVec
}

// Why a body was refused, beside the bounds of package jsonlimit.
const (
	refusedBudget = "budget" // too much was being read at once
	refusedOther  = "other"  // it ended too early, or came too slowly
)

// The requests of agents, or of clients that claim to be one.
const (
	askLookup    = "lookup"
	askHeartbeat = "heartbeat"
	askInventory = "inventory"
)

func newRefusals(r prometheus.Registerer) (*refusals, error) {
	f := &refusals{
		bodies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "temper_http_bodies_refused_total", Help: "Request bodies that were refused, by the limit that they exceeded.",
		}, []string{"bound"}),
		agents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "temper_agent_requests_refused_total", Help: "Refused requests of agents, or of clients that claim to be one, by request.",
		}, []string{"request"}),
	}
	for _, bound := range []string{string(jsonlimit.Bytes), string(jsonlimit.Elements), string(jsonlimit.Depth), refusedBudget, refusedOther} {
		f.bodies.WithLabelValues(bound)
	}
	for _, request := range []string{askLookup, askHeartbeat, askInventory} {
		f.agents.WithLabelValues(request)
	}
	if r == nil {
		return f, nil
	}
	return f, errors.Join(r.Register(f.bodies), r.Register(f.agents))
}

func (f *refusals) body(err error) {
	bound := string(jsonlimit.Exceeded(err))
	switch {
	case bound != "":
	case errors.Is(err, jsonlimit.ErrBusy):
		bound = refusedBudget
	default:
		bound = refusedOther
	}
	f.bodies.WithLabelValues(bound).Inc()
}

// agent counts a request that was refused because of its content. It does not count
// internal errors, except for a budget that is used up.
func (f *refusals) agent(request string, err error) {
	if statusOf(err) < http.StatusInternalServerError || errors.Is(err, jsonlimit.ErrBusy) {
		f.agents.WithLabelValues(request).Inc()
	}
}

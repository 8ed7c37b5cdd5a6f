package temper

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/status"
)

// Config is what Temper's own resources need beside an intent.Service. Package api
// documents the settings and sets their defaults.
type Config struct {
	Ready         func(context.Context) error
	Ask           func(context.Context) status.Dependencies
	Setup         func(context.Context) *status.Setup
	Version       string
	Reconcile     func(context.Context) error // nil: there is none to run
	ReconcileLate time.Duration
	Events        *events.Hub
	Webhooks      WebhookSender
}

// Server answers Temper's own resources. It is safe for concurrent use.
type Server struct {
	*intent.Service
	Config
	bmcEvents *bmcEventLimits
}

// New makes a Server and registers its metrics; metrics may be nil.
func New(s *intent.Service, c Config, metrics prometheus.Registerer) (*Server, error) {
	out := &Server{Service: s, Config: c, bmcEvents: newBMCEventLimits()}
	if metrics != nil {
		for _, m := range []prometheus.Collector{quarantineCollector{s.Store}, fleetCollector{s.Store}, partCollector{out}, eventCollector{c.Events}, lockCollector{s}, webhookCollector{s.Store}} {
			if err := metrics.Register(m); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Routes are the routes of /temper/v1.
func (s *Server) Routes() []httpd.Route {
	return slices.Concat(s.ownRoutes(), s.discoveryRoutes(), s.webhookRoutes(), s.accessRoutes(), s.fleetRoutes(), s.computeRoutes())
}

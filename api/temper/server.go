package temper

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
)

// Config is what Temper's own resources need beside an intent.Service. Package api
// documents the settings and sets their defaults.
type Config struct {
	Ready         func(context.Context) error
	Reconcile     func(context.Context) error // nil: there is none to run
	ReconcileLate time.Duration
}

// Server answers Temper's own resources. It is safe for concurrent use.
type Server struct {
	*intent.Service
	Config
}

// New makes a Server and registers its metrics; metrics may be nil.
func New(s *intent.Service, c Config, metrics prometheus.Registerer) (*Server, error) {
	if metrics != nil {
		for _, m := range []prometheus.Collector{quarantineCollector{s.Store}, fleetCollector{s.Store}} {
			if err := metrics.Register(m); err != nil {
				return nil, err
			}
		}
	}
	return &Server{Service: s, Config: c}, nil
}

// Routes are the routes of /temper/v1.
func (s *Server) Routes() []httpd.Route {
	return slices.Concat(s.ownRoutes(), s.fleetRoutes(), s.computeRoutes())
}

package ironic

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
)

// Server answers Ironic's resources. It is safe for concurrent use.
type Server struct {
	*intent.Service
	Agent   AgentSettings
	refused *refusals
}

// New makes a Server and registers its metrics; metrics may be nil.
func New(s *intent.Service, agent AgentSettings, metrics prometheus.Registerer) (*Server, error) {
	refused, err := newRefusals(metrics)
	if err != nil {
		return nil, err
	}
	return &Server{Service: s, Agent: agent, refused: refused}, nil
}

// Routes are the routes of /v1 and the document at the root.
func (s *Server) Routes() []httpd.Route {
	return slices.Concat(s.ironicRoutes(), s.chassisRoutes(), s.portgroupRoutes(), s.volumeRoutes(), s.deployTemplateRoutes(), s.runbookRoutes(), s.nodeRoutes(), s.vendorRoutes(), s.allocationRoutes())
}

package temper

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/coverage"
)

// shownConductor is a conductor as /temper/v1 shows it.
func shownConductor(k *coverage.Conductor, nodes int) gin.H {
	return gin.H{
		"hostname": k.Hostname, "conductor_group": k.Group, "state": k.State(), "drivers": intent.DriversOf(k), "nodes": nodes,
		"started_at": format.Timestamp(&k.StartedAt), "heartbeat_at": format.Timestamp(&k.HeartbeatAt), "temporal_at": format.Timestamp(&k.PolledAt),
		"stopped_at": format.Timestamp(k.StoppedAt),
	}
}

// listFleet answers GET /temper/v1/conductors: all that ever registered and were
// not forgotten, by name.
func (s *Server) listFleet(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	all, err := s.Store.Conductors(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	owned, err := s.Store.Owned(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	out := make([]gin.H, 0, len(all))
	for i := range all {
		out = append(out, shownConductor(&all[i], owned[all[i].Hostname]))
	}
	return http.StatusOK, gin.H{"conductors": out}, nil
}

// drainConductor answers POST /temper/v1/conductors/NAME/drain: it takes no new
// steps and hands over those it has. 409 for the last that covers some node,
// unless force is set.
func (s *Server) drainConductor(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "force")
	if err != nil {
		return 0, nil, err
	}
	force := in.Boolean("force")
	if in.Err != nil {
		return 0, nil, in.Err
	}
	k, err := s.Store.AskDrain(c.Request.Context(), c.Param("conductor"), force != nil && *force)
	if err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("conductor asked to drain", zap.String("conductor", k.Hostname), zap.Boolp("force", force), zap.String("user", httpd.User(c)))
	s.reconcileSoon(c)
	owned, err := s.Store.Owned(c.Request.Context())
	if err != nil { // it drains all the same
		httpd.Logger(c).Warn("nodes of the conductor not counted", zap.Error(err))
	}
	return http.StatusAccepted, shownConductor(k, owned[k.Hostname]), nil
}

// forgetConductor answers DELETE /temper/v1/conductors/NAME. 409 for one that is alive.
func (s *Server) forgetConductor(c *gin.Context) (int, any, error) {
	if err := s.Store.ForgetConductor(c.Request.Context(), c.Param("conductor")); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("conductor forgotten", zap.String("conductor", c.Param("conductor")), zap.String("user", httpd.User(c)))
	s.reconcileSoon(c)
	return http.StatusNoContent, nil, nil
}

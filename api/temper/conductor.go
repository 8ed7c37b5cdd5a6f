package temper

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/help"
)

// shownConductor is a conductor as /temper/v1 shows it.
func (w workload) shownConductor(k *coverage.Conductor) gin.H {
	items := []help.Item{}
	for _, a := range explain.OfConductor(*k, w.settings) {
		items = append(items, help.Of(nil, a))
	}
	return gin.H{
		"help": items, "hostname": k.Hostname, "conductor_group": k.Group, "state": k.State(), "alive": k.Alive, "late": k.Late, "draining": k.Draining,
		"drivers": intent.DriversOf(k), "nodes": w.nodes[k.Hostname], "steps": w.steps[k.Hostname],
		"started_at": format.Timestamp(&k.StartedAt), "heartbeat_at": format.Timestamp(&k.HeartbeatAt), "temporal_at": format.Timestamp(&k.PolledAt),
		"stopped_at": format.Timestamp(k.StoppedAt), "version": format.OrNull(w.versions[k.Hostname]),
	}
}

// workload is how many nodes each conductor owns, how many steps it runs, and its version, by name, and the file with the settings of a
// conductor that is started.
type workload struct {
	settings     string
	nodes, steps map[string]int
	versions     map[string]string
}

func (s *Server) workload(ctx context.Context) (w workload, err error) {
	w.settings = s.Settings
	if w.nodes, err = s.Store.Owned(ctx); err != nil {
		return w, err
	}
	if w.steps, err = s.Store.Working(ctx); err != nil {
		return w, err
	}
	w.versions, err = s.Store.ConductorVersions(ctx)
	return w, err
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
	load, err := s.workload(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	out := make([]gin.H, 0, len(all))
	for i := range all {
		out = append(out, load.shownConductor(&all[i]))
	}
	return http.StatusOK, gin.H{"conductors": out}, nil
}

// getConductor answers GET /temper/v1/conductors/NAME.
func (s *Server) getConductor(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	k, err := s.Store.Conductor(c.Request.Context(), c.Param("conductor"))
	if err != nil {
		return 0, nil, err
	}
	load, err := s.workload(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, load.shownConductor(k), nil
}

// drainConductor answers POST /temper/v1/conductors/NAME/drain: it takes no new
// steps and hands over those it has. 409 for the last that covers some node,
// unless force is set.
func (s *Server) drainConductor(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "force", "reason")
	if err != nil {
		return 0, nil, err
	}
	force, reason := in.Boolean("force"), in.Reason()
	if in.Err != nil {
		return 0, nil, in.Err
	}
	if err := needReason(c, reason); err != nil {
		return 0, nil, err
	}
	k, err := s.Store.AskDrain(c.Request.Context(), c.Param("conductor"), force != nil && *force)
	if err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("conductor asked to drain", zap.String("conductor", k.Hostname), zap.Boolp("force", force), zap.String("reason", reason), zap.String("user", httpd.User(c)))
	return s.acceptedFor(c, k)
}

// undrainConductor answers POST /temper/v1/conductors/NAME/undrain: it takes new steps
// again. 409 for one that is not alive, or is being stopped.
func (s *Server) undrainConductor(c *gin.Context) (int, any, error) {
	if _, err := format.ReadObject(c, format.MaxBody); err != nil {
		return 0, nil, err
	}
	k, err := s.Store.AskUndrain(c.Request.Context(), c.Param("conductor"))
	if err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("conductor asked to take work again", zap.String("conductor", k.Hostname), zap.String("user", httpd.User(c)))
	return s.acceptedFor(c, k)
}

// acceptedFor answers a request that changes who covers which nodes.
func (s *Server) acceptedFor(c *gin.Context, k *coverage.Conductor) (int, any, error) {
	s.reconcileSoon(c)
	load, err := s.workload(c.Request.Context())
	if err != nil { // it was accepted all the same
		httpd.Logger(c).Warn("the nodes and steps of the conductor could not be counted", zap.Error(err))
	}
	return http.StatusAccepted, load.shownConductor(k), nil
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

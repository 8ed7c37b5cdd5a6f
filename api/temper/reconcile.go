package temper

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/status"
)

// postReconcile answers POST /temper/v1/reconcile: it queues a reconciliation, which an
// orchestrator runs. The answer says when the last one ended.
func (s *Server) postReconcile(c *gin.Context) (int, any, error) {
	if _, err := format.ReadObject(c, format.MaxBody); err != nil {
		return 0, nil, err
	}
	if s.Reconcile == nil {
		return 0, nil, intent.TemporalError(fault.New(fault.Unavailable, "nothing reconciles here"))
	}
	if err := s.Reconcile(c.Request.Context()); err != nil {
		return 0, nil, intent.TemporalError(err)
	}
	v, err := s.Store.FleetHealth(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	system := status.System{Fleet: &v, Late: s.ReconcileLate}
	return http.StatusAccepted, gin.H{"queued": true, "late": system.Unreconciled() != "", "reconciled_seconds_ago": secondsAgo(v)}, nil
}

// reconcileSoon triggers a reconciliation after a change that the ring should follow at
// once. If that fails, the next scheduled one does it.
func (s *Server) reconcileSoon(c *gin.Context) {
	if s.Reconcile == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), s.StartTimeout)
	defer cancel()
	if err := s.Reconcile(ctx); err != nil {
		httpd.Logger(c).Warn("reconciliation could not be triggered, the schedule runs it", zap.Error(err))
	}
}

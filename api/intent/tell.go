package intent

import (
	"context"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// TellPaused tells the workflow of an open operation, if there is one that can hear
// of it, that maintenance was set or lifted: a step that runs sees it by itself.
func (s *Service) TellPaused(c *gin.Context, o *node.Operation) {
	if o != nil && o.WorkflowWaits() && o.BegunAt != nil {
		s.Tell(c, o, "nudge", s.Operations.Nudge)
	}
}

// Start hands an operation that was just committed to whoever runs it. What
// fails here is lost time, never the request: reconciliation reads the row.
func (s *Service) Start(c *gin.Context, o *node.Operation) {
	s.Tell(c, o, "start", s.Operations.Start)
}

// Nudge tells a running operation that somebody asked for something. What is
// to stop is cancelled, so that a step at work hears of it, too; what is paused in
// Temporal is unpaused for what could not be done otherwise. Reconciliation repeats
// the same.
func (s *Service) Nudge(c *gin.Context, o *node.Operation) {
	if o.TemporalPause != nil && node.Unpauses(o.Asked) {
		s.Tell(c, o, "unpause", func(ctx context.Context, o *node.Operation) error {
			return s.Operations.Unpause(ctx, o, httpd.By(c), string(o.Asked)+" was asked for")
		})
	}
	if o.Asked.Interrupts() {
		s.Tell(c, o, "cancel", func(ctx context.Context, o *node.Operation) error {
			return s.Operations.Cancel(ctx, o, o.AskedReason)
		})
		return
	}
	s.Tell(c, o, "nudge", s.Operations.Nudge)
}

// Tell calls tell, which tells the workflow of o something; what names that in the log.
// A workflow that can't be told is told by reconciliation.
func (s *Service) Tell(c *gin.Context, o *node.Operation, what string, tell func(context.Context, *node.Operation) error) {
	// The request may be over before the workflow knows; the intent is not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), s.StartTimeout)
	defer cancel()
	if err := tell(ctx, o); err != nil {
		httpd.Logger(c).Warn("workflow not told, reconciliation will", zap.String("what", what),
			zap.String("node", o.NodeUUID), zap.Int64("operation", o.ID), zap.Error(err))
	}
}

// TemporalError is an error of Temporal as a request ends with it; what a workflow
// refused stays as it is.
func TemporalError(err error) error {
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Unreachable) {
		return fault.Coded(fault.TemporalUnavailable, "%w", err)
	}
	return err
}

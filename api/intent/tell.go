package intent

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// TellPaused tells the workflow of o that maintenance was set or lifted. o may be nil. A
// workflow whose step runs is not told: the step reads the row itself.
func (s *Service) TellPaused(c *gin.Context, o *node.Operation) {
	if o != nil && o.WorkflowWaits() && o.BegunAt != nil {
		s.Tell(c, o, "nudge", s.Operations.Nudge)
	}
}

// HeaderWarning is the header of an answer to a request that was accepted, and takes effect only when Temporal answers
// again. It says so in a sentence without a full stop.
const HeaderWarning = "Temper-Warning"

// The values of HeaderWarning.
const (
	startsLate = "Temporal does not answer: the request is accepted, and its operation begins when Temporal answers"
	heardLate  = "Temporal does not answer: the request is accepted, and takes effect when Temporal answers"
)

// startsAtOnce is how many workflows an API process starts at a time, and startTurn is how long a request waits for its turn. More
// starts at once make Temporal slower than StartTimeout, and it then works only on starts whose callers have given up. A client
// that waits for its turn sends no other request meanwhile. docs/performance.md has the figures.
const (
	startsAtOnce = 8
	startTurn    = 5 * time.Second
)

// Start starts the workflow of an operation that was just committed. If that fails, or if its turn does not come, the
// request is not lost, only late: reconciliation finds the row and starts the workflow.
func (s *Service) Start(c *gin.Context, o *node.Operation) {
	late := time.NewTimer(startTurn)
	defer late.Stop()
	select {
	case s.starts <- struct{}{}:
		defer func() { <-s.starts }()
		s.tell(c, o, "start", startsLate, s.Operations.Start)
	case <-late.C:
		s.warnLate(c, o, "start", startsLate, fault.New(fault.Unavailable, "%d other workflows are being started", startsAtOnce))
	}
}

// Nudge tells the workflow of o that somebody asked for something. If o is to end, the
// workflow is cancelled, so that a running step notices. If the workflow is paused in
// Temporal and could not do what was asked, it is unpaused. Reconciliation repeats all of
// this.
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

// Tell calls tell. If that fails, the answer says so (HeaderWarning), and so does the log, where what names the call.
// Reconciliation repeats a call that failed.
func (s *Service) Tell(c *gin.Context, o *node.Operation, what string, tell func(context.Context, *node.Operation) error) {
	s.tell(c, o, what, heardLate, tell)
}

func (s *Service) tell(c *gin.Context, o *node.Operation, what, warning string, tell func(context.Context, *node.Operation) error) {
	// The client may go away in the meantime; what it asked for is committed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), s.StartTimeout)
	defer cancel()
	if err := tell(ctx, o); err != nil {
		s.warnLate(c, o, what, warning, err)
	}
}

func (s *Service) warnLate(c *gin.Context, o *node.Operation, what, warning string, err error) {
	c.Header(HeaderWarning, warning)
	httpd.Logger(c).Warn("workflow not told, reconciliation will", zap.String("what", what),
		zap.String("node", o.NodeUUID), zap.Int64("operation", o.ID), zap.Error(err))
}

// TemporalError gives an error its code if Temporal could not be reached. The refusal of
// a workflow stays as it is.
func TemporalError(err error) error {
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Unreachable) {
		return fault.Coded(fault.TemporalUnavailable, "%w", err)
	}
	return err
}

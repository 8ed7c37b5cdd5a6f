package temper

import (
	"context"
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// unpauseOperation answers POST /temper/v1/operations/ID/unpause: what somebody
// has paused in Temporal goes on, with as much time left for what it waits for as
// it had then. One that is not paused there stays as it is. 409 when it has ended.
func (s *Server) unpauseOperation(c *gin.Context) (int, any, error) {
	id, reason, err := operationAndReason(c)
	if err != nil {
		return 0, nil, err
	}
	o, err := s.Store.Operation(c.Request.Context(), id)
	if err != nil {
		return 0, nil, err
	}
	if o.EndedAt != nil {
		return 0, nil, fault.Coded(fault.OperationEnded, "Operation %d of node %s has ended already.", o.ID, o.NodeUUID)
	}
	httpd.Annotate(c, zap.String("node", o.NodeUUID), zap.Int64("operation", id))
	ctx, cancel := context.WithTimeout(c.Request.Context(), decisionTime)
	defer cancel()
	if err := s.Operations.Unpause(ctx, o, httpd.By(c), reason); err != nil {
		return 0, nil, intent.TemporalError(err)
	}
	httpd.Logger(c).Info("operation unpaused", zap.String("user", httpd.User(c)), zap.String("reason", reason))
	if o.TemporalPause != nil {
		if o, err = s.goesOn(c, o, reason); err != nil {
			return 0, nil, err
		}
	}
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	c.Header(intent.HeaderOperation, strconv.FormatInt(id, 10))
	return s.acceptedOperation(c, o, fl)
}

// goesOn records that the operation is no longer paused, and nudges its workflow.
func (s *Server) goesOn(c *gin.Context, o *node.Operation, reason string) (*node.Operation, error) {
	done, err := s.Store.Direct(c.Request.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) {
		if !n.Operation.Resume(s.Now()) {
			return node.OperationChange{Leave: true}, nil
		}
		words := string(o.Kind) + " goes on: it is no longer paused in Temporal"
		if reason != "" {
			words += ": " + reason
		}
		return node.OperationChange{Event: node.HistoryEvent{Event: words, EventType: "steering", User: httpd.By(c)}}, nil
	})
	if fault.Is(err, fault.Lost) { // it has ended meanwhile
		return s.Store.Operation(c.Request.Context(), o.ID)
	}
	if err == nil && done.WorkflowWaits() {
		s.Tell(c, done, "nudge", s.Operations.Nudge)
	}
	return done, err
}

package temper

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

// decisionTime is how long a workflow may take to take a decision. It takes milliseconds, unless Temporal is away.
const decisionTime = 4 * time.Second

// decideOperation answers POST /temper/v1/operations/ID/decision: what becomes
// of the step that the operation holds at. It answers when the workflow has
// taken the decision; 503 where it does not in time, and then it may still.
func (s *Server) decideOperation(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "action", "reason")
	if err != nil {
		return 0, nil, err
	}
	in.Require("action")
	action, reason := node.Action(in.Text("action")), in.Reason()
	if in.Err == nil && !slices.Contains(node.Actions, action) {
		in.Fail("Action \"%s\" is not valid, it is one of %v.", format.Clip(string(action)), node.Actions)
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	id, err := operationID(c)
	if err != nil {
		return 0, nil, err
	}
	return s.decided(c, id, action, reason)
}

func (s *Server) decided(c *gin.Context, id int64, action node.Action, reason string) (int, any, error) {
	o, err := s.Store.Operation(c.Request.Context(), id)
	if err != nil {
		return 0, nil, err
	}
	if action == node.ActionAbort {
		if err := permitEnd(c, o, reason); err != nil {
			return 0, nil, err
		}
	}
	if err := o.Decide(action); err != nil {
		return 0, nil, err
	}
	httpd.Annotate(c, zap.String("node", o.NodeUUID), zap.Int64("operation", id))
	record := audit.Of(c.Request.Context())
	record.OnNode(o.NodeUUID, o.NodeName)
	record.Opens(id)
	record.Names(string(action))
	ctx, cancel := context.WithTimeout(c.Request.Context(), decisionTime)
	defer cancel()
	if err := s.Operations.Decide(ctx, o, action, httpd.By(c), reason); err != nil {
		return 0, nil, s.notTaken(c, o, action, err)
	}
	httpd.Logger(c).Info("a decision was taken", zap.String("action", string(action)), zap.String("user", httpd.User(c)))
	if o, err = s.Store.Operation(c.Request.Context(), id); err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	c.Header(intent.HeaderOperation, strconv.FormatInt(id, 10))
	return s.acceptedOperation(c, o, fl)
}

// notTaken says why the workflow has not taken a decision that o waits for.
func (s *Server) notTaken(c *gin.Context, o *node.Operation, action node.Action, err error) error {
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Unreachable) {
		return format.WithHelp(fault.Coded(fault.DecisionUnconfirmed, "decide about operation %d: %w", o.ID, err),
			help.Of(nil, help.Action{Do: fault.WatchOperation, Operation: o.ID}))
	}
	if !fault.Is(err, fault.Lost) {
		return err
	}
	if now, lookErr := s.Store.Operation(c.Request.Context(), o.ID); lookErr == nil && now.EndedAt != nil {
		return now.Decide(action)
	}
	about := &node.Node{UUID: o.NodeUUID, Name: o.NodeName}
	return format.WithHelp(fault.Coded(fault.WorkflowEnded, "decide about operation %d: %w", o.ID, err),
		help.Of(about, help.Action{Do: fault.ExplainNode}), help.Of(about, help.Action{Do: fault.RetryOperation, Operation: o.ID, Kind: o.Kind}))
}

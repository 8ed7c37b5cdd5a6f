package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// headerOnFailure says, as the query on_failure does, what the operation that a
// request opens does when a step fails for good.
const headerOnFailure = "Temper-On-Failure"

// decisionTime is how long a workflow may take to take a decision.
const decisionTime = 10 * time.Second

// onFailure is what the request says, else the setting.
func (s *Server) onFailure(c *gin.Context) (node.OnFailure, error) {
	word, given := c.GetQuery("on_failure")
	if !given {
		word = c.GetHeader(headerOnFailure)
		given = word != ""
	}
	if !given {
		return s.OnFailure, nil
	}
	return asOnFailure(word)
}

// reason reads a reason for people; blanks are none.
func (o *object) reason() string {
	reason := strings.TrimSpace(o.text("reason"))
	if len(reason) > maxReason || hasNUL(reason) {
		o.fail("The reason is longer than %d bytes or holds a NUL character", maxReason)
	}
	return reason
}

// decideOperation answers POST /temper/v1/operations/ID/decision: what becomes
// of the step that the operation holds at. It answers when the workflow has
// taken the decision; 503 where it does not in time, and then it may still.
func (s *Server) decideOperation(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, "action", "reason")
	if err != nil {
		return 0, nil, err
	}
	in.need("action")
	action, reason := node.Action(in.text("action")), in.reason()
	if in.err == nil && !slices.Contains(node.Actions, action) {
		in.fail("Action \"%s\" is not valid, it is one of %v.", clip(string(action)), node.Actions)
	}
	if in.err != nil {
		return 0, nil, in.err
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
	if err := o.Decide(action); err != nil {
		return 0, nil, err
	}
	annotate(c, zap.String("node", o.NodeUUID), zap.Int64("operation", id))
	ctx, cancel := context.WithTimeout(c.Request.Context(), decisionTime)
	defer cancel()
	if err := s.Operations.Decide(ctx, o, action, by(c), reason); err != nil {
		return 0, nil, s.notTaken(c, o, action, err)
	}
	logger(c).Info("decision taken", zap.String("action", string(action)), zap.String("user", user(c)))
	if o, err = s.Store.Operation(c.Request.Context(), id); err != nil {
		return 0, nil, err
	}
	fl, err := s.fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	c.Header(headerOperation, strconv.FormatInt(id, 10))
	return http.StatusAccepted, s.showOperation(o, fl), nil
}

// notTaken says why the workflow has not taken a decision that o waits for.
func (s *Server) notTaken(c *gin.Context, o *node.Operation, action node.Action, err error) error {
	if !fault.Is(err, fault.Lost) {
		return silent(err)
	}
	if now, lookErr := s.Store.Operation(c.Request.Context(), o.ID); lookErr == nil && now.EndedAt != nil {
		return now.Decide(action)
	}
	about := aboutNode{&node.Node{UUID: o.NodeUUID, Name: o.NodeName}}
	return helpedError{fault.Coded(fault.WorkflowEnded, "decide about operation %d: %w", o.ID, err), []help{about.why(), {
		Command: command(nil, explain.Action{Do: explain.RetryOperation, Operation: o.ID}), Effect: "does it again once it has ended",
		Method: http.MethodPost, Path: operationPath(o.ID, "/retry"), Body: gin.H{},
	}}}
}

// by is who asks, for records that need somebody.
func by(c *gin.Context) string {
	if u := user(c); u != "" {
		return u
	}
	return node.Nameless
}

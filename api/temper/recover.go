package temper

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/closing"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/text"
)

// shownRecovery is who holds a node, and what was done about it.
type shownRecovery struct {
	NodeUUID           string `json:"node_uuid"`
	Operation          any    `json:"operation"`
	Kind               any    `json:"kind"`
	Since              any    `json:"since"`
	RequestedBy        any    `json:"requested_by"`
	Workflow           any    `json:"workflow"` // open, closed, unknown, unreachable
	WorkflowClosedAt   any    `json:"workflow_closed_at"`
	Conductor          any    `json:"conductor"`
	ConductorAlive     any    `json:"conductor_alive"`
	ConductorHeartbeat any    `json:"conductor_heartbeat_at"`
	Alive              bool   `json:"alive"`
	Next               string `json:"next"` // what will happen by itself
	DryRun             bool   `json:"dry_run"`
	Done               any    `json:"done"` // how this request ended the operation, or would end it without dry_run; null = it ends nothing
	// Effects are what ending it does, in clauses: how the operation ends, what is to be undone, and who holds the node then.
	Effects []string `json:"effects"`
	Why     string   `json:"why"`
}

// ending is how a recovery ends an operation.
type ending string

const (
	endsNothing ending = ""
	endsByForce ending = "by force"
	endsClosed  ending = "its workflow is over"
	endsIdle    ending = "nobody covers the node"
)

// endingOf decides how a recovery ends o.
func (s *Server) endingOf(o *node.Operation, st node.RunStatus, statusErr error, force bool) ending {
	switch {
	case force:
		return endsByForce
	case statusErr == nil && st.Over(s.Now(), s.Safe):
		return endsClosed
	case (statusErr != nil || st.Open) && o.Blocked == node.BlockedNoConductor:
		return endsIdle
	}
	return endsNothing
}

// recoverNode answers POST /temper/v1/nodes/X/recover. It says who holds the node, and
// ends the operation if nobody works on it. With force and a reason it ends also one
// that somebody works on. A dry run ends nothing.
func (s *Server) recoverNode(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "force", "reason", "dry_run")
	if err != nil {
		return 0, nil, err
	}
	force, dry, reason := in.Boolean("force"), in.Boolean("dry_run"), in.Reason()
	dryRun := dry != nil && *dry
	if force != nil && *force && reason == "" && !dryRun {
		in.Fail("A reason is required with force.")
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	ctx := c.Request.Context()
	n, fl, err := s.NodeAndFleet(c)
	if err != nil {
		return 0, nil, err
	}
	f := s.facts(n, fl, s.Now())
	f.System = s.system(ctx, false)
	out := shownRecovery{NodeUUID: n.UUID, Next: heldByNobody, DryRun: dryRun, Effects: []string{}}
	o := n.Operation
	if o == nil {
		out.Why = explained(n, f).Text
		return http.StatusOK, out, nil
	}
	httpd.Annotate(c, zap.String("node", n.UUID), zap.Int64("operation", o.ID))
	asked, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	st, statusErr := s.newestRun(asked, o)
	if statusErr == nil && o.BegunAt != nil {
		f.Run = &st
	}
	f.Foreign = st.Foreign
	out.Why = explained(n, f).Text
	out.holder(o, st, statusErr, f)
	how := s.endingOf(o, st, statusErr, force != nil && *force)
	switch {
	case how == endsNothing:
		return http.StatusOK, out, nil
	case dryRun:
		err = s.previewEnding(&out, n, fl, st, how)
	default:
		if err = needReason(c, reason); err != nil {
			return 0, nil, err
		}
		err = s.endOperation(c, &out, n, fl, st, how, reason, f.System)
	}
	return http.StatusOK, out, err
}

const heldByNobody = "nothing: nobody holds the node"

// endOperation ends n's operation, and says in r what that did.
func (s *Server) endOperation(c *gin.Context, r *shownRecovery, n *node.Node, fl *intent.Fleet, st node.RunStatus, how ending, reason string, system status.System) error {
	o, outcome, by := n.Operation, node.Failed, httpd.By(c)
	switch how {
	case endsByForce:
		if err := s.endByForce(c, o, reason); err != nil {
			return err
		}
		r.Done = "ended by force"
	case endsClosed:
		why := fmt.Sprintf("The workflow of operation %d of node %s was %s; ended on request of %s, by recover", o.ID, n.UUID, st.How, by)
		end := o.EndAbandoned(by, node.Failure{Error: why, Cause: st.Cause()}, s.Defaults())
		if err := s.closeAbandoned(c, end); err != nil {
			return err
		}
		r.Done, outcome = "ended: its workflow was "+st.How, end.Outcome
	case endsIdle:
		outcome = node.Cancelled
		ended, err := s.Stop(c, o.ID, fl, strings.TrimSuffix("recover: nobody covers the node: "+reason, ": "))
		if err != nil {
			return err
		}
		r.Done = "cancelled: nobody covers the node, so it ends at once"
		if ended.EndedAt != nil {
			r.Done = "cancelled: nobody covers the node, so it has ended"
		}
	}
	s.left(c, r, o, outcome, fl, system)
	return nil
}

// previewEnding says in r what endOperation would do.
func (s *Server) previewEnding(r *shownRecovery, n *node.Node, fl *intent.Fleet, st node.RunStatus, how ending) error {
	o, after := *n.Operation, *n
	after.Operation = &o
	if how != endsClosed {
		o.Ask(node.AskCancel, "", "")
	}
	end := o.EndAbandoned("", node.Failure{Cause: st.Cause()}, s.Defaults())
	switch how {
	case endsByForce:
		r.Done, end.Outcome = "ended by force", node.Failed
	case endsClosed:
		r.Done = "ended: its workflow was " + st.How
	case endsIdle:
		r.Done, end.Abandoned = "cancelled: nobody covers the node, so it ends at once", fl.Orphaned(n)
	}
	e, err := closing.Operation(&after, end)
	if err != nil {
		return err
	}
	e.Apply(&after, s.Now())
	after.Operation = nil
	r.Effects = finding.Released(&o, end.Outcome, &after)
	if e.FollowUp != "" {
		r.Effects = append(r.Effects, fmt.Sprintf("an operation of kind %s follows at once", e.FollowUp))
	}
	return nil
}

// leftTimeout bounds how long a recovery reads what it has done. The operation has ended by then, and the answer says so anyway.
const leftTimeout = 10 * time.Second

// left says in r what the end of o did, and what happens next to its node. Ending it may have taken longer than the request's deadline.
func (s *Server) left(c *gin.Context, r *shownRecovery, o *node.Operation, outcome node.Outcome, fl *intent.Fleet, system status.System) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), leftTimeout)
	defer cancel()
	n, err := s.Store.Node(ctx, r.NodeUUID)
	if err != nil {
		r.Next, r.Why = "", ""
		return
	}
	f := s.facts(n, fl, s.Now())
	f.System = system
	w := explained(n, f)
	r.Next, r.Why, r.Effects = cmp.Or(w.Next, heldByNobody), w.Text, finding.Released(o, outcome, n)
}

// holder fills in the operation that holds the node, and whether its owner is alive.
func (r *shownRecovery) holder(o *node.Operation, st node.RunStatus, err error, f explain.Facts) {
	r.Operation, r.Kind, r.Since, r.RequestedBy = strconv.FormatInt(o.ID, 10), string(o.Kind), format.Timestamp(&o.AcceptedAt), format.OrNull(o.RequestedBy)
	for i := range f.Fleet {
		if k := &f.Fleet[i]; k.Hostname == o.Conductor {
			r.Conductor, r.ConductorAlive, r.ConductorHeartbeat = k.Hostname, k.Alive, format.Timestamp(&k.HeartbeatAt)
		}
	}
	switch {
	case err != nil:
		r.Workflow, r.Next = "unreachable", "its workflow goes on when Temporal is back"
	case st.Open:
		r.Workflow, r.Alive, r.Next = "open", true, "it goes on"
		if st.Pause != nil {
			r.Next = "it is " + st.Pause.Words() + `, and goes on with "` + help.Command(nil, help.Action{Do: fault.UnpauseOperation, Operation: o.ID}) + `"`
			break
		}
		if o.WaitingFor != "" {
			r.Next += "; it waits for " + o.WaitingFor
		}
		if what := explain.AtLimit(o, f.Now); what != "" {
			r.Next += " until " + text.Moment(*o.WaitingUntil) + ", then " + what
		}
	case st.Known:
		if !st.ClosedAt.IsZero() {
			r.WorkflowClosedAt = format.Timestamp(&st.ClosedAt)
		}
		r.Workflow, r.Next = "closed", "reconciliation ends it as soon as no request of it can still be under way, some seconds after its workflow has ended; until then only recover with force ends it"
	case st.Foreign != "":
		r.Workflow, r.Next = "unknown", "reconciliation starts it under another id"
	case o.BegunAt == nil:
		r.Workflow, r.Next = "unknown", "reconciliation starts it"
	default:
		r.Workflow, r.Next = "unknown", spedUp(nil, explain.LostNext(), explain.LostSpeedup)
	}
}

// endByForce takes an operation from whoever has it. First it replaces the claim and the
// run, so that nobody sends anything more. When a request that was under way must be over,
// it closes the operation, whose undo is owed then, and terminates the workflow.
func (s *Server) endByForce(c *gin.Context, o *node.Operation, reason string) error {
	run, had, who := uuid.NewString(), o.RunID, httpd.By(c)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), s.HardwareDeadline+time.Minute)
	defer cancel()
	o, err := s.Store.Direct(ctx, o.ID, func(n *node.Node) (node.OperationChange, error) {
		n.Operation.RunID, n.Operation.Claim = run, node.Claim{Seq: n.Operation.Claim.Seq + 1}
		n.Operation.Ask(node.AskCancel, who, reason)
		return node.OperationChange{Event: node.HistoryEvent{Event: "taken from its owner by force: " + reason, EventType: "steering", User: who}}, nil
	})
	if err != nil {
		return err
	}
	httpd.Logger(c).Warn("operation ended by force", zap.String("user", who), zap.String("reason", reason))
	t := time.NewTimer(s.HardwareDeadline)
	defer t.Stop()
	<-t.C
	end := o.EndAbandoned(who, node.Failure{
		Cause: fault.EndedByForce, Error: fmt.Sprintf("Operation %d of node %s was ended by force, by %s: %s", o.ID, o.NodeUUID, who, reason),
	}, s.Defaults())
	end.Outcome = node.Failed // not cancelled: it was taken from an owner that may be alive
	if err := s.closeAbandoned(c, end); err != nil {
		return err
	}
	taken := *o
	taken.RunID = had // that of the one it was taken from
	told, cancelTold := context.WithTimeout(ctx, s.StartTimeout)
	defer cancelTold()
	if err := s.Operations.Terminate(told, &taken, "ended by force, by "+who+": "+reason); err != nil {
		httpd.Logger(c).Warn("workflow not terminated, it will find its row closed", zap.Error(err))
	}
	return nil
}

// closeAbandoned closes an operation that nobody works on any more, and starts what
// follows it.
func (s *Server) closeAbandoned(c *gin.Context, end node.End) error {
	next, err := s.Store.CloseOperation(context.WithoutCancel(c.Request.Context()), end)
	if err == nil && next != nil {
		s.Start(c, next)
	}
	return err
}

// recoverOperations answers POST /temper/v1/operations/recover: an operator says that
// Temporal has lost its data, so reconciliation may end the operations that Temporal does
// not know.
func (s *Server) recoverOperations(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "lost_temporal", "reason")
	if err != nil {
		return 0, nil, err
	}
	lost, reason := in.Boolean("lost_temporal"), in.Reason()
	if in.Err == nil && (lost == nil || !*lost || reason == "") {
		in.Fail("lost_temporal has to be true, and a reason is required.")
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	if err := s.Store.SayLostTemporal(c.Request.Context(), httpd.By(c), reason); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Warn("operator says that Temporal has lost its data", zap.String("user", httpd.User(c)), zap.String("reason", reason))
	return http.StatusAccepted, gin.H{"lost_temporal": true}, nil
}

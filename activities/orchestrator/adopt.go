package orchestrator

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// byReset is named as who requested an operation that a reset in Temporal started.
const byReset = "a reset in Temporal"

// Adopted says how a run that was reset in Temporal continues.
type Adopted struct {
	Took bool          `json:"took,omitempty"` // the operation now belongs to this run
	Seq  int64         `json:"seq,omitempty"`  // the operation's claim; the workflow raises it from here
	Wait time.Duration `json:"wait,omitempty"` // how long activities of the run before may still act
	// Next is the operation that does the work again, because the run's own has ended; 0 = none.
	Next  int64  `json:"next,omitempty"`
	Words string `json:"words,omitempty"` // the result in words, for people
}

// Adopt gives the operation to this run, if the run that had it was reset in Temporal or
// continued as new. The same transaction raises the claim, so that activities of the run
// before can write nothing any more. If the operation has ended, Adopt opens one that
// retries it.
func (a *Operations) Adopt(ctx context.Context, operation int64) (Adopted, error) {
	workflow := activity.GetInfo(ctx).WorkflowExecution
	run := workflow.RunID
	o, err := a.Store.Operation(ctx, operation)
	switch {
	case err != nil:
		return Adopted{}, temporalError(err)
	case node.WorkflowSuffix(o.WorkflowID) != node.WorkflowSuffix(workflow.ID): // it got the number after the database was restored from a backup
		return Adopted{}, temporalError(fault.New(fault.Lost, "operation %d has another workflow, %s", operation, o.WorkflowID))
	case o.RunID == run && o.EndedAt == nil:
		return Adopted{Took: true, Seq: o.Claim.Seq, Wait: a.Safe}, nil
	}
	st, err := a.Describer.Status(ctx, o)
	if err != nil {
		return Adopted{}, temporalError(err)
	}
	continued := st.Open && st.RunID == run // the run before continued as new, and was not reset
	switch {
	case o.EndedAt != nil && continued:
		return Adopted{Words: fmt.Sprintf("Operation %d has ended meanwhile (%s)", o.ID, o.Outcome)}, nil
	case o.EndedAt != nil:
		return a.retryEnded(ctx, o)
	case st.Open && !continued:
		return Adopted{}, temporalError(fault.New(fault.Lost, "operation %d is another run's, which is at work", operation))
	}
	wait := st.SafeIn(time.Now(), a.Safe)
	before := o.RunID
	o, err = a.Store.Direct(ctx, operation, func(n *node.Node) (node.OperationChange, error) {
		if n.Operation.RunID != before {
			return node.OperationChange{}, otherRun(operation)
		}
		return adopted(n, run, continued)
	})
	if err != nil {
		return Adopted{}, temporalError(err)
	}
	return Adopted{Took: true, Seq: o.Claim.Seq, Wait: wait}, nil
}

func adopted(n *node.Node, run string, continued bool) (node.OperationChange, error) {
	o := n.Operation
	d := node.OperationChange{Came: true, Event: node.HistoryEvent{
		Event: fmt.Sprintf("%s goes on in a run that was reset in Temporal", o.Kind), EventType: "steering", User: byReset, Conductor: o.Conductor,
	}}
	unheld, err := o.Adopt(run, !continued)
	if err != nil {
		return d, err
	}
	if continued {
		d.Event.Event, d.Event.User = fmt.Sprintf("%s goes on in a new run: the history of the one before was long", o.Kind), activities.ByReconciliation
		return d, nil
	}
	if unheld {
		n.LastError = ""
		if node.Holds(n.ProvisionState) {
			d.Move = node.EventUnhold
		}
	}
	return d, nil
}

// retryEnded opens an operation that retries o, unless there is one already.
func (a *Operations) retryEnded(ctx context.Context, o *node.Operation) (Adopted, error) {
	n, err := a.Store.Node(ctx, o.NodeUUID)
	if err != nil {
		return retryRefused(o, err)
	}
	if open := n.Operation; open != nil && open.RetryOf == o.ID {
		return continuedAs(o, open), nil
	}
	next, err := a.Store.Retry(ctx, o.ID, func(n *node.Node, old *node.Operation, newest bool) (*node.Request, error) {
		r, err := admission.Retry(n, old, newest, "", plan.Options{AutomatedClean: a.Policy.AutomatedClean})
		if err == nil {
			r.User, r.Open.RequestedBy = byReset, byReset
		}
		return r, err
	})
	if err != nil {
		return retryRefused(o, err)
	}
	return continuedAs(o, next), nil
}

func continuedAs(o, next *node.Operation) Adopted {
	return Adopted{Next: next.ID, Words: fmt.Sprintf("Operation %d had ended (%s); operation %d goes on: %s", o.ID, o.Outcome, next.ID, next.WorkflowID)}
}

// retryRefused returns why o can't be retried. If the database is unavailable it returns an
// error, so that Temporal calls the activity again.
func retryRefused(o *node.Operation, err error) (Adopted, error) {
	switch fault.KindOf(err) {
	case fault.NotAllowed, fault.Conflict, fault.Invalid, fault.Forbidden, fault.NotFound:
		return Adopted{Words: fmt.Sprintf("Operation %d had ended (%s) and can not be retried now: %s", o.ID, o.Outcome, err)}, nil
	}
	return Adopted{}, temporalError(err)
}

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

// byReset is who asked for what a reset in Temporal begins.
const byReset = "a reset in Temporal"

// Adopted is what becomes of a run that was reset in Temporal.
type Adopted struct {
	Took bool          `json:"took,omitempty"` // the operation is this run's now
	Seq  int64         `json:"seq,omitempty"`  // its claim: the next one is higher
	Wait time.Duration `json:"wait,omitempty"` // until nothing of the run before can act
	// Next is the operation that goes on, because the run's own has ended; 0 = none.
	Next  int64  `json:"next,omitempty"`
	Words string `json:"words,omitempty"` // what it comes to, for people
}

// Adopt gives the operation to this run, which was reset from the one that had
// it and has ended. That one's token ends first: the claim is raised in the same
// transaction. Where the operation itself has ended, it is retried.
func (a *Operations) Adopt(ctx context.Context, operation int64) (Adopted, error) {
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	o, err := a.Store.Operation(ctx, operation)
	switch {
	case err != nil:
		return Adopted{}, temporalError(err)
	case o.RunID == run && o.EndedAt == nil:
		return Adopted{Took: true, Seq: o.Claim.Seq, Wait: a.Safe}, nil
	}
	st, err := a.Describer.Status(ctx, o.WorkflowID, o.RunID)
	if err != nil {
		return Adopted{}, temporalError(err)
	}
	continued := st.Open && st.RunID == run // the run before continued as new: nobody has reset anything
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
	o, err = a.Store.Direct(ctx, operation, func(n *node.Node) (node.Direction, error) {
		if n.Operation.RunID != before {
			return node.Direction{}, otherRun(operation)
		}
		return adopted(n, run, continued)
	})
	if err != nil {
		return Adopted{}, temporalError(err)
	}
	return Adopted{Took: true, Seq: o.Claim.Seq, Wait: wait}, nil
}

func adopted(n *node.Node, run string, continued bool) (node.Direction, error) {
	o := n.Operation
	d := node.Direction{Event: node.HistoryEvent{
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

// retryEnded opens the operation that does again what o was to do, once.
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

// retryRefused gives the word of why nothing goes on; an outage is tried again.
func retryRefused(o *node.Operation, err error) (Adopted, error) {
	switch fault.KindOf(err) {
	case fault.NotAllowed, fault.Conflict, fault.Invalid, fault.Forbidden, fault.NotFound:
		return Adopted{Words: fmt.Sprintf("Operation %d had ended (%s) and can not be retried now: %s", o.ID, o.Outcome, err)}, nil
	}
	return Adopted{}, temporalError(err)
}

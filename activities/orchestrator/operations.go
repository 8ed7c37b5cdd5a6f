package orchestrator

import (
	"cmp"
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Operations are the activities that touch only the database. They run on
// orchestrators, as local activities.
type Operations struct {
	Store   OperationStore
	Starter activities.WorkflowStarter
	Policy  Policy
	// Describer and Safe are for runs that were reset: Describer tells whether the run
	// before is over, and Safe is how long its activities may still act after that.
	Describer activities.WorkflowDescriber
	Safe      time.Duration
	// Ended counts operations by kind and outcome; may be nil.
	Ended func(k node.OperationKind, o node.Outcome, took time.Duration)
}

// WorkflowSettings are what a workflow has to know of its operation.
type WorkflowSettings struct {
	Group            string                `json:"group"`
	Driver           string                `json:"driver"`
	HeartbeatTimeout time.Duration         `json:"heartbeat_timeout"`
	ConductorTimeout time.Duration         `json:"conductor_timeout"`
	WaitForConductor time.Duration         `json:"wait_for_conductor"`
	StepsTimeout     time.Duration         `json:"steps_timeout"`
	Blocked          bool                  `json:"stalled,omitempty"` // no conductor can begin with the steps now; Ready tells why
	Hold             bool                  `json:"hold,omitempty"`    // a failed step waits for a decision
	DecisionWait     time.Duration         `json:"decision_wait,omitempty"`
	Steps            []activities.StepLine `json:"steps,omitempty"` // the plan, for people
}

// Begin records that the operation belongs to this run. It fails with fault.Lost if the
// operation belongs to another workflow or run, or has ended.
func (a *Operations) Begin(ctx context.Context, operation int64) (WorkflowSettings, error) {
	w := activity.GetInfo(ctx).WorkflowExecution
	o, err := a.Store.Begin(ctx, operation, w.ID, w.RunID)
	if err != nil {
		return WorkflowSettings{}, temporalError(err)
	}
	return WorkflowSettings{
		Group: o.Group, Driver: o.Driver, HeartbeatTimeout: a.Policy.HeartbeatTimeout, ConductorTimeout: a.Policy.ConductorTimeout,
		WaitForConductor: a.Policy.conductorWait(o), StepsTimeout: cmp.Or(a.Policy.StepsTimeout, defaultStepsTimeout),
		Blocked: node.BlockReasonOf(o, o.Cover) != node.NotBlocked,
		Hold:    o.OnFailure == node.HoldOnFailure && !o.Kind.Spec().Undoes, DecisionWait: cmp.Or(a.Policy.DecisionWait, 24*time.Hour),
		Steps: activities.StepLines(o.Steps),
	}, nil
}

// UndoPlan says whether a conductor has to undo something, and by which queue it is reached.
type UndoPlan struct {
	Needed  bool `json:"needed"`
	Covered bool `json:"covered"` // a live conductor could do it now
	// Paused: the node was put into maintenance meanwhile, and nobody has requested the
	// end. The hardware stays as it is.
	Paused bool       `json:"paused,omitempty"`
	Group  string     `json:"group,omitempty"`
	Driver string     `json:"driver,omitempty"`
	Cause  fault.Code `json:"cause,omitempty"` // of the end, as the row will have it
	// Steps are those of the row: an activity that failed has told the workflow nothing.
	Steps []activities.StepLine `json:"steps,omitempty"`
}

// PlanUndo writes into the row what has to be undone if the operation ends with outcome and why it
// failed, and returns who could do it. why is zero if somebody asked for the end.
func (a *Operations) PlanUndo(ctx context.Context, operation int64, outcome node.Outcome, why node.Failure) (UndoPlan, error) {
	n, cover, err := a.Store.Watch(ctx, operation)
	if err != nil {
		return UndoPlan{}, temporalError(err)
	}
	o := n.Operation
	undo := node.UndoAtEnd(o, outcome)
	if err := a.Store.SetUndo(ctx, operation, activity.GetInfo(ctx).WorkflowExecution.RunID, undo, why); err != nil {
		return UndoPlan{}, temporalError(err)
	}
	cause := why.Complete().Cause
	if outcome == node.Cancelled {
		cause = o.AskedCause()
	}
	return UndoPlan{
		Needed: len(undo) > 0, Covered: cover.Covered, Paused: o.LeavesHardware(), Group: o.Group, Driver: o.Driver, Cause: cause,
		Steps: activities.StepLines(o.Steps),
	}, nil
}

// EndInput closes an operation.
type EndInput struct {
	Operation int64        `json:"operation"`
	Outcome   node.Outcome `json:"outcome"`
	Error     string       `json:"error,omitempty"`
	Cause     fault.Code   `json:"cause,omitempty"`
}

// Closed names the operation that follows; 0 = none.
type Closed struct {
	FollowUp int64 `json:"follow_up,omitempty"`
}

// Close ends the operation and moves the node to its end state, in one transaction. Closing
// an operation again with the same outcome succeeds.
func (a *Operations) Close(ctx context.Context, in EndInput) (Closed, error) {
	info := activity.GetInfo(ctx)
	next, err := a.Store.CloseOperation(ctx, node.End{
		Operation: in.Operation, RunID: info.WorkflowExecution.RunID, Outcome: in.Outcome, Error: in.Error, Cause: in.Cause, Defaults: a.Policy.Defaults(),
	})
	if err != nil {
		return Closed{}, temporalError(err)
	}
	if a.Ended != nil {
		if o, err := a.Store.Operation(ctx, in.Operation); err == nil && o.EndedAt != nil {
			a.Ended(o.Kind, o.Outcome, o.EndedAt.Sub(o.AcceptedAt))
		}
	}
	if next == nil {
		return Closed{}, nil
	}
	return Closed{FollowUp: next.ID}, nil
}

// StartOperation starts the workflow of an open operation. If it fails, reconciliation starts
// the workflow later: the row is the outbox.
func (a *Operations) StartOperation(ctx context.Context, operation int64) error {
	o, err := a.Store.Operation(ctx, operation)
	if err != nil {
		return temporalError(err)
	}
	if o.EndedAt != nil || o.BegunAt != nil {
		return nil
	}
	return temporalError(a.Starter.Start(ctx, o))
}

package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// HoldInput names the operation whose step has failed.
type HoldInput struct {
	Operation int64         `json:"operation"`
	Seq       int64         `json:"seq"` // the claim; earlier activities can't write any more
	Error     string        `json:"error"`
	Cause     fault.Code    `json:"cause,omitempty"`
	Wait      time.Duration `json:"wait"` // for a decision
	// Restart: no agent called, so that a retry has to boot the ramdisk again.
	Restart bool `json:"restart,omitempty"`
}

// Held is a hold as the workflow shows it to people.
type Held struct {
	EndAsked   bool                  `json:"end_asked,omitempty"` // somebody has requested the end: the operation is not held
	Until      time.Time             `json:"until,omitzero"`
	WaitingFor string                `json:"waiting_for,omitempty"`
	Step       string                `json:"step,omitempty"`
	Choices    []node.Action         `json:"choices,omitempty"`
	NoSkip     string                `json:"no_skip,omitempty"` // why the step can't be skipped
	Steps      []activities.StepLine `json:"steps,omitempty"`
}

// Hold writes that the operation waits for a decision about its failed step: in its row, in
// the node's last_error and, if Ironic has a hold state for it, as the node's state.
func (a *Operations) Hold(ctx context.Context, in HoldInput) (Held, error) {
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	endAsked := false
	o, err := a.Store.Direct(ctx, in.Operation, func(n *node.Node) (node.OperationChange, error) {
		o := n.Operation
		if o.RunID != run || o.Claim.Seq > in.Seq {
			return node.OperationChange{}, otherRun(o.ID)
		}
		if endAsked = o.Asked.Ends(); endAsked || o.Claim.Seq == in.Seq && o.Undecided() != nil {
			return node.OperationChange{Leave: true}, nil
		}
		step := o.CurrentStep()
		if step == nil {
			return node.OperationChange{}, fault.New(fault.Internal, "operation %d has no step to hold at", o.ID)
		}
		if in.Restart {
			step.Rewind()
		}
		now := time.Now().UTC()
		if err := o.HoldAt(step, node.Failure{Error: in.Error, Cause: in.Cause}, forDecision(step), node.Claim{Seq: in.Seq}, now, now.Add(in.Wait)); err != nil {
			return node.OperationChange{}, err
		}
		n.LastError = o.Error
		d := node.OperationChange{Came: true, Event: node.HistoryEvent{
			Event: fmt.Sprintf("step %s failed, held for a decision: %s", step.Name(), in.Error), EventType: "error", Severity: "ERROR", Conductor: step.Conductor,
		}}
		if node.Can(n.ProvisionState, node.EventHold) {
			d.Move = node.EventHold
		}
		return d, nil
	})
	switch {
	case err != nil:
		return Held{}, temporalError(err)
	case endAsked:
		return Held{EndAsked: true}, nil
	}
	step := o.Undecided()
	if step == nil || o.WaitingUntil == nil {
		return Held{}, temporalError(fault.New(fault.Internal, "operation %d is not held", o.ID))
	}
	return Held{
		Until: *o.WaitingUntil, WaitingFor: o.WaitingFor, Step: step.Name(), Choices: step.Choices(), NoSkip: step.Unskippable(), Steps: activities.StepLines(o.Steps),
	}, nil
}

func forDecision(step *node.Step) string { return "a decision: " + choices(step.Choices()) }

// StillInput says whether the time for a decision is stopped, because the node is in
// maintenance.
type StillInput struct {
	Operation int64      `json:"operation"`
	Until     *time.Time `json:"until,omitempty"` // the deadline; null = the time is stopped
}

// StandStill writes that the time for a decision is stopped or runs again, and returns what the
// operation waits for. It does nothing and returns "" if the decision was made meanwhile.
func (a *Operations) StandStill(ctx context.Context, in StillInput) (string, error) {
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	waitingFor := ""
	_, err := a.Store.Direct(ctx, in.Operation, func(n *node.Node) (node.OperationChange, error) {
		o := n.Operation
		if o.RunID != run {
			return node.OperationChange{}, otherRun(o.ID)
		}
		step := o.Undecided()
		if step == nil {
			return node.OperationChange{Leave: true}, nil
		}
		if waitingFor = forDecision(step); in.Until == nil {
			waitingFor += " (" + node.PausedForMaintenance + ")"
		}
		o.WaitingFor, o.WaitingUntil = waitingFor, in.Until
		return node.OperationChange{}, nil
	})
	return waitingFor, temporalError(err)
}

func choices(list []node.Action) string {
	out := string(list[0])
	for i, a := range list[1:] {
		if i == len(list)-2 {
			out += " or " + string(a)
		} else {
			out += ", " + string(a)
		}
	}
	return out
}

// HoldState is the part of the row that matters to a workflow that waits for a decision.
type HoldState struct {
	EndAsked bool   `json:"end_asked,omitempty"` // cancel, abort or delete
	Unhold   bool   `json:"unhold,omitempty"`    // Ironic's unhold, which retries the step
	By       string `json:"by,omitempty"`        // who asked for Unhold
	Power    bool   `json:"power,omitempty"`     // there is a power request, and a conductor that can do it
	Paused   bool   `json:"paused,omitempty"`    // the node was put into maintenance meanwhile
	// Until is the deadline of the decision; null = the time is stopped.
	Until *time.Time `json:"until,omitempty"`
}

// LookHeld reads what somebody has requested of a held operation, other than a decision.
func (a *Operations) LookHeld(ctx context.Context, operation int64) (HoldState, error) {
	n, cover, err := a.Store.Watch(ctx, operation)
	if err != nil {
		return HoldState{}, temporalError(err)
	}
	o := n.Operation
	if o.EndedAt != nil || o.RunID != activity.GetInfo(ctx).WorkflowExecution.RunID {
		return HoldState{}, temporalError(otherRun(operation))
	}
	if o, err = a.recordResumed(ctx, o); err != nil {
		return HoldState{}, temporalError(err)
	}
	s := HoldState{EndAsked: o.Asked.Ends(), Unhold: o.Asked == node.AskUnhold, Power: o.Asked == node.AskPower && cover.Covered, By: cmp.Or(o.AskedBy, node.Anonymous), Paused: o.Paused}
	if o.Phase == node.Holding {
		s.Until = o.WaitingUntil
	}
	return s, nil
}

// DecideInput is a decision that the workflow has accepted.
type DecideInput struct {
	Operation int64       `json:"operation"`
	Seq       int64       `json:"seq"`
	Action    node.Action `json:"action"`
	By        string      `json:"by"`
	Reason    string      `json:"reason,omitempty"`
	// InTemporal: it was sent by Temporal's UI or another client of Temporal, and not by the API.
	InTemporal bool `json:"in_temporal,omitempty"`
}

// Decide writes a decision into the row: the step is to run again, or is skipped, or the
// operation is to end. Who decided, when and why is recorded with the operation and in the
// node's history.
func (a *Operations) Decide(ctx context.Context, in DecideInput) error {
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	if in.InTemporal {
		ctx, _ = audit.Begin(ctx, audit.InTemporal(string(in.Action), in.Reason))
	}
	_, err := a.Store.Direct(ctx, in.Operation, func(n *node.Node) (node.OperationChange, error) {
		o := n.Operation
		switch {
		case o.RunID != run || o.Claim.Seq > in.Seq:
			return node.OperationChange{}, otherRun(o.ID)
		case o.Claim.Seq == in.Seq: // an earlier attempt did it, and its answer was lost
			return node.OperationChange{Leave: true}, nil
		case o.Asked.Ends():
			return node.OperationChange{}, fault.New(fault.Conflict, "Operation %d is asked to end already, by %s.", o.ID, o.AskedBy)
		}
		return decided(n, in)
	})
	return temporalError(err)
}

func decided(n *node.Node, in DecideInput) (node.OperationChange, error) {
	step, err := n.Operation.CarryOut(in.Action, in.By, in.Reason, node.Claim{Seq: in.Seq}, time.Now().UTC())
	if err != nil {
		return node.OperationChange{}, err
	}
	words := fmt.Sprintf("decided to %s %s", in.Action, step.Name())
	if in.Reason != "" {
		words += ": " + in.Reason
	}
	d := node.OperationChange{Came: true, Event: node.HistoryEvent{Event: words, EventType: "steering", User: in.By}}
	if in.Action == node.ActionAbort {
		return d, nil
	}
	if node.Holds(n.ProvisionState) {
		d.Move = node.EventUnhold
	}
	n.LastError = ""
	return d, nil
}

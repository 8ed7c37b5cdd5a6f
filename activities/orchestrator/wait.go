package orchestrator

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// WaitState is the part of the row that matters to a workflow that waits.
type WaitState struct {
	GoOn       bool             `json:"go_on,omitempty"`     // what it waits for has come, and a conductor can continue
	EndAsked   bool             `json:"end_asked,omitempty"` // cancel, abort or delete
	WaitingFor string           `json:"waiting_for,omitempty"`
	Until      *time.Time       `json:"until,omitempty"`   // the deadline, as the row has it
	LookAt     *time.Time       `json:"look_at,omitempty"` // when a conductor has to look whether the server still boots
	Blocked    node.BlockReason `json:"stalled,omitempty"`
	Overdue    *node.Failure    `json:"overdue,omitempty"`  // the failure if what it waits for has not come by then; nil = nothing more is known
	GiveUp     bool             `json:"give_up,omitempty"`  // no conductor covers the node, and the operation does not wait for one
	Orphaned   bool             `json:"orphaned,omitempty"` // paused, and its conductor died: node.Orphaned
	// Group and Driver name the queue of the steps. They may have changed since the operation
	// began. The group decides WaitForConductor.
	Group            string        `json:"group,omitempty"`
	Driver           string        `json:"driver,omitempty"`
	WaitForConductor time.Duration `json:"wait_for_conductor,omitempty"`
}

// Look reads whether the agent or the person that the operation waits for has come, and whether
// a conductor can continue. It writes into the row what the operation waits for otherwise.
func (a *Operations) Look(ctx context.Context, operation int64) (WaitState, error) {
	return a.waitState(ctx, operation, 0, func(n *node.Node) bool {
		o := n.Operation
		if o.Asked == node.AskPower || o.Asked == node.AskUnhold {
			return true
		}
		return !node.Holds(n.ProvisionState) && (o.Phase == node.Holding || n.AgentCalledBack(o.Kind) || o.LookDue(time.Now()))
	})
}

// ReadyInput names the operation whose steps are to continue.
type ReadyInput struct {
	Operation int64 `json:"operation"`
	Seq       int64 `json:"seq"`
}

// Ready reads whether a conductor can continue the steps. If none can, it raises the claim, so
// that the conductor before can't write any more.
func (a *Operations) Ready(ctx context.Context, in ReadyInput) (WaitState, error) {
	return a.waitState(ctx, in.Operation, in.Seq, func(*node.Node) bool { return true })
}

func (a *Operations) waitState(ctx context.Context, operation, seq int64, come func(*node.Node) bool) (WaitState, error) {
	n, cover, err := a.Store.Watch(ctx, operation)
	if err != nil {
		return WaitState{}, temporalError(err)
	}
	o := n.Operation
	if o.EndedAt != nil {
		return WaitState{}, temporalError(fault.New(fault.Lost, "operation %d has ended", operation))
	}
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	if o.RunID != run { // this run was reset
		return WaitState{}, temporalError(otherRun(operation))
	}
	if o, err = a.recordResumed(ctx, o); err != nil {
		return WaitState{}, temporalError(err)
	}
	n.Operation = o
	patience := a.Policy.conductorWait(o)
	s := WaitState{Group: o.Group, Driver: o.Driver, WaitForConductor: patience}
	blocked := node.BlockReasonOf(o, cover)
	course := o.Course(node.Situation{Cover: cover, Patience: patience})
	switch {
	case course == node.Ends:
		s.EndAsked, s.WaitingFor = true, o.WaitingFor
		return s, nil
	case course == node.BreaksOff:
		s.Orphaned = true
		return s, nil
	case o.Phase == node.Holding && seq == 0: // it waits for a person, which needs no conductor
		// A power request needs one. Without one the operation would end its hold, and fail while
		// it waits for a conductor.
		s.GoOn = come(n) && (cover.Covered || o.Asked != node.AskPower)
		s.WaitingFor, s.Until = o.WaitingFor, o.WaitingUntil
		return s, nil
	}
	if blocked != o.Blocked {
		if blocked == node.BlockedDeaths {
			patience = cover.PutOff
		}
		if o, err = a.setBlocked(ctx, o, run, seq, blocked, patience); err != nil {
			return WaitState{}, temporalError(err)
		}
	}
	s.Blocked, s.WaitingFor, s.Until = blocked, o.WaitingFor, o.WaitingUntil
	if w := o.LiveWait(); w != nil && w.For == node.WaitCall {
		s.LookAt, s.Overdue = w.LookAt, n.NeverCalled()
	}
	s.GiveUp = blocked == node.BlockedNoConductor && patience == 0
	s.GoOn = come(n) && course == node.GoesOn
	if s.GoOn && o.Phase == node.Waiting {
		err = a.Store.GoOn(ctx, operation, run)
	}
	return s, temporalError(err)
}

func (a *Operations) setBlocked(ctx context.Context, o *node.Operation, run string, seq int64, blocked node.BlockReason, patience time.Duration) (*node.Operation, error) {
	switch blocked {
	case node.BlockedDeaths:
		return a.Store.Block(ctx, o.ID, run, seq, blocked, node.WaitsForNextTry(o.CurrentStep()), &patience)
	case node.BlockedNoConductor:
		return a.Store.Block(ctx, o.ID, run, seq, blocked, node.WaitsForConductor(o.Group, o.Driver), &patience)
	case node.BlockedMaintenance:
		return a.Store.Block(ctx, o.ID, run, seq, blocked, node.PausedForMaintenance, nil)
	}
	return a.Store.Block(ctx, o.ID, run, seq, blocked, "", nil)
}

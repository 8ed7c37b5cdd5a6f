package orchestrator

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Sight is what the row says to a workflow that waits.
type Sight struct {
	GoOn       bool       `json:"go_on,omitempty"`     // what it waited for is there, and somebody can work
	EndAsked   bool       `json:"end_asked,omitempty"` // cancel, abort or delete
	WaitingFor string     `json:"waiting_for,omitempty"`
	Until      *time.Time `json:"until,omitempty"` // when to give up; the row is the authority
	Stalled    node.Stall `json:"stalled,omitempty"`
	GiveUp     bool       `json:"give_up,omitempty"`  // nobody covers the node, and that is not to be waited for
	Orphaned   bool       `json:"orphaned,omitempty"` // paused, and its conductor died: node.Orphaned
	// Group and Driver are the queue of its steps now: somebody may have moved
	// the node. The wait for a conductor is the group's.
	Group            string        `json:"group,omitempty"`
	Driver           string        `json:"driver,omitempty"`
	WaitForConductor time.Duration `json:"wait_for_conductor,omitempty"`
}

// Look reads whether what the operation waits for has come: its agent or a
// person. Whether anybody can go on then is in its answer too, and in the row.
func (a *Operations) Look(ctx context.Context, operation int64) (Sight, error) {
	return a.sight(ctx, operation, 0, func(n *node.Node) bool {
		o := n.Operation
		if o.Asked == node.AskPower || o.Asked == node.AskUnhold {
			return true
		}
		return !node.Holds(n.ProvisionState) && (o.Phase == node.Holding || n.AgentCalled(o.Kind))
	})
}

// ReadyInput names the operation whose steps are to go on.
type ReadyInput struct {
	Operation int64 `json:"operation"`
	Seq       int64 `json:"seq"`
}

// Ready reads whether somebody can go on with the steps. Where nobody can it
// takes the claim: who was at work before is fenced off.
func (a *Operations) Ready(ctx context.Context, in ReadyInput) (Sight, error) {
	return a.sight(ctx, in.Operation, in.Seq, func(*node.Node) bool { return true })
}

func (a *Operations) sight(ctx context.Context, operation, seq int64, come func(*node.Node) bool) (Sight, error) {
	n, cover, err := a.Ledger.Watch(ctx, operation)
	if err != nil {
		return Sight{}, typed(err)
	}
	o := n.Operation
	if o.EndedAt != nil {
		return Sight{}, typed(fault.New(fault.Lost, "operation %d has ended", operation))
	}
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	if o.RunID != run { // this one was reset
		return Sight{}, typed(another(operation))
	}
	if o, err = a.resumed(ctx, o); err != nil {
		return Sight{}, typed(err)
	}
	n.Operation = o
	patience := a.Policy.waitFor(o)
	s := Sight{Group: o.Group, Driver: o.Driver, WaitForConductor: patience}
	stall := node.StallOf(o, cover)
	course := o.Course(node.Situation{Cover: cover, Patience: patience})
	switch {
	case course == node.Ends:
		s.EndAsked, s.WaitingFor = true, o.WaitingFor
		return s, nil
	case course == node.BreaksOff:
		s.Orphaned = true
		return s, nil
	case o.Phase == node.Holding && seq == 0: // for a person, who needs no conductor
		// Power does need one: without it the operation would leave the hold for a wait that fails it.
		s.GoOn = come(n) && (cover.Covered || o.Asked != node.AskPower)
		s.WaitingFor, s.Until = o.WaitingFor, o.WaitingUntil
		return s, nil
	}
	if stall != o.Stalled {
		if stall == node.StallDeaths {
			patience = cover.PutOff
		}
		if o, err = a.stall(ctx, o, run, seq, stall, patience); err != nil {
			return Sight{}, typed(err)
		}
	}
	s.Stalled, s.WaitingFor, s.Until = stall, o.WaitingFor, o.WaitingUntil
	s.GiveUp = stall == node.StallConductor && patience == 0
	s.GoOn = come(n) && course == node.GoesOn
	if s.GoOn && o.Phase == node.Waiting {
		err = a.Ledger.GoOn(ctx, operation, run)
	}
	return s, typed(err)
}

func (a *Operations) stall(ctx context.Context, o *node.Operation, run string, seq int64, stall node.Stall, patience time.Duration) (*node.Operation, error) {
	switch stall {
	case node.StallDeaths:
		return a.Ledger.Stall(ctx, o.ID, run, seq, stall, node.WaitsForNextTry(o.CurrentStep()), &patience)
	case node.StallConductor:
		return a.Ledger.Stall(ctx, o.ID, run, seq, stall, node.WaitsForConductor(o.Group, o.Driver), &patience)
	case node.StallMaintenance:
		return a.Ledger.Stall(ctx, o.ID, run, seq, stall, node.PausedWords, nil)
	}
	return a.Ledger.Stall(ctx, o.ID, run, seq, stall, "", nil)
}

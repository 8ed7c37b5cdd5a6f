package node

import (
	"slices"
	"time"
)

// This file decides whether the work of an operation goes on, rests or ends.

// Course says what happens to the work of an open operation now.
type Course string

// The courses.
const (
	// GoesOn: its steps run, or what it waits for may come.
	GoesOn Course = "goes on"
	// Rests: no step may begin, until what keeps it from going on is over.
	Rests Course = "rests"
	// Ends: no step may begin any more. What is half done is undone, and it is closed.
	Ends Course = "ends"
	// BreaksOff: it is closed as it stands, and the hardware is not touched. Its node is
	// in maintenance, and the conductor that was at work on a step has died.
	BreaksOff Course = "breaks off"
)

// Situation is what Course needs to know besides the operation's row.
type Situation struct {
	Cover Coverage
	// Patience is how long the return of a conductor that left in good order is waited for.
	Patience time.Duration
	// Claimed: the caller has just taken the claim and will run the steps. A step that is
	// running and was not handed over then belongs to a conductor that has died.
	Claimed bool
}

// Course says whether the work of o goes on, rests or ends. It is asked while no step runs: by the
// workflow that waits, and by the conductor that has the claim, before each step. Reconciliation
// asks another question, whether the workflow of o is worth notifying (CanTakeUp, and StaleWaits of
// package store).
func (o *Operation) Course(s Situation) Course {
	step, blocked := o.CurrentStep(), BlockReasonOf(o, s.Cover)
	switch {
	case o.Phase == Ended, o.MayLeave(step, blocked):
		return Ends
	case o.Kind.Spec().Undoes && o.Paused:
		// Nobody asked for it now, and a node in maintenance is not held for what it owes.
		return Ends
	case !s.Claimed && Orphaned(o, s.Cover, s.Patience):
		return BreaksOff
	case s.Claimed && step == nil: // nothing is left to do but to close it
		return GoesOn
	case s.Cover.Covered && o.Asked == AskPower:
		return GoesOn // power is what an operator does to a node in maintenance
	case o.TemporalPause != nil && o.TemporalPause.What == PauseOfWorkflow:
		return Rests
	case s.Claimed && step.PowerRequest() && s.Cover.PutOff == 0:
		return GoesOn
	case s.Claimed && blocked == BlockedMaintenance && step.State == StepRunning && !o.Rests:
		return BreaksOff
	case blocked != NotBlocked:
		return Rests
	}
	return GoesOn
}

// Ends reports whether somebody who asks this wants the operation to end.
func (a Ask) Ends() bool { return a == AskCancel || a == AskAbort || a == AskDelete }

// Interrupts reports whether a does not wait for the end of the running step: the workflow
// is cancelled. Of any other ask the workflow is only notified.
func (a Ask) Interrupts() bool { return slices.Contains(Interrupting, a) }

// Interrupting are the asks that interrupt the running step.
var Interrupting = []Ask{AskCancel, AskDelete}

// MayLeave reports whether somebody wants o to end, and its current step (nil = none is
// left) can be left for that. An abort waits for the end of a step that is not abortable
// and has begun to do something, unless it is blocked, so that nobody can finish the step.
func (o *Operation) MayLeave(step *Step, blocked BlockReason) bool {
	switch {
	case o.Asked.Interrupts():
		return true
	case o.Asked == AskAbort:
		return step == nil || step.Abortable || step.untouched() || blocked != NotBlocked
	}
	return false
}

// untouched reports whether nothing was done for the step yet.
func (s Step) untouched() bool {
	return s.Attempts <= 1 && s.Issued == nil && s.Phase == "" && s.State != StepWaiting
}

// LeavesHardware reports whether the end of o leaves the hardware as it is, with the undo
// owed: its node was put into maintenance meanwhile, and nobody has asked for the end.
func (o *Operation) LeavesHardware() bool { return o.Paused && !o.Asked.Ends() }

// Ending reports whether o is about to end: nothing but its undo follows, after the current
// step at the latest.
func (o *Operation) Ending() bool { return o.Phase == Undoing || o.Asked.Ends() }

// WorkflowWaits reports whether the workflow of o waits, so that it has to be notified of a
// new ask. A running step reads the row by itself.
func (o *Operation) WorkflowWaits() bool { return o.Phase == Waiting || o.Phase == Holding }

// CanTakeUp reports whether the workflow of o could take up now what was asked of it, so that a signal that got lost is worth repeating.
// covered says whether a conductor covers the node.
func (o *Operation) CanTakeUp(covered bool) bool {
	switch {
	case o.Phase == Ended, o.TemporalPause != nil:
		return false
	case o.Asked == AskAbort && o.Phase == Waiting:
		return o.MayLeave(o.CurrentStep(), o.Blocked)
	case o.Asked.Ends():
		return true
	case o.Asked == AskPower:
		return o.Blocked != BlockedNoConductor && (o.Phase != Holding || covered)
	}
	return o.Asked == AskUnhold && o.Blocked == NotBlocked
}

// PendingAsk returns what the conductor that works on o has to take up. Temporal itself tells
// it that its activity is paused.
func (o *Operation) PendingAsk() Ask {
	switch p := o.TemporalPause; {
	case o.Asked != AskNone:
		return o.Asked
	case p != nil && p.What == PauseOfWorkflow:
		return AskRest
	case o.Paused:
		return AskPause
	}
	return AskNone
}

// SetPendingAsk records in the conductor's copy of o what PendingAsk has returned for the row.
func (o *Operation) SetPendingAsk(a Ask) {
	switch a {
	case AskRest:
		o.Asked = AskNone
		if o.TemporalPause == nil || o.TemporalPause.What != PauseOfWorkflow {
			o.TemporalPause = &Pause{What: PauseOfWorkflow}
		}
	case AskPause:
		o.Asked, o.Paused, o.TemporalPause = AskNone, true, nil
	case AskNone:
		o.Asked, o.Paused, o.TemporalPause = AskNone, false, nil
	default:
		o.Asked = a
	}
}

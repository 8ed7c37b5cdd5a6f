package node

import (
	"slices"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// OnFailure says what happens to an operation when one of its steps has failed for good.
type OnFailure string

// The values of OnFailure. Ironic's clients wait for states, so the default is to fail.
const (
	FailOnFailure OnFailure = "fail" // the operation is undone and ends in the failed state
	HoldOnFailure OnFailure = "hold" // the operation waits for a decision until decision_wait is over
)

// Anonymous stands for the person who decided if the API asks for no login.
const Anonymous = "anonymous"

// OnFailures lists the valid values of OnFailure.
var OnFailures = []OnFailure{FailOnFailure, HoldOnFailure}

// Action is what a person decides about a step that has failed.
type Action string

// The actions.
const (
	ActionRetry Action = "retry" // the same step again, as if it had not failed yet
	ActionSkip  Action = "skip"  // on with the next step
	ActionAbort Action = "abort" // undo, and end as cancelled
)

// Actions lists all actions.
var Actions = []Action{ActionRetry, ActionSkip, ActionAbort}

// DecisionRecord is a decision about a step that failed, as the operation's row keeps it.
type DecisionRecord struct {
	At     time.Time `json:"at"`
	Action Action    `json:"action"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Step   string    `json:"step"` // "interface.step"
	Error  string    `json:"error,omitempty"`
}

// Undecided returns the step about which the operation waits for a decision; nil if it
// waits for none. An operation also holds at a step named hold, but that has not failed.
func (o *Operation) Undecided() *Step {
	if o.EndedAt != nil || o.Phase != Holding {
		return nil
	}
	if s := o.CurrentStep(); s != nil && s.State == StepFailed {
		return s
	}
	return nil
}

// Again makes a failed step pending again. The record of what the step has sent stays, so
// that it checks the effect before it sends that again. If nobody can read the effect
// (StepRule.Unread), the record is dropped: whoever retries such a step wants it sent.
func (s *Step) Again() {
	s.State, s.Failures, s.BusySince, s.Restarts, s.EndedAt = StepPending, 0, nil, 0, nil
	s.ForgetSilence()
	s.ClearDeaths()
	s.Spared, s.OnAgain, s.BootsAgain = 0, 0, 0
	if s.Rule().Unread {
		s.Issued = nil
	}
}

// Again makes a failed step of o pending again. An agent sends its inventory once in a
// boot, so that a step that collects it needs the agent to be booted again.
func (o *Operation) Again(step *Step) {
	step.Again()
	if !step.Rule().Collects {
		return
	}
	for i := range o.Steps {
		if boot := &o.Steps[i]; boot.Rule().BootsAgent {
			boot.Again()
			boot.Rewind()
		}
	}
}

// Choices returns the actions that the step allows.
func (s Step) Choices() []Action {
	if s.Unskippable() != "" {
		return []Action{ActionRetry, ActionAbort}
	}
	return Actions
}

// Unskippable returns why the step can't be skipped; "" if it can.
func (s Step) Unskippable() string {
	if r := s.Rule(); !s.Asked || !r.SkipAsked {
		return r.NoSkip
	}
	return ""
}

// PowerRequest reports whether the step carries out a request for a power state.
func (s Step) PowerRequest() bool { return s.Rule().Power != "" }

// Decide checks whether the operation waits for a decision and whether that may be a.
// Errors: Invalid, Conflict, NotAllowed.
func (o *Operation) Decide(a Action) error {
	if !slices.Contains(Actions, a) {
		return fault.New(fault.Invalid, "Action %q is not valid, it is one of %v.", text.Cut(string(a)), Actions)
	}
	if o.EndedAt != nil {
		return fault.Coded(fault.OperationEnded, "Operation %d of node %s has ended already.", o.ID, o.NodeUUID)
	}
	step := o.Undecided()
	if step == nil {
		return NoDecision(o.ID)
	}
	if why := step.Unskippable(); a == ActionSkip && why != "" {
		return CannotSkip(step.Name(), why)
	}
	return nil
}

// OperationChange is what a function that edits an open operation in place wants besides:
// whether to write it, a move of the node, and an event in the history.
type OperationChange struct {
	Leave bool         // write nothing
	Came  bool         // the claim has had a result: whoever had it did not die of the step
	Move  Event        // moves the node by the life-cycle table; "" = it stays
	Event HistoryEvent // line for the node's history; without Event none is written
}

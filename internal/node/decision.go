package node

import (
	"slices"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// OnFailure is what becomes of an operation when one of its steps has failed for good.
type OnFailure string

// What may become of it. Ironic's clients wait on states, so it fails unless asked otherwise.
const (
	FailOnFailure OnFailure = "fail" // undone and closed in the failed state
	HoldOnFailure OnFailure = "hold" // waits for somebody's decision, for a while
)

// Anonymous is who decides where nobody is asked for a name.
const Anonymous = "somebody without a name"

// OnFailures are all of them.
var OnFailures = []OnFailure{FailOnFailure, HoldOnFailure}

// Action is what somebody decides about a step that failed.
type Action string

// The actions.
const (
	ActionRetry Action = "retry" // the same step again, as if it had not failed yet
	ActionSkip  Action = "skip"  // on with the next step
	ActionAbort Action = "abort" // undo, and end as cancelled
)

// Actions are all of them.
var Actions = []Action{ActionRetry, ActionSkip, ActionAbort}

// DecisionRecord is a decision about a step that failed, as it is kept.
type DecisionRecord struct {
	At     time.Time `json:"at"`
	Action Action    `json:"action"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Step   string    `json:"step"` // "interface.step"
	Error  string    `json:"error,omitempty"`
}

// Undecided is the step about which the operation waits for a decision; nil =
// it waits for none. A hold step that was asked for waits, too, but has not failed.
func (o *Operation) Undecided() *Step {
	if o.EndedAt != nil || o.Phase != Holding {
		return nil
	}
	if s := o.CurrentStep(); s != nil && s.State == StepFailed {
		return s
	}
	return nil
}

// Again makes a failed step one that has yet to run. What it has sent stays
// recorded, so that it is looked at before it is sent again; except for a pulse,
// whose effect nobody can read: who asks for it again wants it sent.
func (s *Step) Again() {
	s.State, s.Failures, s.Restarts, s.EndedAt = StepPending, 0, 0, nil
	s.ClearDeaths()
	s.Spared = 0
	if s.Rule().Unread {
		s.Issued = nil
	}
}

// Again is Step.Again of a step of o. An agent tells its inventory once in a boot, and
// later ones are not taken: for another one the agent is booted anew.
func (o *Operation) Again(step *Step) {
	step.Again()
	if !step.Rule().Collects {
		return
	}
	for i := range o.Steps {
		if boot := &o.Steps[i]; boot.Rule().BootsAgent {
			boot.Again()
			boot.Phase, boot.Issued = "", nil
		}
	}
}

// Choices are the actions that the step allows.
func (s Step) Choices() []Action {
	if s.Unskippable() != "" {
		return []Action{ActionRetry, ActionAbort}
	}
	return Actions
}

// Unskippable says why the step can't be skipped; "" = it can.
func (s Step) Unskippable() string {
	if r := s.Rule(); !s.Asked || !r.SkipAsked {
		return r.NoSkip
	}
	return ""
}

// PowerRequest reports whether the step came of a request for a power state; no
// plan but a power operation's, which is never held, has one.
func (s Step) PowerRequest() bool { return s.Rule().Power != "" }

// Decide checks whether the operation waits for a decision that a can be.
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

// OperationChange is what is to become of an open operation, by its workflow or a
// person, beside what was edited in place.
type OperationChange struct {
	Leave bool         // write nothing
	Move  Event        // moves the node by the life-cycle table; "" = it stays
	Event HistoryEvent // line for the node's history; without Event none is written
}

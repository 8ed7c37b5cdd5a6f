package node

import "slices"

// Class sorts the states by what moves a node out of them.
type Class int

// The classes. Every state of the table has exactly one; anything else has none.
const (
	ClassNone    Class = iota
	ClassStable        // rests until somebody asks for something; no target
	ClassWorking       // "-ing": a conductor is at work, clients see a reservation
	ClassWaiting       // for the ramdisk agent
	ClassHolding       // for a person
	ClassFailed        // rests after a failure, the target it missed still shown
)

// ClassOf is the class of s, ClassNone for a state that is not in the table.
func ClassOf(s State) Class { return stateSpecs[s].class }

// Working reports whether s is an -ing state.
func Working(s State) bool { return ClassOf(s) == ClassWorking }

// Waits reports whether a node in s waits for its agent.
func Waits(s State) bool { return ClassOf(s) == ClassWaiting }

// Holds reports whether a node in s waits for a person.
func Holds(s State) bool { return ClassOf(s) == ClassHolding }

// Fails reports whether s is one of the failed states. ErrorState and Enroll,
// where deleting and verifying fail to, are stable and not among them.
func Fails(s State) bool { return ClassOf(s) == ClassFailed }

// Transient reports whether an operation must be open while a node is in s.
func Transient(s State) bool { return stateSpecs[s].failed != "" }

// TransientStates are the states in which an operation must be open, in the table's order.
func TransientStates() []State {
	return slices.DeleteFunc(States(), func(s State) bool { return !Transient(s) })
}

// FailureEvent is the event by which work in the transient state s fails.
func FailureEvent(s State) Event {
	if Holds(s) {
		return EventAbort
	}
	return EventFail
}

// TargetOf is the target_provision_state of a node in s where nobody asked for
// another one (FSM default); "" in stable states.
func TargetOf(s State) State { return stateSpecs[s].target }

// TargetIn is the target_provision_state of a node that an operation with
// target want has brought into s. Only cleaning differs from the table: by hand
// it ends manageable, and shows that.
func TargetIn(s, want State) State {
	switch s {
	case Cleaning, CleanWait, CleanHold, CleanFailed:
		if want == Manageable {
			return Manageable
		}
	}
	return TargetOf(s)
}

// KeepsError reports whether the last error of a node in state s explains the state.
// A power request that succeeds does not erase it then (Ironic conductor/utils.py,
// node_power_action, FAILURE_STATES).
func KeepsError(s State) bool { return Fails(s) || s == ErrorState }

// FailedStates are the states in which something has failed, and nothing goes on.
func FailedStates() []State {
	return slices.DeleteFunc(States(), func(s State) bool { return !KeepsError(s) })
}

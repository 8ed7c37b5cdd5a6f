package conductor

import (
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// outcome is how a step that returns no error ended.
type outcome int

const (
	done       outcome = iota
	awaitAgent         // the server boots; the step continues when its agent calls
	awaitHold          // the step continues when a person lifts the hold
	endAsked           // somebody asked to end the operation, and the step may be left here
)

// stepError is the failure of a step, with the step on which it is recorded.
type stepError struct {
	step *node.Step
	err  error
}

func (e *stepError) Error() string { return e.err.Error() }

func (e *stepError) Unwrap() error { return e.err }

// refusedAs returns err with the cause of what was asked of the BMC, if the BMC has refused it.
func refusedAs(cause fault.Code, err error) error {
	if !fault.Is(err, fault.Refused) {
		return err
	}
	return fault.CodedAs(fault.Refused, cause, "%w", err)
}

const (
	phaseOff    = node.PhaseOff
	phaseArmed  = node.PhaseArmed
	phaseBooted = node.PhaseBooted
)

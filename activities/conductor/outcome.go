package conductor

import "go.temper.dev/temper/internal/node"

// outcome is what a step says of itself when it returns without an error.
type outcome int

const (
	done       outcome = iota // done
	awaitAgent                // the server boots; go on when its agent calls
	awaitHold                 // a person decides when to go on
	endAsked                  // somebody asked for an end, and the step can be left here
)

// stepError is a failure of a step, so that it can be recorded on it.
type stepError struct {
	step *node.Step
	err  error
}

func (e *stepError) Error() string { return e.err.Error() }

func (e *stepError) Unwrap() error { return e.err }

const (
	phaseOff    = node.PhaseOff
	phaseArmed  = node.PhaseArmed
	phaseBooted = node.PhaseBooted
)

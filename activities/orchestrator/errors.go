package orchestrator

import (
	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
)

func otherRun(id int64) error {
	return fault.New(fault.Lost, "operation %d is another run's", id)
}

// temporalError returns err with its kind as the type of a Temporal failure. It is not
// retryable if trying again can't help.
func temporalError(err error) error {
	if err == nil {
		return nil
	}
	switch fault.KindOf(err) {
	case fault.Lost, fault.NotFound, fault.Invalid, fault.Conflict, fault.NotAllowed:
		return activities.NonRetryable(err)
	}
	return activities.RetryAfter(err, 0)
}

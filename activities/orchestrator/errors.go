package orchestrator

import (
	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
)

func otherRun(id int64) error {
	return fault.New(fault.Lost, "operation %d is another run's", id)
}

// temporalError gives a database activity's error its kind as Temporal's error type, so
// that the retry policy tells final ones from those that pass.
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

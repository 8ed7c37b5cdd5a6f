package activities

import (
	"time"

	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/internal/fault"
)

// never ends the activity: asking again can't help.
func NonRetryable(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
		temporal.ApplicationErrorOptions{NonRetryable: true, Cause: nil})
}

// again asks for another attempt after the pause.
func RetryAfter(err error, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
		temporal.ApplicationErrorOptions{NextRetryDelay: pause})
}

package activities

import (
	"time"

	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/internal/fault"
)

// NonRetryable returns err as a failure that Temporal does not retry.
func NonRetryable(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
		temporal.ApplicationErrorOptions{NonRetryable: true, Cause: nil})
}

// RetryAfter returns err as a failure that Temporal retries after pause; 0 = as the retry policy says.
func RetryAfter(err error, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
		temporal.ApplicationErrorOptions{NextRetryDelay: pause})
}

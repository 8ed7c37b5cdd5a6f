package activities

import (
	"time"

	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/internal/fault"
)

// Temporal is the only retry loop, and these are the only verdicts it gets.

// never ends the activity: asking again can't help.
func never(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
		temporal.ApplicationErrorOptions{NonRetryable: true, Cause: nil})
}

// again asks for another attempt after the pause.
func again(err error, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
		temporal.ApplicationErrorOptions{NextRetryDelay: pause})
}

// handOver gives the step to another conductor at once; it is no failure.
func handOver(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), "handed over",
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond, Category: temporal.ApplicationErrorCategoryBenign})
}

func cancelled() error { return temporal.NewCanceledError() }

// Limits say how often a step may fail by itself before it fails for good;
// crashes of conductors do not count. The pause doubles from First up to Most.
var Limits = struct {
	Failures    int
	First, Most time.Duration
}{Failures: 5, First: time.Second, Most: 30 * time.Second}

// pauseAfter is how long to wait after the nth failure (from 1) of a step.
func pauseAfter(n int) time.Duration {
	p := Limits.First
	for ; n > 1 && p < Limits.Most; n-- {
		p *= 2
	}
	return min(p, Limits.Most)
}

package conductor

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Temporal is the only retry loop, and these are the only verdicts it gets.

// handOverError gives the step to another conductor at once; it is no failure.
func handOverError(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), "handed over",
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond, Category: temporal.ApplicationErrorCategoryBenign})
}

func cancelledError() error { return temporal.NewCanceledError() }

// Retry is what is done about failures of one class of error.
type Retry struct {
	Class       fault.Class
	Name        string
	Failures    int           // how often a step may fail so before it has failed for good; 0 = the limit of its own
	First, Most time.Duration // the pause doubles from First up to Most
	What        string        // for people
}

// StepLimit is how often a step may fail by itself before it has failed for good,
// where step_limits does not say. Crashes of conductors do not count.
const StepLimit = 5

// Retries is the whole table, by class of error (fault.ClassOf).
var Retries = []Retry{
	{fault.Transient, "transient", 0, time.Second, 30 * time.Second, "no answer, or the database was away: again after a pause that doubles"},
	{fault.WaitBusy, "busy", 0, time.Second, 30 * time.Second, "answered \"later\": the same, or after the pause that was asked for where it is longer"},
	{fault.NeedsOperator, "needs operator", 1, 0, 0, "refused, wrong password or other data, untrusted, outcome unknown: by a person's decision only"},
	{fault.Never, "never", 1, 0, 0, "the table does not allow it, nobody can do it, or the claim is lost: not again, not by decision either"},
}

// isPermanent: no class of error that passes by itself.
func isPermanent(err error) bool {
	c := fault.ClassOf(err)
	return c != fault.Transient && c != fault.WaitBusy
}

func retryOf(c fault.Class) Retry {
	for _, r := range Retries {
		if r.Class == c {
			return r
		}
	}
	return Retry{Class: fault.Never, Failures: 1}
}

// limit is how often the step may fail so; own are the limits by "interface.step".
func (r Retry) limit(step *node.Step, own map[string]int) int {
	return cmp.Or(r.Failures, own[step.Name()], step.Rule().Failures, StepLimit)
}

// sleep is how long to wait after the nth failure (from 1) of a step.
func (r Retry) pause(n int) time.Duration {
	p := r.First
	for ; n > 1 && p < r.Most; n-- {
		p *= 2
	}
	return min(p, r.Most)
}

package conductor

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Steps are retried by Temporal only. This file has the errors that tell it whether and when.

// handOverError makes Temporal give the step to another conductor at once. It does not count
// as a failure.
func handOverError(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), "handed over",
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond, Category: temporal.ApplicationErrorCategoryBenign})
}

func cancelledError() error { return temporal.NewCanceledError() }

// Retry says how failures of one class of error are retried.
type Retry struct {
	Class       fault.Class
	Name        string
	Failures    int           // with how many failures the step has failed for good; 0 = the step's own limit
	First, Most time.Duration // the pause doubles from First up to Most
	What        string        // for people
}

// StepLimit is how many failures a step may have if neither step_limits nor the table of
// steps says so. Crashes of conductors do not count.
const StepLimit = 5

// Retries has a row for each class of error (fault.ClassOf).
var Retries = []Retry{
	{fault.Transient, "transient", 0, time.Second, 30 * time.Second, "no answer, or the database was away: again after a pause that doubles; silence of a BMC counts only after the time for it"},
	{fault.WaitBusy, "busy", 0, time.Second, 30 * time.Second, "answered \"later\": the same, or after the pause that was asked for where it is longer; counts only after the step's time for such answers"},
	{fault.NeedsOperator, "needs operator", 1, 0, 0, "refused, wrong password or other data, untrusted, outcome unknown: by a person's decision only"},
	{fault.Never, "never", 1, 0, 0, "the table does not allow it, nobody can do it, or the claim is lost: not again, not by decision either"},
}

// isPermanent reports whether err is of a class that does not go away by itself.
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

// limit returns how many failures of this class a step may have. own has the limits of the
// setting step_limits by "interface.step".
func (r Retry) limit(step *node.Step, own map[string]int) int {
	return cmp.Or(r.Failures, own[step.Name()], step.Rule().Failures, StepLimit)
}

// spent reports whether the step has failed for good if err is one more failure. counts is
// false for an answer "later" and for silence of the BMC within the step's time for them, which
// are no failures. A silence that counts as a failure was counted when it began (Step.FellSilent).
func (t *task) spent(step *node.Step, err error) (spent, counts bool) {
	switch {
	case t.mayBeBusy(step, err):
		return false, false
	case t.waitsForBMC(step, err):
		over := step.SilentSince != nil && time.Since(*step.SilentSince) >= t.Settings.AwayTimeout
		return over || step.Failures >= retryOf(fault.Transient).limit(step, t.Settings.StepLimits), over
	}
	return step.Failures+1 >= retryOf(fault.ClassOf(err)).limit(step, t.Settings.StepLimits), true
}

// timeSilence notes since when the BMC has been silent, if that is what err means; if err is another error, the silence is over.
func (t *task) timeSilence(step *node.Step, err error) {
	if t.waitsForBMC(step, err) {
		step.FellSilent(time.Now().UTC(), t.Settings.AwayTimeout)
	} else {
		step.SilentSince = nil
	}
}

// pauseAfter returns the pause after the error err of the step, and notes since when the step
// gets answers "later". A pause that the answer asks for is not longer than what is left of the
// time in which such answers don't count.
func (t *task) pauseAfter(step *node.Step, err error, counts bool) time.Duration {
	rule := retryOf(fault.ClassOf(err))
	now := time.Now().UTC()
	step.BusySince = sinceWhen(step.BusySince, rule.Class == fault.WaitBusy, now)
	wanted := bmc.RetryAfter(err)
	if counts {
		return max(rule.pause(step.Failures), wanted)
	}
	if step.BusySince == nil {
		left := t.Settings.AwayTimeout - time.Since(*step.SilentSince)
		return max(min(t.silentPause(*step.SilentSince), left), rule.First)
	}
	// As long as it has lasted, so that the pauses double although nothing is counted.
	lasted := time.Since(*step.BusySince)
	pause := max(min(lasted, rule.Most), wanted)
	return max(min(pause, t.busyPatience(step)-lasted), rule.First)
}

// sinceWhen returns since when something holds: nil = it does not.
func sinceWhen(since *time.Time, holds bool, now time.Time) *time.Time {
	switch {
	case !holds:
		return nil
	case since == nil:
		return &now
	}
	return since
}

// waitsForBMC reports whether err is silence of the BMC that is waited for: the BMC gave no
// answer, and refused neither the password nor the request. A step whose row in the table of
// steps says how often it may fail is tried again by whoever has opened its operation.
func (t *task) waitsForBMC(step *node.Step, err error) bool {
	return t.Settings.AwayTimeout > 0 && step.Rule().Failures == 0 && isSilence(err)
}

// isSilence reports whether err means that a BMC gave no answer.
func isSilence(err error) bool {
	return fault.Is(err, fault.Unreachable) && fault.NoAnswer(err) && fault.CauseOf(err) == fault.BMCSilent
}

// mayBeBusy reports whether err is an answer "later" and the first of them in a row is not too
// long ago. A server in its self-test or whose BMC is being updated answers so for minutes. A
// request for a power state has as long for it as the change itself. A step whose row in the
// table of steps says how often it may fail is tried again by whoever has opened its operation.
func (t *task) mayBeBusy(step *node.Step, err error) bool {
	if fault.ClassOf(err) != fault.WaitBusy || step.Rule().Failures > 0 {
		return false
	}
	return step.BusySince == nil || time.Since(*step.BusySince) < t.busyPatience(step)
}

func (t *task) busyPatience(step *node.Step) time.Duration {
	if step.PowerRequest() {
		return t.Settings.PowerTimeout
	}
	return t.Settings.BusyPatience
}

// pause returns how long to wait after the nth failure of a step; the first one is 1.
func (r Retry) pause(n int) time.Duration {
	p := r.First
	for ; n > 1 && p < r.Most; n-- {
		p *= 2
	}
	return min(p, r.Most)
}

package node

import (
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// RunStatus is what Temporal knows of an operation's workflow run.
type RunStatus struct {
	Known bool
	// Open means that the run is running or paused. A run that continued as new
	// counts as open as long as its successor is.
	Open     bool
	RunID    string    // the open run's, if that is another run than the one asked for
	Pause    *Pause    // of an open run that somebody has paused in Temporal
	How      string    // of a closed run: completed, failed, cancelled, terminated, RunTimedOut
	ClosedAt time.Time // zero = not closed, or Temporal does not say when
	// Foreign describes the workflow that has the id of the operation's workflow and is not the operation's; "" = there is none.
	// Nothing else is set then.
	Foreign string
}

// Values of RunStatus.How.
const (
	RunTimedOut   = "timed out"
	RunTerminated = "terminated"
	RunCompleted  = "completed" // only a database older than the run shows its operation as open
)

// Cause returns the cause of the end of an operation whose run is closed, although the operation
// was open.
func (s RunStatus) Cause() fault.Code {
	if s.How == RunTimedOut {
		return fault.WorkflowTimedOut
	}
	return fault.WorkflowTerminated
}

// SafeIn returns how long it takes until nothing of a closed run can act any more. A
// run whose close time is not known may have been closed just now.
func (s RunStatus) SafeIn(now time.Time, safe time.Duration) time.Duration {
	if s.ClosedAt.IsZero() {
		return safe
	}
	return max(safe-now.Sub(s.ClosedAt), 0)
}

// Over reports whether the run has been closed for so long that nothing of it can act
// any more.
func (s RunStatus) Over(now time.Time, safe time.Duration) bool {
	return s.Known && !s.Open && s.SafeIn(now, safe) == 0
}

// Pause is a pause that somebody has set in Temporal: of the workflow, or of the
// activity that it waits for.
type Pause struct {
	What   PauseOf   `json:"what"`
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"` // the identity of the Temporal client that paused it
	Reason string    `json:"reason,omitempty"`
	// Activity is the id of the paused activity; "" = the workflow is paused.
	Activity string `json:"activity,omitempty"`
}

// PauseOf is what of an operation is paused in Temporal.
type PauseOf string

// What can be paused in Temporal.
const (
	PauseOfWorkflow PauseOf = "workflow" // the current step ends and no other begins
	PauseOfActivity PauseOf = "activity" // the current step is interrupted
)

// Words describes the pause for people: since when, by whom and why.
func (p *Pause) Words() string {
	words := "paused in Temporal since " + text.Moment(p.At)
	if p.By != "" {
		words += " by " + p.By
	}
	return words + text.Because(p.Reason)
}

// The bounds of the texts of a pause, in bytes.
const (
	maxPauseName   = 255
	maxPauseReason = 4 << 10
)

// PauseInTemporal records a pause that was set in Temporal, and reports whether that
// changed anything. Texts of p, which strangers wrote, are recorded as they can be stored, and
// compared so: otherwise a long one would differ from the recorded one each time.
func (o *Operation) PauseInTemporal(p Pause, now time.Time) bool {
	p.By, p.Activity = text.Storable(p.By, maxPauseName), text.Storable(p.Activity, maxPauseName)
	p.Reason = text.Storable(p.Reason, maxPauseReason)
	if p.At.IsZero() || p.At.After(now) {
		p.At = now
	}
	if had := o.TemporalPause; had != nil {
		p.At = had.At // the time limits have been stopped since then
		if had.By == p.By && had.Reason == p.Reason && had.Activity == p.Activity && had.What == p.What {
			return false
		}
	}
	o.TemporalPause = &p
	return true
}

// Resume records that the operation is not paused in Temporal any more: what it waits for
// has as much time left as when it was paused. It returns false if it was not paused.
func (o *Operation) Resume(now time.Time) bool {
	p := o.TemporalPause
	if p == nil {
		return false
	}
	o.TemporalPause = nil
	if stood := now.Sub(p.At); o.WaitingUntil != nil && stood > 0 {
		o.waitUntil(o.WaitingUntil.Add(stood))
	}
	o.postponeUsual(now.Sub(p.At))
	o.forgetBusy()
	return true
}

// Unpauses reports whether asking a of an operation ends its pause in Temporal, because a
// paused workflow could not do what is asked.
func Unpauses(a Ask) bool {
	switch a {
	case AskCancel, AskAbort, AskDelete, AskUnhold:
		return true
	}
	return false
}

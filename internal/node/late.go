package node

import (
	"cmp"
	"time"

	"go.temper.dev/temper/internal/fault"
)

const (
	// UnmeasuredWrite is within which time a step that writes an image is expected to end as long as there are fewer than
	// EnoughSamples of it. Of other steps nothing is expected then: erasing a disk may well take a day.
	UnmeasuredWrite = 30 * time.Minute
	// CallShare is after which part of its time limit the call of an agent is late, a third, as long as there are fewer than
	// EnoughSamples of the step that boots it, and after which part of its own a change of power is.
	CallShare = 3
	// StallLimit is how long a command whose progress is told may get no further before it is called late.
	StallLimit = 2 * time.Minute
	// paceSettles is from when on a pace tells something: before that, connections are made and caches filled.
	paceSettles = 30 * time.Second
)

// ExpectedWithin returns after how long s takes unusually long, and false if nobody can say.
func (s *Step) ExpectedWithin() (time.Duration, bool) {
	if s.Restarting { // its agent is booted once more
		return 0, false
	}
	if s.Usual != nil {
		if within, enough := s.Usual.LateAfter(); enough {
			return within, true
		}
	}
	return UnmeasuredWrite, s.Rule().WritesDisk
}

// Pace notes at a look, after Advance, from when on w is late: when nothing more has been done for StallLimit or, sooner, when
// at the pace since the beginning all of it would take longer than the step is expected to.
func (w *Wait) Pace(step *Step, at time.Time) {
	if w.Fraction == nil || w.AdvancedAt == nil {
		return
	}
	late, slow := w.AdvancedAt.Add(StallLimit), false
	within, known := step.ExpectedWithin()
	if ran := at.Sub(w.Since); known && ran >= paceSettles && float64(ran) > *w.Fraction*float64(within) {
		slow = true
		switch {
		case w.Slow: // since it was noticed first
			late = *w.LateAt
		case at.Before(late):
			late = at
		}
	}
	w.LateAt, w.Slow, w.LateCause = &late, slow, ""
	if step.Rule().WritesDisk {
		w.LateCause = fault.ImageServerSlow
	}
}

// ExpectCall notes from when on w, for the call of an agent until Until, is late: at usual, until which the step usually ends, or if
// that is not known, nil, after a part of the time (CallShare).
func (w *Wait) ExpectCall(usual *time.Time) {
	late := w.Since.Add(w.Until.Sub(w.Since) / CallShare)
	if usual != nil {
		late = *usual
	}
	w.LateAt, w.LateCause = &late, fault.AgentNeverCalled
}

// ExpectPower notes from when on w, for a power state that comes within limit or not in this attempt, is late: when a part of the limit
// is over (CallShare) or, if an attempt before has failed because the state did not come, from the beginning.
func (w *Wait) ExpectPower(limit time.Duration, failed bool) {
	late := w.Since.Add(max(StallLimit, limit/CallShare))
	if failed {
		late = w.Since
	}
	w.LateAt, w.LateCause = &late, fault.PowerUnchanged
}

// Late reports whether w takes unusually long: what is done of it stands still, or goes on too slowly.
func (w *Wait) Late(now time.Time) bool { return w != nil && w.LateAt != nil && w.LateAt.Before(now) }

// LateCause returns why the current step takes unusually long, "" if it does not or nobody knows. The cause of a BMC or an
// agent that gives no answer is known at once.
func (o *Operation) LateCause(now time.Time) fault.Code {
	if cause, from, _ := o.lateCause(); from != nil && !from.After(now) {
		return cause
	}
	return ""
}

// lateCause returns the cause that LateCause returns from a moment on, nil = it returns none. If since is not nil, what the cause names
// has lasted since then.
func (o *Operation) lateCause() (cause fault.Code, from, since *time.Time) {
	w := o.StepWait
	if silent := o.LiveWait().silence(); silent != "" {
		since = cmp.Or(w.UnreadSince, &w.Since)
		return silent, since, since
	}
	if !o.stepIsTimed() || w == nil || w.LateAt == nil || w.LateCause == "" {
		return "", nil, nil
	}
	if w.For == WaitCall {
		since = &w.Since
	}
	return w.LateCause, w.LateAt, since
}

// TakeUpLimit is after how long an operation that no workflow has begun is late.
const TakeUpLimit = time.Minute

// Lateness says from when on an operation takes longer than it should, and why. It is true as long as nothing about the operation
// changes. The row of an operation has it in columns, so that SQL has only to compare them with the clock.
type Lateness struct {
	At      *time.Time // from when on it is late; nil = never
	Cause   fault.Code // why; "" = nobody knows
	CauseAt *time.Time // from when on Cause is known to be why
	Since   *time.Time // since when what Cause names has lasted; nil = since At
}

// Lateness returns from when on o is late. What can't go on, or waits for a person, is not late.
func (o *Operation) Lateness() Lateness {
	if o.Phase == Ended || o.Phase == Holding || o.Blocked != NotBlocked || o.TemporalPause != nil {
		return Lateness{}
	}
	l := Lateness{At: earliest(o.stepLateAt(), o.WaitingUntil)}
	if o.Phase == Accepted {
		at := o.AcceptedAt.Add(TakeUpLimit)
		l.At = &at
	}
	l.Cause, l.CauseAt, l.Since = o.lateCause()
	if o.Cause != "" { // it is undone, for that
		l.Cause, l.CauseAt = o.Cause, l.At
	}
	return l
}

// stepIsTimed reports whether o has a current step that could go on now.
func (o *Operation) stepIsTimed() bool {
	return (o.Phase == Running || o.Phase == Waiting) && o.Blocked == NotBlocked && o.TemporalPause == nil
}

// stepLateAt returns from when on the current step takes unusually long; nil = never, or nobody can say.
func (o *Operation) stepLateAt() *time.Time {
	switch {
	case !o.stepIsTimed():
		return nil
	case o.StepWait == nil:
		return o.UsualUntil
	}
	return earliest(o.UsualUntil, o.StepWait.LateAt)
}

// earliest returns the earlier of two times, of which nil is never.
func earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

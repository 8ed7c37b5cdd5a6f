package node

import (
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
	if silent := o.LiveWait().silence(); silent != "" {
		return silent
	}
	if o.PastUsual(now) && o.StepWait.Late(now) {
		return o.StepWait.LateCause
	}
	return ""
}

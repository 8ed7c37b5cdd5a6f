package node

import (
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/text"
)

// Death is the death of a conductor soon after it had taken up a step, with no
// progress recorded in between.
type Death struct {
	Conductor   string    `json:"conductor"`
	Incarnation int64     `json:"incarnation"`
	At          time.Time `json:"at"` // its last sign of life, or when it took the step up, whichever is later
}

// A step may be the reason why its conductors die, so that it must not be given to one
// conductor after the other without end.
const (
	DeathsToPutOff = 3                // after this many deaths in a row, each further try is put off
	DeathsToHold   = 6                // after this many, the operation holds for a decision
	MostPutOff     = 10 * time.Minute // the longest time by which a try is put off
)

// FormerConductor is the conductor that had an operation's previous claim and recorded no
// progress under it. All times are the database's.
type FormerConductor struct {
	Conductor   string
	Incarnation int64
	ClaimedAt   time.Time
	SeenAt      time.Time // its last heartbeat as a conductor
	Replaced    bool      // another process has its name by now, and it had not stopped
	Undoing     bool      // it was at work on the operation's undo
}

// Fate is what happened to the conductor that had a claim before.
type Fate int

// The fates.
const (
	FateAlive Fate = iota // it is not known to have died
	FateLate              // it died, perhaps long after it had claimed
	FateEarly             // it certainly died soon after it had claimed
)

// Fate returns what happened to f. Temporal gave its step to another conductor now,
// after f had sent no heartbeat of the step for at least silence. The heartbeats of
// a conductor are beat apart, so it died at most beat after its last one. The fate is
// FateEarly only if f certainly died within the duration within of its claim.
func (f FormerConductor) Fate(now time.Time, within, beat, silence time.Duration) (Fate, Death) {
	d := Death{Conductor: f.Conductor, Incarnation: f.Incarnation, At: f.SeenAt}
	silent := now.Add(-silence)
	if !f.Replaced && f.SeenAt.After(silent) {
		return FateAlive, d
	}
	if d.At.Before(f.ClaimedAt) {
		d.At = f.ClaimedAt
	}
	last := d.At.Add(beat)
	if silent.Before(last) {
		last = silent
	}
	if last.After(f.ClaimedAt.Add(within)) {
		return FateLate, d
	}
	return FateEarly, d
}

// PutOff puts off the next try of a step that conductors died of: by first after
// DeathsToPutOff deaths, and by twice as long with each further death. A step that
// needs a decision has no next try.
func (s *Step) PutOff(now time.Time, first time.Duration) {
	if s.NotBefore = nil; s.NeedsDecision() {
		return
	}
	wait := first
	for n := DeathsToPutOff; n < len(s.Deaths) && wait < MostPutOff; n++ {
		wait *= 2
	}
	at := now.Add(min(wait, MostPutOff)).UTC()
	s.NotBefore = &at
	s.PutOffs++
}

// NeedsDecision reports whether the step needs a person's decision: so many conductors died of it, or it has failed of a cause that only
// a person can judge.
func (s Step) NeedsDecision() bool {
	return len(s.Deaths) >= DeathsToHold || s.State == StepFailed && s.Cause.Row().Holds
}

// ClearDeaths forgets the deaths, because the step is not or no longer their reason.
func (s *Step) ClearDeaths() { s.Deaths, s.NotBefore = nil, nil }

// DeathsOf describes deaths for an error: which conductors died of what, and when.
func DeathsOf(deaths []Death, what string, within time.Duration) string {
	who := make([]string, len(deaths))
	for i, d := range deaths {
		who[i] = fmt.Sprintf("%s at %s", d.Conductor, text.Moment(d.At))
	}
	return fmt.Sprintf("%d conductors in a row died within %s of taking up %s: %s", len(deaths), text.Duration(within), what, strings.Join(who, ", "))
}

// WaitsForNextTry describes what an operation waits for while its step is put off.
func WaitsForNextTry(s *Step) string {
	return fmt.Sprintf("the next try of step %s: %d conductors died of it", s.Name(), len(s.Deaths))
}

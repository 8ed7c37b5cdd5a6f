package node

import (
	"fmt"
	"time"

	"go.temper.dev/temper/internal/text"
)

// UsualBasis says of which steps a usual time was computed.
type UsualBasis string

// The bases, from the most to the least specific.
const (
	UsualOfImage UsualBasis = "image" // the step on servers of the same model, with the same image
	UsualOfModel UsualBasis = "model" // the step on servers of the same model
	UsualOfStep  UsualBasis = "step"  // the step on all servers
)

// Usual is how long a step usually takes in this fleet.
type Usual struct {
	MS      int64      `json:"ms"`      // 95 % of the samples took at most so many milliseconds
	Samples int        `json:"samples"` // how many steps it was computed from
	Basis   UsualBasis `json:"basis"`
}

const (
	// EnoughSamples is from how many samples on a usual time is relied on. With fewer, those of
	// a less specific basis are used, and a step is called late only as ExpectedWithin and Pace say.
	EnoughSamples = 10
	// SamplesKept is how many samples of a step are kept, the latest ones.
	SamplesKept = 100
)

// Within returns the time within which 95 % of the samples ended.
func (u Usual) Within() time.Duration { return time.Duration(u.MS) * time.Millisecond }

// basisWords say which steps a usual time is of. Servers are alike if they have the same model or, where that is not known, the
// same driver.
var basisWords = map[UsualBasis]string{
	UsualOfImage: "on servers like this one with this image", UsualOfModel: "on servers like this one", UsualOfStep: "on all servers",
}

// Words describes u for people, to follow the name of a step.
func (u Usual) Words() string {
	within := u.Within().Round(time.Second)
	if u.Within() < 10*time.Second {
		within = max(u.Within().Round(100*time.Millisecond), 100*time.Millisecond)
	}
	if u.Samples < EnoughSamples {
		return fmt.Sprintf("the longest of %d %s took %s", u.Samples, basisWords[u.Basis], text.Duration(within))
	}
	return fmt.Sprintf("usually 95 %% end within %s (the latest %d %s)", text.Duration(within), u.Samples, basisWords[u.Basis])
}

// LateAfter returns after how long a step takes unusually long, and false if there are too few
// samples to say. It is above the time within which 95 % end: otherwise one of twenty steps
// that are all right would be called late.
func (u Usual) LateAfter() (time.Duration, bool) {
	return u.Within()*3/2 + 10*time.Second, u.Samples >= EnoughSamples
}

// Expect notes on a step that begins how long it usually takes. The clock of a step that was begun before runs on, whichever
// conductor takes it up. It begins anew when another step was done in between: that step's end has stopped the clock.
func (o *Operation) Expect(step *Step, now time.Time) {
	if step.State == StepRunning && (o.UsualUntil != nil || !o.interrupted(step)) {
		return
	}
	o.ExpectAnew(step, now)
}

// ExpectAnew is Expect for a step that was begun before, but does all of its work from now on. Nothing is expected of a step that
// boots its agent once more: how long the step usually takes says nothing about that.
func (o *Operation) ExpectAnew(step *Step, now time.Time) {
	step.Usual, o.UsualUntil = nil, nil
	if step.Restarting {
		return
	}
	if usual, known := o.UsualTimes[step.Name()]; known {
		step.Usual = &usual
	}
	if late, known := step.ExpectedWithin(); known {
		until := now.Add(late)
		o.UsualUntil = &until
	}
}

// interrupted reports whether the step before this one, a power request, was inserted after this one had begun.
func (o *Operation) interrupted(step *Step) bool {
	if step.Index == 0 || step.StartedAt == nil {
		return false
	}
	before := o.Steps[step.Index-1].EndedAt
	return before != nil && before.After(*step.StartedAt)
}

// PastUsual reports whether the current step takes unusually long. Time in which o can't go on
// does not count.
func (o *Operation) PastUsual(now time.Time) bool {
	at := o.stepLateAt()
	return at != nil && at.Before(now)
}

// postponeUsual moves UsualUntil by the time in which o could not go on.
func (o *Operation) postponeUsual(by time.Duration) {
	if o.UsualUntil != nil && by > 0 {
		until := o.UsualUntil.Add(by)
		o.UsualUntil = &until
	}
}

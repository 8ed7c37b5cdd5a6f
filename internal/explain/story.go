package explain

import (
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Story is what goes on with a node right now, in one sentence without a full stop.
type Story struct {
	Sentence string
	Since    *time.Time // when that began
	Until    *time.Time // when it ends at the latest, or when somebody gives up; nil = not known
	Wait     *StepWait  // what the running step waits for; nil = not known

	running bool // it is about a step that runs
}

// covers reports whether the story says what the operation waits for, so that nobody has to say it again.
func (s *Story) covers(waitingFor string) bool {
	return s.Wait != nil && (s.Wait.For == node.WaitCall || s.Wait.For == node.WaitMedium || s.Wait.For == node.WaitAnswer) && waitingFor != ""
}

// tellsPower reports whether the story has the BMC's own word for its power, and one that differs from seen: "PoweringOn" is neither on
// nor off.
func (s *Story) tellsPower(seen node.PowerState) bool {
	w := s.Wait
	return s.running && w != nil && w.For == node.WaitPower && w.Seen != nil && w.Seen.What != bmcWords[seen]
}

// addFailure appends why the attempt before failed, if the sentence does not say so yet.
func (s *Story) addFailure(step *node.Step) {
	if why := finding.Clean(step.LastError); why != "" && !strings.Contains(s.Sentence, why) {
		s.Sentence += "; the last attempt failed: " + why
	}
}

// tell makes the story of n out of what is explained already.
func (e *Explanation) tell(n *node.Node) {
	e.Story = Story{Sentence: e.What, Since: e.Since, Until: e.NextAt}
	o := n.Operation
	if o == nil || e.ended {
		return
	}
	step := o.CurrentStep()
	defer func() {
		if e.Story.running && o.Phase != node.Undoing && !o.LiveWait().Silent() { // which says why, too
			e.Story.addFailure(step)
		}
	}()
	if e.interrupted && e.handover != "" {
		e.Story.Sentence = e.handover
		return
	}
	switch w := Wait(o, Beside{Node: n, Fleet: e.fleet, away: e.away}, e.now); {
	case w != nil:
		what := "the undo"
		if o.Phase != node.Undoing {
			what = "step " + step.Name()
		}
		e.Story = Story{Sentence: what + ": " + w.Sentence, Since: w.Since, Until: w.Until, Wait: w, running: true}
	case o.TemporalPause != nil:
	case o.Phase == node.Holding && o.Undecided() != nil && !o.Ending():
		failed := o.Undecided()
		e.Story.Sentence = fmt.Sprintf("step %s failed: %s; it waits for %s", failed.Name(), finding.Clean(failed.LastError), o.WaitingFor)
	case o.Blocked != node.NotBlocked:
		fails := e.failsWithoutConductor(o, func(t time.Time) string { return text.Clock(t, e.now) })
		e.Story.Sentence, e.Story.Since = "it waits for "+o.WaitingFor+text.Since(o.BlockedAt, e.now)+otherwise(fails), o.BlockedAt
		if o.Blocked == node.BlockedMaintenance {
			e.Story.Sentence = "it is " + node.PausedForMaintenance + text.Since(o.BlockedAt, e.now)
		}
	case o.Phase == node.Running && step != nil && step.State == node.StepRunning:
		e.Story = Story{Sentence: fmt.Sprintf("step %s runs%s", step.Name(), text.Since(step.StartedAt, e.now)), Since: step.StartedAt, running: true}
	}
}

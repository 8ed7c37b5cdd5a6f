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

	running bool   // it is about a step that runs
	usually string // how long that step usually takes; "" = not known
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

// tell makes the story out of what was found.
func (v *view) tell() {
	o, step, usually := v.o, v.step, v.Story.usually
	v.Story = Story{Sentence: v.What, Since: v.Since, Until: v.NextAt}
	if o == nil || v.ended {
		return
	}
	if v.interrupted {
		v.Story.Sentence = v.lost()
		return
	}
	switch w := Wait(o, Beside{Node: v.n, Fleet: v.f.Fleet, System: v.f.System}, v.f.Now); {
	case w != nil:
		what := "the undo"
		if o.Phase != node.Undoing {
			what = "step " + step.Name()
		}
		v.Story = Story{Sentence: what + ": " + w.Sentence, Since: w.Since, Until: w.Until, Wait: w, running: true, usually: usually}
	case o.TemporalPause != nil:
	case o.Phase == node.Holding && o.Undecided() != nil && !o.Ending():
		failed := o.Undecided()
		v.Story.Sentence = fmt.Sprintf("step %s failed: %s; it waits for %s", failed.Name(), finding.Clean(failed.LastError), o.WaitingFor)
	case o.Blocked == node.BlockedMaintenance:
		v.Story.Sentence, v.Story.Since = "it is "+node.PausedForMaintenance+text.Since(o.BlockedAt, v.f.Now), o.BlockedAt
	case o.Blocked != node.NotBlocked:
		fails := ""
		if p := v.failsWithoutConductor(); p != nil {
			p["at"] = v.clock(*o.WaitingUntil)
			fails = finding.Of(finding.FailsWithout, p).Words(v.reader())
		}
		v.Story.Sentence, v.Story.Since = "it waits for "+o.WaitingFor+text.Since(o.BlockedAt, v.f.Now)+otherwise(fails), o.BlockedAt
	case o.Phase == node.Running && step != nil && step.State == node.StepRunning:
		v.Story = Story{Sentence: fmt.Sprintf("step %s runs%s", step.Name(), text.Since(step.StartedAt, v.f.Now)), Since: step.StartedAt, running: true, usually: usually}
	}
	if v.Story.running && o.Phase != node.Undoing && !o.LiveWait().Silent() { // which says why, too
		v.Story.addFailure(step)
	}
}

// lost says of an operation that is interrupted since when its conductor is silent, and who goes on.
func (v *view) lost() string {
	who := node.ConductorWords(v.o.Conductor)
	heard := who + " is not alive"
	if c := conductor(v.f.Fleet, v.o.Conductor); c != nil {
		heard = fmt.Sprintf("%s sent its last heartbeat at %s", who, v.clock(c.HeartbeatAt))
	}
	if v.f.Covered {
		return fmt.Sprintf("%s; another conductor takes step %s over within seconds", heard, v.step.Name())
	}
	return fmt.Sprintf("%s; step %s waits for %s", heard, v.step.Name(), v.WaitingFor)
}

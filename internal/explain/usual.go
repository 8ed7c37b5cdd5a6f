package explain

import (
	"fmt"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// unusual begins the sentence about a step that takes unusually long.
const unusual = "It takes unusually long: "

// UsualTime says how long the current step of o has run, how long it usually takes and whether that is unusually long; "" if no step
// runs, or nobody knows. It needs the Now, the Fleet and the System of f.
func UsualTime(o *node.Operation, f Facts) string {
	runs, usually := yardstick(o, f)
	switch {
	case usually == "":
		return ""
	case PastUsual(o, f):
		return "unusually long: " + runs + "; " + usually
	}
	return runs + "; " + usually
}

// PastUsual reports whether the current step of o takes unusually long. What takes long while nothing can go on is not unusual.
func PastUsual(o *node.Operation, f Facts) bool {
	return o.PastUsual(f.Now) && !interrupted(o, f) && f.System.AwayBriefly() == ""
}

// yardstick says how long the current step of o has run and how long it usually takes. runs is "" if no step runs, usually if
// nobody knows.
func yardstick(o *node.Operation, f Facts) (runs, usually string) {
	step := o.CurrentStep()
	if o.Phase != node.Running && o.Phase != node.Waiting || o.Blocked != node.NotBlocked || o.TemporalPause != nil || interrupted(o, f) ||
		step == nil || step.StartedAt == nil || step.State != node.StepRunning && step.State != node.StepWaiting {
		return "", ""
	}
	ran := text.Ago(f.Now, *step.StartedAt)
	switch {
	case step.Restarts > 0 && step.Usual != nil: // only its new beginning is measured
		runs = fmt.Sprintf("step %s was begun anew", step.Name())
	case ran > 0:
		runs = fmt.Sprintf("step %s runs for %s", step.Name(), text.Duration(ran))
	default:
		runs = fmt.Sprintf("step %s has just begun", step.Name())
	}
	if step.Usual != nil {
		usually = step.Usual.Words()
	}
	return runs, usually
}

// usual explains how long the current step of o has run and how long it usually takes. If it takes
// unusually long, that is trouble.
func (e *Explanation) usual(n *node.Node, o *node.Operation, f Facts) {
	runs, usually := yardstick(o, f)
	if runs == "" {
		return
	}
	step, waits := o.CurrentStep(), e.waits
	if usually != "" {
		e.usually, e.Usual = usually, runs+"; "+usually
	}
	if e.away != "" { // what takes long is that nothing goes on
		return
	}
	switch {
	case !o.PastUsual(e.now):
	case o.StepWait.Late(e.now) && o.StepWait.For == node.WaitCall:
		e.Trouble = append(e.Trouble, unusual+"the agent has not called"+text.Since(&o.StepWait.Since, e.now)+text.Because(e.callExpected(step, o.StepWait)))
	case waits.Late(e.now) && waits.For == node.WaitPower:
		e.Trouble = append(e.Trouble, unusual+powerStays(waits, step))
	case waits.Late(e.now) && waits.For == node.WaitCommand && waits.UnreadSince != nil:
		e.Trouble = append(e.Trouble, fmt.Sprintf("%sthe agent gives no answer%s", unusual, text.Since(waits.UnreadSince, e.now)))
	case waits.Late(e.now) && waits.Fraction == nil:
		e.Trouble = append(e.Trouble, fmt.Sprintf("%sit waits%s", unusual, text.Since(&waits.Since, e.now)))
	case o.StepWait.Late(e.now):
		e.Trouble = append(e.Trouble, unusual+e.pace(o.StepWait))
	case e.Usual != "":
		e.Trouble = append(e.Trouble, unusual+e.Usual)
	default:
		e.Trouble = append(e.Trouble, unusual+runs)
	}
	if cause := o.LateCause(e.now); cause != "" && e.Cause == "" {
		e.Cause, e.advises = cause, true
		if cause == fault.AgentSilent && stillCalls(waits, n.Agent) {
			e.remedy = reachAgent
		}
		e.canMendLate(n, o, cause)
	}
}

// reachAgent is what to do about an agent that calls, so that it runs, but can't be called.
const reachAgent = "The agent still calls, so it runs and reaches Temper. Check whether the conductors reach the agent's address: a firewall may stop them, or the agent may give a wrong address"

// powerStays says that a power change does not come, and how often it was tried.
func powerStays(w *node.Wait, step *node.Step) string {
	words := w.Subject + " was asked for and does not come"
	if step.Failures > 0 && step.Limit > 0 {
		words += fmt.Sprintf("; %d of %d attempts have failed", step.Failures, step.Limit)
	}
	return words
}

// callExpected says why the call of an agent, for which the step waits, was expected before.
func (e *Explanation) callExpected(step *node.Step, w *node.Wait) string {
	if _, known := step.ExpectedWithin(); known {
		return e.usually
	}
	return fmt.Sprintf("a third of its time limit, %s, is over, and nothing is known yet of how long it usually takes", text.Duration(w.Until.Sub(w.Since).Round(time.Second)))
}

// pace says how far a step is that has come to a standstill, or goes on too slowly.
func (e *Explanation) pace(w *node.Wait) string {
	done := fmt.Sprintf("%.0f %%", *w.Fraction*100)
	if !w.Slow {
		return fmt.Sprintf("it stands still at %s%s", done, text.Since(w.AdvancedAt, e.now))
	}
	ran := w.SeenAt.Sub(w.Since)
	words := fmt.Sprintf("%s was done in %s", done, text.Duration(ran.Round(time.Second)))
	switch end := w.EndsAt(); {
	case end != nil: // the same end as the story tells
		words += fmt.Sprintf("; at this pace all of it takes %s", text.Span(end.Sub(w.Since)))
	case *w.Fraction > 0:
		words += fmt.Sprintf("; at this pace all of it takes %s", text.Span(time.Duration(float64(ran)/(*w.Fraction))))
	}
	return words
}

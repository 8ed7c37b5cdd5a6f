package explain

import (
	"fmt"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// UsualTime says how long the current step of o has run, how long it usually takes and whether that is unusually long; "" if no step
// runs, or nothing is known. It needs the Now, the Fleet and the System of f.
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
// nothing is known.
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

// usual explains how long the current step has run and how long it usually takes. If it takes unusually long, that is trouble.
func (v *view) usual() {
	o, runs, usually := v.o, "", ""
	if runs, usually = yardstick(o, v.f); runs == "" {
		return
	}
	if usually != "" {
		v.find(finding.UsualTime, finding.Params{"runs": runs, "usually": usually})
	}
	v.Story.usually = usually
	if v.away != "" { // what takes long is that nothing goes on
		return
	}
	if o.PastUsual(v.f.Now) {
		v.late(runs, usually)
	}
	if cause := o.LateCause(v.f.Now); cause != "" && v.Cause == "" {
		v.Cause, v.advises = cause, true
		if cause == fault.AgentSilent && v.waits.StillCalls(v.n.Agent) {
			v.mendBy(finding.ReachAgent, nil)
		}
		v.canMendLate(cause)
	}
}

// late says of a step that takes unusually long what does not come.
func (v *view) late(runs, usually string) {
	w, own, now := v.waits, v.o.StepWait, v.f.Now
	switch {
	case own.Late(now) && own.For == node.WaitCall:
		expected := usually
		if _, known := v.step.ExpectedWithin(); !known {
			expected = fmt.Sprintf("a third of its time limit, %s, is over, and Temper does not know yet how long it usually takes", text.Duration(own.Until.Sub(own.Since).Round(time.Second)))
		}
		v.find(finding.UnusualCall, finding.Params{"since": since(&own.Since), "expected": expected})
	case w.Late(now) && w.For == node.WaitPower:
		p := finding.Params{"power": w.Subject}
		if v.step.Failures > 0 && v.step.Limit > 0 {
			p["failures"], p["limit"] = v.step.Failures, v.step.Limit
		}
		v.find(finding.UnusualPower, p)
	case w.Late(now) && w.For == node.WaitCommand && w.UnreadSince != nil:
		v.find(finding.UnusualAnswer, finding.Params{"since": since(w.UnreadSince)})
	case w.Late(now) && w.Fraction == nil:
		v.find(finding.UnusualWait, finding.Params{"since": since(&w.Since)})
	case own.Late(now):
		v.pace(own)
	default:
		v.unusual = usually != ""
		v.find(finding.UnusualStep, finding.Params{"runs": runs, "usually": usually})
	}
}

// pace says how far a step is that has come to a standstill, or goes on too slowly.
func (v *view) pace(w *node.Wait) {
	p := finding.Params{"percent": fmt.Sprintf("%.0f", *w.Fraction*100)}
	if !w.Slow {
		p["since"] = since(w.AdvancedAt)
		v.find(finding.UnusualStill, p)
		return
	}
	ran := w.SeenAt.Sub(w.Since)
	p["ran"] = ran.Round(time.Second)
	switch end := w.EndsAt(); {
	case end != nil: // the same end as the story has
		p["all"] = text.Span(end.Sub(w.Since))
	case *w.Fraction > 0:
		p["all"] = text.Span(time.Duration(float64(ran) / *w.Fraction))
	}
	v.find(finding.UnusualPace, p)
}

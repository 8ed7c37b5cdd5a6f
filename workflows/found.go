package workflows

import (
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// found returns what a workflow knows of its operation, that of n, which is open, and what somebody can do. given is since when conductors have
// the steps; nil = they do not have them. A workflow hears of little that happens beside it, so that it says less than "temper node why".
func found(n *node.Node, given *time.Time, now time.Time) (headline finding.Finding, facts []finding.Finding, can []help.Action) {
	o := n.Operation
	add := func(code finding.Code, p finding.Params) { facts = append(facts, finding.Of(code, p)) }
	step, w := o.CurrentStep(), o.LiveWait()
	runs := step != nil && step.State == node.StepRunning
	since := o.AcceptedAt
	headline = ofOperation(finding.OperationIs, o, finding.Params{"phase": string(o.State())})
	switch {
	case o.Ending() && o.Cause != "":
		headline = ofOperation(finding.OperationFailed, o, finding.Params{"error": finding.Clean(o.Error)})
	case w.Silent() && w.UnreadSince != nil:
		headline, since = ofOperation(finding.SilentBMCAwaited, o, finding.Params{}), *w.UnreadSince
	}
	add(finding.Since, finding.Params{"at": since})
	if runs {
		add(finding.RunsStep, finding.Params{"step": step.Name(), "tries": finding.Tries(step), "at": step.StartedAt})
	}
	if w != nil {
		facts = append(facts, ofWait(w)...)
	}
	if held := o.Undecided(); held != nil {
		add(finding.StepFailed, finding.Params{"step": held.Name(), "error": finding.Clean(held.LastError)})
	}
	if o.Cause != "" {
		add(finding.Cause, finding.Params{"cause": string(o.Cause)})
	}
	switch {
	case given != nil && !runs:
		add(finding.Given, finding.Params{"driver": o.Driver, "at": *given})
	case o.Conductor != "":
		add(finding.OnConductor, finding.Params{"conductor": node.ConductorWords(o.Conductor)})
	}
	if o.Asked.Ends() {
		add(finding.AskedToEnd, finding.Params{"ask": string(o.Asked)})
	}
	facts = append(facts, ofNext(o, runs)...)
	add(finding.ToldAt, finding.Params{"at": now})
	return headline, facts, canDo(n, o)
}

func ofOperation(code finding.Code, o *node.Operation, p finding.Params) finding.Finding {
	p["operation"], p["kind"] = o.ID, string(o.Kind)
	return finding.Of(code, p)
}

// ofWait returns what the running step waits for. The workflow does not hear at once that the step's conductor has died.
func ofWait(w *node.Wait) []finding.Finding {
	watch := finding.Watch{}
	if w.Every > 0 {
		alive := finding.Of(finding.LookedAlive, finding.Params{"every": w.Every})
		watch.Instead = &alive
	}
	return finding.Wait(w, finding.AgentNotRead, watch)
}

// ofNext returns what an open operation waits for, and what comes next.
func ofNext(o *node.Operation, runs bool) (out []finding.Finding) {
	add := func(code finding.Code, p finding.Params) { out = append(out, finding.Of(code, p)) }
	if o.Ending() {
		add(finding.EndsAfter, nil)
		return out
	}
	step, otherwise := o.CurrentStep(), ""
	blocked := o.Blocked == node.BlockedNoConductor && o.WaitingUntil != nil
	if blocked {
		otherwise = finding.Of(finding.FailsWithout, finding.Params{"fails": "it fails", "at": *o.WaitingUntil}).Words(reader)
	}
	if o.WaitingFor != "" {
		add(finding.WaitsFor, finding.Params{"for": o.WaitingFor, "otherwise": otherwise})
	}
	next := step
	if runs {
		next = o.StepAfter(step)
	}
	when := ""
	if o.Blocked == node.BlockedNoConductor {
		when = "as soon as such a conductor comes"
	}
	switch {
	case o.Undecided() != nil:
		add(finding.FailsNext, nil)
	case o.Blocked == node.BlockedDeaths && step != nil:
		add(finding.TryNext, finding.Params{"step": step.Name()})
	case next != nil:
		add(finding.StepNext, finding.Params{"step": next.Name(), "tries": finding.Tries(next), "when": when})
	default:
		add(finding.EndNext, finding.Params{"when": when})
	}
	switch {
	case o.WaitingUntil == nil || blocked:
	case o.Blocked == node.BlockedDeaths:
		add(finding.At, finding.Params{"at": *o.WaitingUntil})
	default:
		add(finding.AtTheLatest, finding.Params{"at": *o.WaitingUntil})
	}
	return out
}

// canDo returns what somebody can do about an open operation of n. What mends the cause comes before the decision.
func canDo(n *node.Node, o *node.Operation) (can []help.Action) {
	if o.Ending() {
		return []help.Action{{Do: fault.WatchOperation, Operation: o.ID}}
	}
	if held := o.Undecided(); held != nil {
		can = help.Remedies(n, o.Driver, o.Cause)
		for _, a := range held.Choices() {
			can = append(can, help.Action{Do: fault.Decide, Operation: o.ID, Decision: a})
		}
		return can
	}
	can = []help.Action{{Do: fault.WatchOperation, Operation: o.ID}}
	if o.Phase == node.Holding {
		can = append(can, help.Action{Do: fault.UnholdNode})
	}
	return append(can, help.Action{Do: fault.CancelOperation, Operation: o.ID})
}

// foundAtEnd returns how the operation of n has ended, and what somebody can do about that.
func foundAtEnd(n *node.Node, at time.Time) (headline finding.Finding, facts []finding.Finding, can []help.Action) {
	o := n.Operation
	how := "has " + string(o.Outcome)
	if o.Outcome == node.Cancelled {
		how = "was cancelled"
	}
	headline = ofOperation(finding.Ended, o, finding.Params{"how": how})
	facts = []finding.Finding{finding.Of(finding.At, finding.Params{"at": text.Moment(at)})}
	if o.Error != "" {
		facts = append(facts, finding.Of(finding.Error, finding.Params{"error": finding.OperationError(o)}))
	}
	if o.Cause != "" {
		facts = append(facts, finding.Of(finding.Cause, finding.Params{"cause": string(o.Cause)}))
	}
	if o.Outcome != node.Succeeded {
		can = append(help.Remedies(n, o.Driver, o.Cause), help.Action{Do: fault.RetryOperation, Operation: o.ID, Kind: o.Kind})
	}
	return headline, facts, can
}

package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// operation explains a node with an open operation.
func (v *view) operation() {
	o, n, run := v.o, v.n, v.f.Run
	if o == nil {
		return
	}
	v.Since, v.NextAt, v.Cause, v.answer = &o.AcceptedAt, o.WaitingUntil, o.Cause, answerUntil(o)
	if v.NextAt != nil && v.answer != nil && v.answer.After(*v.NextAt) {
		v.NextAt = v.answer
	}
	if o.Phase == node.Holding && node.Holds(n.ProvisionState) && n.ProvisionUpdatedAt != nil {
		v.Since = n.ProvisionUpdatedAt
	}
	v.interrupted = interrupted(o, v.f)
	v.is(string(o.State()))
	p := pause(o, run)
	if p == nil {
		v.unattended()
	}
	if len(n.Owed) > 0 && !o.Kind.Spec().Undoes {
		v.find(finding.UndoAfter, finding.Params{"undo": node.UndoList(n.Owed), "error": finding.Clean(n.OwedError)})
	}
	v.owner()
	v.waitsFor(o.WaitingFor)
	if v.lostWorkflow(run); v.ended {
		return
	}
	if p == nil && o.Blocked != node.BlockedMaintenance { // it was unpaused since the row was written
		v.is(string(o.UnpausedState()))
	}
	switch {
	case p != nil && !o.Ending():
		v.paused(p)
	case o.Ending():
		v.ending()
	case o.Undecided() != nil:
		step := o.Undecided()
		v.find(finding.StepFailed, finding.Params{"step": step.Name(), "error": finding.Clean(step.LastError)})
		v.set(finding.FailsNext, nil)
		v.advises = true
		v.canMend(o)
		v.canDecide(step)
	default:
		v.working()
	}
}

// is says in which state the operation is.
func (v *view) is(phase string) { v.what(finding.OperationIs, finding.Params{"phase": phase}) }

// what says what the operation does.
func (v *view) what(code finding.Code, p finding.Params) {
	state := string(v.n.ProvisionState)
	if w := v.o.LiveWait(); node.Waits(v.n.ProvisionState) && w != nil && w.For == node.WaitCommand {
		state += " while its agent works" // Ironic's state does not say that the agent has called
	}
	p["state"], p["operation"], p["kind"] = state, v.o.ID, string(v.o.Kind)
	v.set(code, p)
}

// waitsFor says what the operation waits for; words are what its row says.
func (v *view) waitsFor(words string) {
	if words == "" && !v.f.Covered {
		words = node.WaitsForConductor(v.o.Group, v.o.Driver)
	}
	v.unset(finding.RoleWaits)
	if words != "" {
		v.find(finding.WaitsFor, finding.Params{"for": words})
	}
}

// waitsNoMore says that what the operation waited for matters no more.
func (v *view) waitsNoMore() {
	v.unset(finding.RoleWaits)
	v.NextAt = nil
}

// lostWorkflow explains an operation whose workflow is over or not known to Temporal.
func (v *view) lostWorkflow(r *node.RunStatus) {
	if r == nil || r.Open {
		return
	}
	v.ended = true
	v.waitsNoMore()
	if r.Known {
		p := finding.Params{"how": r.How}
		if !r.ClosedAt.IsZero() {
			p["at"] = text.Moment(r.ClosedAt)
		}
		v.find(finding.WorkflowClosed, p, help.Action{Do: fault.RecoverNode})
		v.set(finding.ClosedNext, nil)
		return
	}
	v.find(finding.WorkflowUnknown, nil, help.Action{Do: fault.TakeNode})
	v.set(finding.LostNext, nil)
	v.Speedup = &LostSpeedup
}

// LostNext is what happens next to an operation whose workflow Temporal does not know.
func LostNext() string { return finding.Of(finding.LostNext, nil).Words(finding.Reader{}) }

// LostSpeedup makes LostNext happen sooner.
var LostSpeedup = help.Action{Do: fault.SayTemporalLost}

// pause returns the pause that Temporal reports or, if Temporal was not asked, the one
// that is recorded; nil = none.
func pause(o *node.Operation, r *node.RunStatus) *node.Pause {
	if r == nil {
		return o.TemporalPause
	}
	return r.Pause
}

// paused explains an operation that somebody has paused in Temporal.
func (v *view) paused(p *node.Pause) {
	v.is(string(node.PausedState))
	if !p.At.IsZero() {
		v.Since = &p.At
	}
	effect := "no further step begins"
	if p.What == node.PauseOfActivity {
		effect = "its step was interrupted"
	}
	v.find(finding.PausedInTemporal, finding.Params{"pause": p.Words(), "effect": effect})
	v.waitsNoMore()
	v.next(v.step, "when somebody lets it go on")
	if v.away == "" { // Temporal ends the pause
		v.can(help.Action{Do: fault.UnpauseOperation, Operation: v.o.ID})
	}
	if step := v.o.Undecided(); step != nil {
		v.canDecide(step)
	}
	v.can(help.Action{Do: fault.CancelOperation, Operation: v.o.ID})
}

// working explains an operation that goes on or waits.
func (v *view) working() {
	o, n := v.o, v.n
	v.goesOn = true
	if v.interrupted {
		v.lostConductor()
	}
	if v.waits.Silent() && !v.interrupted {
		v.what(finding.SilentBMCAwaited, finding.Params{})
		v.Since = cmp.Or(v.waits.UnreadSince, v.Since)
	}
	when := ""
	if o.Blocked == node.BlockedNoConductor || v.interrupted && !v.f.Covered {
		when = "as soon as such a conductor comes"
		if fails := v.failsWithoutConductor(); fails != nil {
			v.find(finding.FailsWithout, fails)
		}
	}
	v.nowAndNext(when)
	v.usual()
	if v.step != nil && o.Blocked == node.BlockedDeaths {
		v.find(finding.ConductorsDied, finding.Params{"error": finding.Clean(v.step.LastError)})
		v.set(finding.TryNext, finding.Params{"step": v.step.Name()})
		v.exact = true
	}
	v.before()
	v.undoWaits()
	v.can(help.Action{Do: fault.WatchOperation, Operation: o.ID})
	if node.Can(n.ProvisionState, node.EventUnhold) {
		v.can(help.Action{Do: fault.UnholdNode})
	}
	v.can(help.Action{Do: fault.CancelOperation, Operation: o.ID})
}

// before says, while the operation undoes what an earlier one left, why that one failed and that it can be retried afterwards.
func (v *view) before() {
	p, n := v.f.Previous, v.n
	if p == nil || p.Outcome != node.Failed || !v.o.Kind.Spec().Undoes || !node.Fails(n.ProvisionState) || n.LastError == "" {
		return
	}
	v.find(finding.EarlierFailed, finding.Params{"operation": p.ID, "kind": p.Kind, "error": finding.CleanOf(p, n.LastError)})
	if next := v.of(finding.RoleNext); next != nil && next.Code == finding.EndNext {
		next.Parameters["earlier"], next.Parameters["earlier kind"] = p.ID, p.Kind
	}
}

// undoWaits says what to do about a BMC that gives no answer to the undo of the operation. The undo goes on by itself when the BMC
// answers, whatever the operation has failed of.
func (v *view) undoWaits() {
	if !v.silent || v.o.Phase != node.Undoing && !v.o.Kind.Spec().Undoes {
		return
	}
	v.Cause, v.advises, v.goesOn = fault.BMCSilent, true, true
	v.canMendMeanwhile(fault.BMCSilent)
}

// ending explains an operation that was asked to end, or that undoes what it did.
func (v *view) ending() {
	o, undoing := v.o, v.o.Phase == node.Undoing
	if o.Asked.Ends() {
		p := finding.Params{"ask": string(o.Asked), "who": o.AskedBy, "reason": o.AskedReason}
		if undoing {
			v.Since = cmp.Or(o.AskedAt, v.Since)
		} else { // what it does has been so since before
			p["since"] = since(o.AskedAt)
		}
		v.find(finding.AskedToEnd, p)
	}
	if !undoing {
		v.waitsNoMore()
	}
	outcome := node.Cancelled
	if o.Cause != "" {
		outcome = node.Failed
		v.what(finding.OperationFailed, finding.Params{"error": finding.Clean(o.Error)})
		if !o.Asked.Ends() {
			v.Since = nil // it failed long after it was accepted
		}
		for i := range o.Steps {
			if s := &o.Steps[i]; s.State == node.StepFailed && s.EndedAt != nil {
				v.Since = s.EndedAt
			}
		}
	}
	next, aborted := finding.Params{}, o.Asked == node.AskAbort && !undoing
	if left := node.UndoAtEnd(o, outcome); len(left) > 0 {
		next["undo"] = node.UndoList(left)
	}
	if aborted && v.step != nil && v.step.State == node.StepRunning {
		next["step"] = v.step.Name()
	}
	switch {
	case o.Asked == node.AskDelete:
		next["then"] = "the node is given back"
	case outcome == node.Failed && !o.Kind.Spec().Undoes:
		next["then"] = "can be retried"
	}
	v.set(finding.EndsAfter, next)
	v.undoWaits()
	v.can(help.Action{Do: fault.WatchOperation, Operation: o.ID})
	if aborted {
		v.can(help.Action{Do: fault.CancelOperation, Operation: o.ID})
	}
}

// owner says who asked for the operation, and which conductor works on it.
func (v *view) owner() {
	var who []string
	if v.o.RequestedBy != "" {
		who = append(who, "asked for by "+v.o.RequestedBy)
	}
	if host := v.o.Conductor; host != "" {
		on, heard := "on ", ", which is not alive"
		c := conductor(v.f.Fleet, host)
		if c != nil {
			heard = fmt.Sprintf(" (last heartbeat %s ago)", text.Duration(text.Ago(v.f.Now, c.HeartbeatAt)))
		}
		switch {
		case c == nil:
			on = "last on "
		case !c.Alive:
			on, heard = "last on ", ", which is not alive"+heard
		}
		who = append(who, on+node.ConductorWords(host)+heard)
	}
	if who != nil {
		v.find(finding.Owner, finding.Params{"who": strings.Join(who, ", ")})
	}
}

// interruptedState is the state of an operation whose conductor has died in the middle of a step, until another one takes the step
// over or the operation's workflow notices that there is none.
const interruptedState = "interrupted"

// interrupted reports whether o's step is recorded as running on a conductor that is not alive.
func interrupted(o *node.Operation, f Facts) bool {
	return o.Conductor != "" && o.Blocked == node.NotBlocked && o.Phase == node.Running && stepRuns(o) && !alive(f.Fleet, o.Conductor)
}

// lostConductor says of an operation that is interrupted when its conductor gave the last sign of life, and who goes on with it.
func (v *view) lostConductor() {
	v.is(interruptedState)
	if c := conductor(v.f.Fleet, v.o.Conductor); c != nil {
		v.Since = &c.HeartbeatAt
	}
	if v.f.Covered {
		v.set(finding.WaitsForTakeOver, finding.Params{"step": v.step.Name()})
	}
}

// stepRuns reports whether o's current step runs.
func stepRuns(o *node.Operation) bool {
	s := o.CurrentStep()
	return s != nil && s.State == node.StepRunning
}

// unattended finds out whether a part of Temper is broken, so that the open operation does not go on.
func (v *view) unattended() {
	o, f := v.o, v.f
	waits := f.Now.Sub(o.AcceptedAt)
	if away := f.System.Away(); away != "" {
		v.find(finding.PartAway, finding.Params{"sentence": away})
		return
	}
	if f.Foreign != "" {
		v.find(finding.WorkflowIDTaken, finding.Params{"workflow": f.Foreign})
	}
	late := f.System.Unreconciled()
	switch {
	case late != "" && (f.Foreign != "" || f.System.Fleet.Age >= 0 || waits > node.TakenUpIn):
		v.find(finding.Unreconciled, finding.Params{"sentence": late})
	case f.Foreign == "" && o.NotTakenUp(f.Now):
		v.find(finding.NotTakenUp, finding.Params{"age": waits.Round(time.Second)})
	}
}

// nowAndNext says which step goes on now, if one does, and what follows it. when is when that comes; "" = by itself.
func (v *view) nowAndNext(when string) {
	o, step := v.o, v.step
	if step == nil || v.interrupted || o.Blocked != node.NotBlocked || o.Paused && o.Phase == node.Waiting || step.State != node.StepRunning && step.State != node.StepWaiting {
		v.next(step, when)
		return
	}
	v.find(finding.StepNow, finding.Params{"step": step.Name(), "tries": finding.Tries(step)})
	v.next(o.StepAfter(step), when)
}

// next says that step begins next or, if it is nil, that the operation ends, and how the node is then.
func (v *view) next(step *node.Step, when string) {
	if step != nil {
		v.set(finding.StepNext, finding.Params{"step": step.Name(), "tries": finding.Tries(step), "when": when})
		return
	}
	v.set(finding.EndNext, finding.Params{"state": string(v.n.EndsIn(v.o.Kind)), "when": when})
}

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
func (e *Explanation) operation(n *node.Node, o *node.Operation, f Facts) {
	state := func(s node.Phase) string { return fmt.Sprintf("%s is %s", e.name(n, o), s) }
	e.What = state(o.State())
	e.Since, e.WaitingFor, e.NextAt, e.Cause = &o.AcceptedAt, o.WaitingFor, o.WaitingUntil, o.Cause
	e.answer = answerUntil(o)
	if e.NextAt != nil && e.answer != nil && e.answer.After(*e.NextAt) {
		e.NextAt = e.answer
	}
	if o.Phase == node.Holding && node.Holds(n.ProvisionState) && n.ProvisionUpdatedAt != nil {
		e.Since = n.ProvisionUpdatedAt
	}
	if s := Unattended(o, f); s != "" && pause(o, f.Run) == nil {
		e.Trouble = append(e.Trouble, s)
	}
	if len(n.Owed) > 0 && !o.Kind.Spec().Undoes {
		e.Trouble = append(e.Trouble, fmt.Sprintf("What earlier work left is still to be undone after it: %s%s", node.UndoList(n.Owed), text.Because(finding.Clean(n.OwedError))))
	}
	e.owner(o, f)
	if !f.Covered && e.WaitingFor == "" {
		e.WaitingFor = node.WaitsForConductor(o.Group, o.Driver)
	}
	e.interrupted = interrupted(o, f)
	if e.ended = e.lostWorkflow(f.Run); e.ended {
		return
	}
	p := pause(o, f.Run)
	if p == nil && o.Blocked != node.BlockedMaintenance { // it was unpaused since the row was written
		e.What = state(o.UnpausedState())
	}
	switch {
	case p != nil && !o.Ending():
		e.What = state(node.PausedState)
		e.paused(n, o, p)
	case o.Ending():
		e.ending(n, o)
	case o.Undecided() != nil:
		step := o.Undecided()
		e.Trouble = append(e.Trouble, fmt.Sprintf("Step %s failed: %s", step.Name(), finding.Clean(step.LastError)))
		e.Next, e.advises = "it fails unless somebody decides", true
		e.canMend(n, o)
		e.canDecide(o, step)
	default:
		e.working(n, o, f)
	}
}

// name begins what is said of o: the state of its node, if that is known, and the operation.
func (e *Explanation) name(n *node.Node, o *node.Operation) string {
	words := fmt.Sprintf("operation %d (%s)", o.ID, o.Kind)
	if e.inside {
		return words
	}
	state := string(n.ProvisionState)
	if w := o.LiveWait(); node.Waits(n.ProvisionState) && w != nil && w.For == node.WaitCommand {
		state += " while its agent works" // Ironic's state does not tell that the agent has called
	}
	return state + ", " + words
}

// lostWorkflow explains an operation whose workflow is over or not known to Temporal,
// and reports whether it is.
func (e *Explanation) lostWorkflow(r *node.RunStatus) bool {
	switch {
	case r == nil || r.Open:
		return false
	case r.Known:
		when := ""
		if !r.ClosedAt.IsZero() {
			when = " at " + text.Moment(r.ClosedAt)
		}
		e.Trouble = append(e.Trouble, fmt.Sprintf("Its workflow was %s%s: nobody works on it any more", r.How, when))
		e.Next = "reconciliation ends it some seconds after its workflow has ended, and undoes what it left half done"
		e.can(help.Action{Do: fault.RecoverNode})
	default:
		e.Trouble = append(e.Trouble, "Temporal does not know its workflow: nobody works on it")
		speedup := LostSpeedup
		e.Next, e.Speedup = LostNext, &speedup
		e.can(help.Action{Do: fault.TakeNode})
	}
	e.WaitingFor, e.NextAt = "", nil
	return true
}

// LostNext is what happens next to an operation whose workflow Temporal does not know.
const LostNext = "reconciliation ends it when Temporal has not known it for some seconds or, where very many are unknown at once, for ten minutes"

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
func (e *Explanation) paused(n *node.Node, o *node.Operation, p *node.Pause) {
	if !p.At.IsZero() {
		e.Since = &p.At
	}
	effect := "no further step begins"
	if p.What == node.PauseOfActivity {
		effect = "its step was interrupted"
	}
	e.Trouble = append(e.Trouble, fmt.Sprintf("It is %s; %s, and its time limits stop meanwhile", p.Words(), effect))
	e.WaitingFor, e.NextAt = "", nil
	e.Next = e.next(n, o, o.CurrentStep()) + ", when somebody lets it go on"
	if e.away == "" { // Temporal ends the pause
		e.can(help.Action{Do: fault.UnpauseOperation, Operation: o.ID})
	}
	if step := o.Undecided(); step != nil {
		e.canDecide(o, step)
	}
	e.can(help.Action{Do: fault.CancelOperation, Operation: o.ID})
}

// working explains an operation that goes on or waits.
func (e *Explanation) working(n *node.Node, o *node.Operation, f Facts) {
	e.goesOn = true
	if e.interrupted {
		e.lostConductor(n, o, f)
	}
	if e.waits.Silent() && !e.interrupted {
		e.What, e.Since = e.name(n, o)+" waits for its BMC, which is silent", cmp.Or(e.waits.UnreadSince, e.Since)
	}
	e.Now, e.Next = e.nowAndNext(n, o)
	e.usual(n, o, f)
	if step := o.CurrentStep(); step != nil && o.Blocked == node.BlockedDeaths {
		e.Trouble = append(e.Trouble, finding.Clean(step.LastError))
		e.Next, e.exact = "another try of step "+step.Name(), true
	}
	e.before(n, o, f)
	e.undoWaits(n, o)
	if o.Blocked == node.BlockedNoConductor || e.interrupted && !f.Covered {
		e.Next += ", as soon as such a conductor comes"
		e.Otherwise = e.failsWithoutConductor(o, text.Moment)
	}
	e.can(help.Action{Do: fault.WatchOperation, Operation: o.ID})
	if node.Can(n.ProvisionState, node.EventUnhold) || e.inside && o.Phase == node.Holding {
		e.can(help.Action{Do: fault.UnholdNode})
	}
	e.can(help.Action{Do: fault.CancelOperation, Operation: o.ID})
}

// before says, while o undoes what an earlier operation left, why that one failed and that it can be retried afterwards.
func (e *Explanation) before(n *node.Node, o *node.Operation, f Facts) {
	p := f.Previous
	if p == nil || p.Outcome != node.Failed || !o.Kind.Spec().Undoes || !node.Fails(n.ProvisionState) || n.LastError == "" {
		return
	}
	e.Trouble = append(e.Trouble, fmt.Sprintf("Operation %d (%s) failed: %s", p.ID, p.Kind, finding.CleanOf(p, n.LastError)))
	e.Next += fmt.Sprintf("; then operation %d (%s) can be retried", p.ID, p.Kind)
}

// undoWaits says what to do about a BMC that gives no answer to the undo of o. The undo goes on by itself when the BMC answers, whatever
// the operation has failed of.
func (e *Explanation) undoWaits(n *node.Node, o *node.Operation) {
	if !e.silent || o.Phase != node.Undoing && !o.Kind.Spec().Undoes {
		return
	}
	e.Cause, e.advises, e.goesOn = fault.BMCSilent, true, true
	e.canMendMeanwhile(n, o, fault.BMCSilent)
}

// ending explains an operation that was asked to end, or that undoes what it did.
func (e *Explanation) ending(n *node.Node, o *node.Operation) {
	if o.Asked.Ends() {
		e.Asked = string(o.Asked)
		if o.AskedBy != "" {
			e.Asked += " by " + o.AskedBy
		}
		e.Asked += text.Because(o.AskedReason)
		if o.Phase == node.Undoing {
			e.Since = cmp.Or(o.AskedAt, e.Since)
		} else { // What is the state that it has had since before
			e.Asked += text.Since(o.AskedAt, e.now)
		}
	}
	if o.Phase != node.Undoing { // what it waited for matters no more
		e.WaitingFor, e.NextAt = "", nil
	}
	e.Next = "it ends"
	outcome := node.Cancelled
	if o.Cause != "" {
		outcome = node.Failed
		e.What = fmt.Sprintf("%s failed: %s; undoing", e.name(n, o), finding.Clean(o.Error))
		if !o.Asked.Ends() {
			e.Since = nil // it failed long after it was accepted
		}
		for i := range o.Steps {
			if s := &o.Steps[i]; s.State == node.StepFailed && s.EndedAt != nil {
				e.Since = s.EndedAt
			}
		}
	}
	if left := node.UndoAtEnd(o, outcome); len(left) > 0 {
		e.Next = "what it may have left half done is undone (" + node.UndoList(left) + "), then it ends"
	}
	switch {
	case o.Asked == node.AskDelete:
		e.Next += " and the node is given back"
	case outcome == node.Failed && !o.Kind.Spec().Undoes:
		e.Next += " and can be retried"
	}
	aborted := o.Asked == node.AskAbort && o.Phase != node.Undoing
	if s := o.CurrentStep(); aborted && s != nil && s.State == node.StepRunning {
		e.Next = "step " + s.Name() + " ends, then " + e.Next
	}
	e.undoWaits(n, o)
	e.can(help.Action{Do: fault.WatchOperation, Operation: o.ID})
	if aborted {
		e.can(help.Action{Do: fault.CancelOperation, Operation: o.ID})
	}
}

// owner says who asked for the operation, and which conductor works on it.
func (e *Explanation) owner(o *node.Operation, f Facts) {
	var who []string
	if o.RequestedBy != "" {
		who = append(who, "asked for by "+o.RequestedBy)
	}
	switch c := conductor(f.Fleet, o.Conductor); {
	case f.Given != nil && !stepRuns(o):
		who = append(who, fmt.Sprintf("with the conductors of driver %s since %s", o.Driver, text.Moment(*f.Given)))
	case o.Conductor == "":
	case f.Inside:
		who = append(who, "on "+node.ConductorWords(o.Conductor))
	case c == nil:
		who = append(who, "last on "+node.ConductorWords(o.Conductor)+", which is not alive")
	case !c.Alive:
		who = append(who, fmt.Sprintf("last on %s, which is not alive (last heartbeat %s ago)", node.ConductorWords(c.Hostname), text.Duration(text.Ago(f.Now, c.HeartbeatAt))))
	default:
		who = append(who, fmt.Sprintf("on %s (last heartbeat %s ago)", node.ConductorWords(c.Hostname), text.Duration(text.Ago(f.Now, c.HeartbeatAt))))
	}
	e.Who = strings.Join(who, ", ")
}

// interruptedState is the state of an operation whose conductor has died in the middle of a step, until another one takes the step
// over or the operation's workflow notices that there is none.
const interruptedState = "interrupted"

// interrupted reports whether o's step is recorded as running on a conductor that is not alive.
func interrupted(o *node.Operation, f Facts) bool {
	return !f.Inside && o.Conductor != "" && o.Blocked == node.NotBlocked && o.Phase == node.Running && stepRuns(o) && !alive(f.Fleet, o.Conductor)
}

// lostConductor says of an operation that is interrupted when its conductor gave the last sign of life, and who goes on with it.
func (e *Explanation) lostConductor(n *node.Node, o *node.Operation, f Facts) {
	step := o.CurrentStep()
	e.What = fmt.Sprintf("%s is %s", e.name(n, o), interruptedState)
	heard := node.ConductorWords(o.Conductor) + " is not alive"
	if c := conductor(f.Fleet, o.Conductor); c != nil {
		e.Since = &c.HeartbeatAt
		heard = fmt.Sprintf("%s was heard of last at %s", node.ConductorWords(c.Hostname), text.Clock(c.HeartbeatAt, f.Now))
	}
	if f.Covered {
		e.WaitingFor = "another conductor, which takes step " + step.Name() + " over within seconds"
	}
	e.handover = fmt.Sprintf("%s; step %s waits for %s", heard, step.Name(), e.WaitingFor)
	if f.Covered {
		e.handover = fmt.Sprintf("%s; another conductor takes step %s over within seconds", heard, step.Name())
	}
}

// stepRuns reports whether o's current step runs.
func stepRuns(o *node.Operation) bool {
	s := o.CurrentStep()
	return s != nil && s.State == node.StepRunning
}

// Unattended returns a sentence if nobody seems to attend to the open operation, because a part of
// Temper is broken, and "" otherwise.
func Unattended(o *node.Operation, f Facts) string {
	waits := f.Now.Sub(o.AcceptedAt)
	if away := f.System.Away(); away != "" {
		return away
	}
	late := f.System.Unreconciled()
	if f.Foreign != "" {
		taken := fmt.Sprintf("The id of its workflow is taken by a workflow of somebody else (%s): reconciliation starts it under another id", f.Foreign)
		return strings.TrimSuffix(taken+". "+late, ". ")
	}
	if late != "" && (f.System.Fleet.Age >= 0 || waits > node.TakenUpIn) {
		return late
	}
	if o.NotTakenUp(f.Now) {
		return fmt.Sprintf("No orchestrator has taken it up in %s: it begins when one does", text.Duration(waits.Round(time.Second)))
	}
	return ""
}

// nowAndNext returns which step of o goes on now, "" if none does, and what follows it.
func (e *Explanation) nowAndNext(n *node.Node, o *node.Operation) (now, next string) {
	step := o.CurrentStep()
	if step == nil || e.interrupted || o.Blocked != node.NotBlocked || o.Paused && o.Phase == node.Waiting || step.State != node.StepRunning && step.State != node.StepWaiting {
		return "", e.next(n, o, step)
	}
	var after *node.Step
	past := false // the current step; a workflow does not know the index of a step
	for i := range o.Steps {
		s := &o.Steps[i]
		if past && !s.Over() {
			after = s
			break
		}
		past = past || s == step
	}
	return stepWords(step), e.next(n, o, after)
}

// next says that step begins next or, if it is nil, that the operation ends, and how the node is then.
func (e *Explanation) next(n *node.Node, o *node.Operation, step *node.Step) string {
	target := n.EndsIn(o.Kind)
	switch {
	case step != nil:
		return stepWords(step)
	case target == "" || e.inside: // a workflow does not know all of the node
		return "the operation ends"
	}
	return "the operation ends, and the node is " + string(target)
}

// stepWords names a step that is not over, with its errors.
func stepWords(step *node.Step) string {
	switch {
	case step.LastError == "":
		return "step " + step.Name()
	case step.Attempts == 0:
		return fmt.Sprintf("step %s (last error: %s)", step.Name(), finding.Clean(step.LastError))
	}
	return fmt.Sprintf("step %s (begun %s, last error: %s)", step.Name(), times(step.Attempts), finding.Clean(step.LastError))
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

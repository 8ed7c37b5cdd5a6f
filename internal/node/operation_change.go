package node

import (
	"slices"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// What follows is what the events of OperationRules write, as far as Go does it: the
// caller has the row locked and writes it back.

// unblock clears the reason why o was blocked, and what was kept meanwhile.
func (o *Operation) unblock() {
	o.Blocked, o.BlockedAt, o.KeptFor, o.KeptLeft = NotBlocked, nil, "", nil
}

// Block records that o can't go on for this reason, and for how long it may stay so (nil = no
// limit). NotBlocked records that it can go on again. Block changes nothing if o is blocked
// for the same reason already. What o waited for before is kept, with the time that was left
// for it: if o is paused in Temporal, the time that was left when the pause began.
func (o *Operation) Block(reason BlockReason, waitingFor string, within *time.Duration, now time.Time) error {
	switch {
	case o.Blocked == reason:
		return nil
	case reason == NotBlocked:
		return o.goOn(now)
	}
	if o.Blocked == NotBlocked && o.Phase == Waiting {
		o.KeptFor = o.WaitingFor
		if o.WaitingUntil != nil {
			since := now
			if o.TemporalPause != nil {
				since = o.TemporalPause.At
			}
			left := o.WaitingUntil.Sub(since)
			o.KeptLeft = &left
		}
	}
	if err := o.become(OpBlock, Waiting); err != nil {
		return err
	}
	o.BlockedAt = &now // since when it is blocked for this reason
	o.Blocked, o.WaitingFor, o.WaitingUntil = reason, waitingFor, nil
	if within != nil {
		until := now.Add(*within)
		o.WaitingUntil = &until
	}
	return nil
}

// goOn unblocks o: it waits again for what it waited for before, with the time that was left for that.
func (o *Operation) goOn(now time.Time) error {
	to := Waiting
	if o.KeptFor == "" {
		to = Running
	}
	if err := o.become(OpResume, to); err != nil {
		return err
	}
	o.WaitingFor, o.WaitingUntil = o.KeptFor, nil
	if o.KeptLeft != nil {
		o.waitUntil(now.Add(*o.KeptLeft))
	}
	if o.BlockedAt != nil {
		o.postponeUsual(now.Sub(*o.BlockedAt))
	}
	o.unblock()
	o.forgetBusy()
	return nil
}

// waitUntil moves the end of what o waits for. People are told the same end of the wait for the agent's call.
func (o *Operation) waitUntil(until time.Time) {
	o.WaitingUntil = &until
	if w := o.StepWait; w != nil && w.For == WaitCall {
		moved := *w
		if moved.LateAt != nil && w.Until != nil {
			late := moved.LateAt.Add(until.Sub(*w.Until))
			moved.LateAt = &late
		}
		moved.Until = &until
		o.StepWait = &moved
	}
}

// forgetBusy has the next answer "later" to the current step, or the next silence of its BMC, counted as the first
// one, because time has passed in which nothing was asked.
func (o *Operation) forgetBusy() {
	if step := o.CurrentStep(); step != nil {
		step.BusySince = nil
		step.ForgetSilence()
	}
}

// Arrive records that what o waits for is there. It reports false if o does not wait.
func (o *Operation) Arrive() bool {
	if o.become(OpArrive, Running) != nil {
		return false
	}
	o.WaitingFor, o.WaitingUntil = "", nil
	o.unblock()
	o.forgetBusy()
	return true
}

// Maintain records that o's node was put into maintenance, or taken out of it. Power is
// what an operator does to a node in maintenance, so that it is not paused.
func (o *Operation) Maintain(on bool, now time.Time) error {
	if !on {
		o.Paused, o.Orphaned = false, false // its workflow unblocks it
		return nil
	}
	o.Paused = o.Paused || !o.InMaintenance && !o.Kind.Spec().RunsInMaintenance()
	if o.Paused && o.Phase == Waiting { // the time for what it waits for is stopped at once
		return o.Block(BlockedMaintenance, PausedForMaintenance, nil, now)
	}
	return nil
}

// Record is what a conductor's progress writes to the row of its operation.
func (o *Operation) Record(p Progress) error {
	event, to := OpRecord, o.Phase
	if p.Phase != "" {
		event, to = eventOf[p.Phase], p.Phase
	}
	if err := o.become(event, to); err != nil {
		return err
	}
	if p.Steps != nil {
		o.Steps = p.Steps
	}
	o.Undo, o.Rests = p.Undo, p.Rests
	o.WaitingFor, o.WaitingUntil, o.UsualUntil, o.StepWait = p.WaitingFor, p.WaitingUntil, p.UsualUntil, p.StepWait
	// An ask to end stays until the operation ends, whoever wrote it meanwhile.
	if p.ClearAsk && !o.Asked.Ends() {
		o.Asked = AskNone
	}
	o.unblock()
	return nil
}

// KeepClaimed returns o with the fields that only a claim reads (Former, InFlight, AnswerWithin, RequestsSent, UsualTimes), which it takes from
// known.
func (o Operation) KeepClaimed(known *Operation) Operation {
	o.Former, o.InFlight, o.AnswerWithin, o.RequestsSent, o.UsualTimes = known.Former, known.InFlight, known.AnswerWithin, known.RequestsSent, known.UsualTimes
	return o
}

// HandOver records that the conductor of o has stopped working on its step in good order. If a pause in Temporal is the reason, p is that
// pause, else nil.
func (o *Operation) HandOver(p *Pause) {
	o.Rests = true
	if o.TemporalPause == nil {
		o.TemporalPause = p
	}
}

// eventOf is the event of a conductor's progress that names a phase.
var eventOf = map[Phase]OperationEvent{Running: OpRun, Waiting: OpWait, Holding: OpHold, Undoing: OpUndo}

// HoldAt makes o hold for a decision about its current step, which has failed. until is
// when it fails if nobody decides, c the claim that keeps the step from writing any more.
func (o *Operation) HoldAt(step *Step, why Failure, waitingFor string, c Claim, now, until time.Time) error {
	if err := o.become(OpHold, Holding); err != nil {
		return err
	}
	step.State, step.EndedAt = StepFailed, &now
	o.Fail(why)
	step.LastError, step.Cause = o.Error, o.Cause
	o.Claim, o.WaitingFor, o.WaitingUntil, o.UsualUntil, o.StepWait = c, waitingFor, &until, nil, nil
	o.unblock()
	return nil
}

// Failure is why a step or an operation failed: Error for people, Cause for programs.
type Failure struct {
	Error string     `json:"error"`
	Cause fault.Code `json:"cause,omitempty"`
}

// Complete returns f with both texts, if it has one of them.
func (f Failure) Complete() Failure {
	switch {
	case f.Error == "" && f.Cause != "":
		f.Error = f.Cause.Meaning()
	case f.Error != "" && f.Cause == "":
		f.Cause = fault.InternalError // it comes from an older version
	}
	return f
}

// Fail records why o holds or is undone. A zero Failure records that it goes on.
func (o *Operation) Fail(why Failure) {
	why = why.Complete()
	o.Error, o.Cause = why.Error, why.Cause
}

// CarryOut carries out a decision about the step at which o holds: the step runs again, is
// skipped, or o ends. c is the claim of whoever carries it out.
func (o *Operation) CarryOut(a Action, by, reason string, c Claim, now time.Time) (*Step, error) {
	if err := o.Decide(a); err != nil {
		return nil, err
	}
	step, to := o.Undecided(), Running
	if a == ActionAbort {
		to = Undoing
	}
	if err := o.become(OpDecide, to); err != nil {
		return nil, err
	}
	o.Decisions = append(slices.Clone(o.Decisions), DecisionRecord{At: now, Action: a, By: by, Reason: reason, Step: step.Name(), Error: step.LastError})
	o.Claim, o.WaitingFor, o.WaitingUntil = c, "", nil
	o.Fail(Failure{})
	switch a {
	case ActionAbort:
		o.Ask(AskCancel, by, reason)
		return step, nil
	case ActionSkip:
		o.Again(step)
		step.State, step.EndedAt = StepSkipped, &now
	default:
		o.Again(step)
	}
	if o.Asked == AskUnhold {
		o.Ask(AskNone, "", "")
	}
	return step, nil
}

// Ask records what somebody wants of o.
func (o *Operation) Ask(a Ask, by, reason string) { o.Asked, o.AskedBy, o.AskedReason = a, by, reason }

// Adopt gives o to another run, which has the work of the one before, and raises the
// claim, so that nothing of that one can write any more. reset: the run was reset in
// Temporal, so that the failed step, or what was undone, is begun anew. It reports
// whether a hold is over by that.
func (o *Operation) Adopt(run string, reset bool) (unheld bool, err error) {
	was, to := o.Phase, o.Phase
	if unheld = reset && o.Undecided() != nil; unheld {
		o.CurrentStep().Again()
	}
	if unheld || reset && o.Phase == Undoing {
		to = Running
	}
	if err := o.become(OpAdopt, to); err != nil {
		return false, err
	}
	if to != was {
		o.WaitingFor, o.WaitingUntil = "", nil
		o.Fail(Failure{})
	}
	o.RunID, o.Claim = run, Claim{Seq: o.Claim.Seq + 1}
	return unheld, nil
}

// Redirect sends the steps of o to another group or driver: its node was moved there. It
// reports whether that changes anything.
func (o *Operation) Redirect(group, driver string) bool {
	if o.Group == group && o.Driver == driver {
		return false
	}
	o.Group, o.Driver = group, driver
	if o.Blocked == BlockedNoConductor {
		o.WaitingFor = WaitsForConductor(group, driver)
	}
	return true
}

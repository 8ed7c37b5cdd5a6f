package conductor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// runAll runs steps in order until one waits, fails or none is left.
func (t *task) runAll(ctx context.Context) (Next, error) {
	for first := true; ; first = false {
		if err := t.handleAsk(ctx); err != nil {
			return "", err
		}
		if next := t.nextInsteadOfStep(); next != "" {
			return next, t.stop(ctx)
		}
		if first {
			if err := t.takeOverOwed(ctx); err != nil {
				return "", err
			}
			continue // something may have been asked meanwhile
		}
		step := t.op.CurrentStep()
		if step == nil {
			if node.Waits(t.node.ProvisionState) {
				t.move(node.EventResume)
			}
			return NextClose, t.stop(ctx)
		}
		if step.State == node.StepFailed || step.NeedsDecision() {
			return NextFailed, t.stop(ctx)
		}
		o, err := t.runStep(ctx, step)
		if err != nil {
			return "", err
		}
		switch o {
		case awaitAgent:
			return NextAgent, nil
		case awaitHold:
			return NextHold, nil
		case endAsked:
			return NextAsked, nil
		}
	}
}

// handleAsk handles what somebody has requested of the running operation: a power request
// becomes steps before the current one.
func (t *task) handleAsk(ctx context.Context) error {
	switch t.op.Asked {
	case node.AskUnhold:
		// The request has moved the node, perhaps after this attempt read it.
		n, err := t.Store.Node(ctx, t.node.UUID)
		if err != nil {
			return err
		}
		t.node.TakeState(n)
		if s := t.op.CurrentStep(); s != nil && s.State == node.StepFailed {
			break // a decision about a failed step, which the workflow handles (LookHeld)
		}
		t.clearAsk()
	case node.AskPower:
		target, err := t.askedPower(ctx)
		if err != nil {
			return err
		}
		if err := t.insertPower(target); err != nil {
			return err
		}
		t.clearAsk()
	}
	return nil
}

// endRequested reports whether somebody has requested the operation's end. That request has
// moved the node, so the step's own move is refused.
func (t *task) endRequested(ctx context.Context) bool {
	return t.guard(ctx) == nil && t.op.Asked.Ends()
}

// askedPower reads which power state is requested. The answer to a save says only that one
// is, and the request may be newer than the row that this attempt read.
func (t *task) askedPower(ctx context.Context) (node.PowerState, error) {
	n, err := t.Store.Node(ctx, t.node.UUID)
	if err != nil {
		return "", err
	}
	if n.Operation == nil || n.Operation.ID != t.op.ID {
		return "", fault.New(fault.Lost, "operation %d is not node %s's any more", t.op.ID, t.node.UUID)
	}
	return n.Operation.AskedPower, nil
}

// insertPower inserts the steps of a power request before the current step. If the request
// ends the boot that the step needs, the step boots the ramdisk again.
func (t *task) insertPower(target node.PowerState) error {
	more, err := plan.Steps(node.KindPower, t.node, nil, plan.Options{Power: target})
	if err != nil {
		return err
	}
	at := len(t.op.Steps)
	if s := t.op.CurrentStep(); s != nil {
		at = s.Index
		switch {
		case !t.endsBoot(s, target):
		case s.State == node.StepFailed: // it does not run now, but somebody may decide to run it again
			s.Phase = phaseOff
		case t.bootsAnew(target):
			more, s.Phase = more[:len(more)-1], phaseOff
		}
	}
	steps := slices.Concat(t.op.Steps[:at], more, t.op.Steps[at:])
	for i := range steps {
		steps[i].Index = i
	}
	t.op.Steps = steps
	return nil
}

// endsBoot reports whether the power request ends the boot whose agent s waits for or uses.
// Switching on a server that is on ends none.
func (t *task) endsBoot(s *node.Step, target node.PowerState) bool {
	return s.Phase == phaseBooted && !t.node.DisablePowerOff && !(target == node.PowerOn && t.power == node.PowerOn)
}

// bootsAnew reports whether the last step of the power request is to be left out, because it
// switches on a server whose agent the current step waits for. The step switches it on
// itself: the boot override of the ramdisk was for one boot, and has to be set again.
func (t *task) bootsAnew(target node.PowerState) bool {
	if target == node.PowerOn {
		return t.power == node.PowerOff
	}
	return target == node.Rebooting || target == node.SoftRebooting
}

// runStep records that the step begins, runs it and notes how it ended. The note is saved
// together with the beginning of the next step, or when the run ends.
func (t *task) runStep(ctx context.Context, step *node.Step) (outcome, error) {
	run := funcOf(t.node, step)
	now := time.Now().UTC()
	if step.StartedAt == nil {
		step.StartedAt = &now
	}
	if step.State == node.StepPending { // otherwise it goes on with what was seen before
		t.arrived()
	}
	if step.State != node.StepWaiting {
		step.Attempts++
		t.op.Expect(step, now)
	}
	step.State, step.Conductor = node.StepRunning, t.Settings.Conductor
	t.op.Rests = t.op.Rests && step.PowerRequest() // a power request leaves the step after it as it was handed over
	step.Limit = retryOf(fault.Transient).limit(step, t.Settings.StepLimits)
	t.pending.Phase = node.Running
	t.op.WaitingFor, t.op.WaitingUntil = "", nil
	if node.Waits(t.node.ProvisionState) && !t.staysWaiting(step) {
		t.move(node.EventResume)
	}
	if err := t.save(ctx); err != nil {
		return 0, err
	}
	if t.op.MayLeave(step, node.NotBlocked) {
		return endAsked, nil
	}
	t.addUndo(undoOf(t.node, step)...)
	ended := t.reportLater(ctx)
	o, err := t.call(ctx, run, step)
	ended()
	if err != nil {
		t.observe(step, "failed", now)
		return 0, &stepError{step: step, err: err}
	}
	// The step may have merged the agent's steps into the plan, which makes a new list.
	// Steps that have begun keep their index.
	t.op.Steps[step.Index] = *step
	step = &t.op.Steps[step.Index]
	if o == done {
		t.arrived()
		at := time.Now().UTC()
		step.State, step.EndedAt, step.Issued, t.op.UsualUntil = node.StepDone, &at, nil, nil
		step.LastError, step.Cause = "", ""
		step.ForgetSilence()
		t.observe(step, "done", now)
	}
	return o, nil
}

// staysWaiting is true for a step that only looks whether the agent has called.
func (t *task) staysWaiting(step *node.Step) bool {
	return step.Phase == phaseBooted && !t.node.AgentCalledBack(t.op.Kind)
}

func (t *task) observe(step *node.Step, outcome string, began time.Time) {
	if t.Observe.Step == nil {
		return
	}
	name := step.Step
	if step.Source == node.SourceAgent {
		name = "agent" // the agent chooses the names, and the number of label values must be bounded
	}
	t.Observe.Step(step.Interface, name, outcome, time.Since(began))
}

// recordFailure records the failure on its step. The class of the error decides whether
// Temporal tries the step again.
func (t *task) recordFailure(err error) error {
	se, ok := err.(*stepError) //nolint:errorlint // runAll returns it unwrapped
	if !ok {
		return activities.RetryAfter(err, t.undoPause(err))
	}
	step := se.step
	if t.stillSilent(step, se.err) {
		return t.waitWithoutAsking(step, se.err)
	}
	t.timeSilence(step, se.err)
	spent, counts := t.spent(step, se.err)
	if counts {
		step.Failures++
	}
	pause := t.pauseAfter(step, se.err, counts)
	step.LastError, step.Cause, step.OnAgain = fault.Text(se.err), fault.CauseOf(se.err), 0
	if isSilence(se.err) && t.Reach.cutOffNow(context.Background(), t.node.UUID) {
		step.LastError += fmt.Sprintf(cutOffHint, node.ConductorWords(t.Settings.Conductor))
	}
	step.ClearDeaths() // this conductor survived the step
	t.op.Rests, t.pending.Came = true, true
	t.addNews(node.TimelineFailed, step, step.LastError)
	failures := step.Failures
	retry := t.restartStep(step, se.err, spent) || !spent
	if !retry {
		t.keepAgentLog(step, se.err)
		t.Recordings.end(t.node.UUID)
		at := time.Now().UTC()
		step.State, step.EndedAt, t.op.UsualUntil = node.StepFailed, &at, nil
	}
	since := t.silentFrom(step)
	t.waitAfterFailure(step, se.err, pause)
	if retry && !counts && step.SilentSince != nil {
		t.waitForAnswer(step, since)
	}
	t.pending.Move = ""
	if isSilence(se.err) && !isNotAsked(se.err) {
		t.noteSilence(se.err, pause, since)
	}
	log := t.log.Warn
	if t.op.Kind.Spec().Undoes {
		t.pending.Refused = !retry && isPermanent(se.err)
		if step.LastError == t.node.OwedError { // the same error as that of the try before, which was logged
			log = t.log.Debug
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.Settings.HeartbeatTimeout/2)
	defer cancel()
	if err := t.save(ctx); err != nil {
		if fault.Is(err, fault.Lost) {
			return activities.NonRetryable(err)
		}
		return activities.RetryAfter(err, time.Second)
	}
	log("step failed", zap.String("step", step.Name()), zap.Int("failures", failures), zap.Bool("retried", retry), zap.Error(se.err))
	if !retry {
		t.holds = step.Cause.Row().Holds && !t.op.Kind.Spec().Undoes
		return activities.NonRetryable(se.err)
	}
	return activities.RetryAfter(se.err, pause)
}

// takeOverOwed makes the undos that earlier operations left part of this operation's undo, if
// its steps do all of that anyway (UndoesAll). Any other operation leaves them, so that a BMC
// that refuses to eject a medium does not prevent switching the server on.
func (t *task) takeOverOwed(ctx context.Context) error {
	if len(t.node.Owed) == 0 || t.op.Kind.Spec().Undoes || !t.op.UndoesAll() {
		return nil
	}
	t.addUndo(t.node.Owed...)
	t.pending.OwedDone = t.node.Owed
	t.node.Owed = nil
	return t.save(ctx)
}

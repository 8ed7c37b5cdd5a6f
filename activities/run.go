package activities

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// outcome is what a step says of itself when it returns without an error.
type outcome int

const (
	over       outcome = iota // done
	awaitAgent                // the server boots; go on when its agent calls
	awaitHold                 // a person decides when to go on
	stopAsked                 // somebody asked for an end, and the step can be left here
)

// runAll runs steps in order until one waits, fails or none is left.
func (t *task) runAll(ctx context.Context) (Next, error) {
	if next := t.paused(); next != "" {
		return next, t.save(ctx)
	}
	if err := t.payDebts(ctx); err != nil {
		return "", err
	}
	for {
		next, stop, err := t.takeUpAsk(ctx)
		if err != nil {
			return "", err
		}
		if stop {
			return next, t.save(ctx)
		}
		if next := t.paused(); next != "" {
			return next, t.save(ctx)
		}
		step := t.op.CurrentStep()
		if step == nil {
			if node.Waits(t.node.ProvisionState) {
				t.move(node.EventResume)
			}
			return NextClose, t.save(ctx)
		}
		if step.State == node.StepFailed {
			return NextFailed, t.save(ctx)
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
		case stopAsked:
			return NextAsked, nil
		}
	}
}

// takeUpAsk looks at what was asked of the operation: a power request becomes
// steps of its own, before the present one; an end stops here, between steps.
func (t *task) takeUpAsk(ctx context.Context) (Next, bool, error) {
	switch t.asked {
	case node.AskCancel, node.AskAbort, node.AskDelete:
		if s := t.op.CurrentStep(); s == nil || t.endAsked(s) {
			return NextAsked, true, nil
		}
	case node.AskUnhold:
		// It moved the node, perhaps since the claim.
		n, err := t.Records.Node(ctx, t.node.UUID)
		if err != nil {
			return "", false, err
		}
		t.node.ProvisionState = n.ProvisionState
		if s := t.op.CurrentStep(); s != nil && s.State == node.StepFailed {
			break // a decision about the step that failed, and so the workflow's (LookHeld)
		}
		t.taken()
	case node.AskPower:
		target, err := t.askedPower(ctx)
		if err != nil {
			return "", false, err
		}
		if err := t.insertPower(target); err != nil {
			return "", false, err
		}
		t.taken()
	}
	return "", false, nil
}

// overtaken: the node was moved under the step by a request that ends the
// operation, so the step's own move no longer fits.
func (t *task) overtaken(ctx context.Context) bool {
	if t.guard(ctx) != nil {
		return false
	}
	return t.asked == node.AskCancel || t.asked == node.AskAbort || t.asked == node.AskDelete
}

// askedPower reads which power state is asked for: a save tells that one is, and
// it may have come since the claim.
func (t *task) askedPower(ctx context.Context) (node.PowerState, error) {
	n, err := t.Records.Node(ctx, t.node.UUID)
	if err != nil {
		return "", err
	}
	if n.Operation == nil || n.Operation.ID != t.op.ID {
		return "", fault.New(fault.Lost, "operation %d is not node %s's any more", t.op.ID, t.node.UUID)
	}
	return n.Operation.AskedPower, nil
}

// insertPower puts the steps of a power request before the present step. The
// agent goes with the power, if it goes: switching on what is on ends none.
func (t *task) insertPower(target node.PowerState) error {
	more, err := node.Plan(node.KindPower, t.node, nil, node.PlanOptions{Power: target})
	if err != nil {
		return err
	}
	at := len(t.op.Steps)
	if s := t.op.CurrentStep(); s != nil {
		at = s.Index
		switch {
		case !t.endsBoot(s, target):
		case s.State == node.StepFailed: // it does not run now, but if it is to run again
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

// endsBoot: the power request ends the boot whose agent the step waits for, or
// has had.
func (t *task) endsBoot(s *node.Step, target node.PowerState) bool {
	return s.Phase == phaseBooted && !t.node.DisablePowerOff && !(target == node.PowerOn && t.power == node.PowerOn)
}

// bootsAnew: the power request ends in switching on a server whose agent the
// present step waits for. The step does that itself, because what made the last
// boot one of the ramdisk was for once.
func (t *task) bootsAnew(target node.PowerState) bool {
	if target == node.PowerOn {
		return t.power == node.PowerOff
	}
	return target == node.Rebooting || target == node.SoftRebooting
}

// runStep records that the step begins, runs it and notes how it ended; the
// note is written with the next step's beginning, or by whoever stops here.
func (t *task) runStep(ctx context.Context, step *node.Step) (outcome, error) {
	run := funcOf(step)
	now := time.Now().UTC()
	if step.StartedAt == nil {
		step.StartedAt = &now
	}
	if step.State != node.StepWaiting {
		step.Attempts++
	}
	step.State, step.Conductor, t.op.Rests = node.StepRunning, t.Settings.Conductor, false
	step.Limit = retryOf(fault.Transient).limit(step.Name(), t.Settings.StepLimits)
	t.pending.Phase = node.Running
	t.op.WaitingFor, t.op.WaitingUntil = "", nil
	if node.Waits(t.node.ProvisionState) && !t.staysWaiting(step) {
		t.move(node.EventResume)
	}
	if err := t.save(ctx); err != nil {
		return 0, err
	}
	t.at(ctx, chaos.Begun, step.Phase)
	if t.endAsked(step) {
		return stopAsked, nil
	}
	activity.RecordHeartbeat(ctx, step.Index)
	o, err := run(ctx, t, step)
	if err != nil {
		t.observe(step, "failed", now)
		return 0, &stepError{step: step, err: err}
	}
	// The step may have merged the agent's steps in, which makes a new list; what
	// has begun keeps its place in it.
	t.op.Steps[step.Index] = *step
	step = &t.op.Steps[step.Index]
	if o == over {
		t.at(ctx, chaos.Over, "")
		ended := time.Now().UTC()
		step.State, step.EndedAt, step.LastError, step.Issued = node.StepDone, &ended, "", nil
		t.observe(step, "done", now)
	}
	return o, nil
}

// funcOf is how a step is run: reserved steps and the conductor's own here, all
// others by the agent.
func funcOf(step *node.Step) stepFunc {
	if run, ok := reserved[step.Step]; ok {
		return run
	}
	if run, ok := stepFuncs[step.Name()]; ok && step.Source != node.SourceAgent {
		return run
	}
	return runAgentStep
}

// staysWaiting is true for a step that only looks whether the agent has called.
func (t *task) staysWaiting(step *node.Step) bool {
	return step.Phase == phaseBooted && !t.node.AgentCalled(t.op.Kind)
}

func (t *task) observe(step *node.Step, outcome string, began time.Time) {
	if t.Observe.Step == nil {
		return
	}
	name := step.Step
	if step.Source == node.SourceAgent {
		name = "agent" // its names are a stranger's, and would become label values without bound
	}
	t.Observe.Step(step.Interface, name, outcome, time.Since(began))
}

// stepError is a failure of a step, so that it can be recorded on it.
type stepError struct {
	step *node.Step
	err  error
}

func (e *stepError) Error() string { return e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// verdict records the failure and decides by its class: again after a pause, or never.
func (t *task) verdict(err error) error {
	se, ok := err.(*stepError) //nolint:errorlint // runAll returns it unwrapped; a wrapped one is somebody else's
	if !ok {
		return again(err, time.Second)
	}
	step := se.step
	step.Failures++
	step.LastError = se.err.Error()
	t.op.Rests = true
	rule, failures := retryOf(fault.ClassOf(se.err)), step.Failures
	spent := failures >= rule.limit(step.Name(), t.Settings.StepLimits)
	retry := t.startsOver(step, se.err, spent) || !spent
	if !retry {
		step.State = node.StepFailed
	}
	t.pending.Move = ""
	ctx, cancel := context.WithTimeout(context.Background(), t.Settings.HeartbeatTimeout/2)
	defer cancel()
	if err := t.save(ctx); err != nil {
		if fault.Is(err, fault.Lost) {
			return never(err)
		}
		return again(err, time.Second)
	}
	t.log.Warn("step failed", zap.String("step", step.Name()), zap.Int("failures", failures), zap.Bool("retried", retry), zap.Error(se.err))
	if !retry {
		return never(se.err)
	}
	return again(se.err, max(rule.pause(step.Failures), bmc.Pause(se.err)))
}

// payDebts does what earlier operations owe the node's hardware. What can't be
// done is the present step's failure, so that its limits hold: a password that is
// wrong is not tried for ever. An operation without steps leaves the debts alone.
func (t *task) payDebts(ctx context.Context) error {
	step := t.op.CurrentStep()
	if len(t.node.Owed) == 0 || step == nil || t.op.Kind == node.KindUndo {
		return nil
	}
	if err := t.undo(ctx, step, t.node.Owed); err != nil { // the step has not begun, and so sent nothing itself
		return &stepError{step: step, err: fault.New(fault.KindOf(err), "undo what an earlier operation owes node %s: %w", t.node.UUID, err)}
	}
	t.node.Owed = nil
	t.pending.ClearOwed = true
	return t.save(ctx)
}

package conductor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// mayContinueWithout reports whether err is no more than the end of a power request that
// came while the operation waited. The operation has not asked for it, so it goes
// on where it was; last_error tells who asked. One that holds on failure waits
// for a decision instead.
func (t *task) mayContinueWithout(ctx context.Context, err error) bool {
	var failed *stepError
	if !errors.As(err, &failed) || ctx.Err() != nil || t.op.Kind.Spec().PowerChange || t.op.OnFailure == node.HoldOnFailure {
		return false
	}
	step := failed.step
	switch {
	case !step.PowerRequest(), fault.Is(err, fault.Lost), fault.Is(err, fault.Unavailable):
		return false
	case noAnswer(ctx, err) && t.anotherMayTry(ctx):
		return false
	}
	return step.Failures+1 >= retryOf(fault.ClassOf(failed.err)).limit(step, t.Settings.StepLimits)
}

// skipPowerRequest skips the steps of a power request that failed for good.
func (t *task) skipPowerRequest(ctx context.Context, err error) error {
	var failed *stepError
	if !errors.As(err, &failed) {
		return err
	}
	step := failed.step
	step.Failures++
	step.LastError = fault.Text(failed.err)
	t.skip(step, "the "+string(t.op.Kind)+" goes on without it")
	if next := t.op.CurrentStep(); next != nil && step.Rule().Power == node.PowerOff {
		switch {
		case next.Rule().Power == node.PowerOn && next.State == node.StepPending: // the other half of a reboot
			t.skip(next, step.Name()+" failed")
		case next.State == node.StepWaiting && next.Phase == phaseOff && t.power == node.PowerOn:
			next.Phase = phaseBooted // it was to boot anew, and still has the boot that it waits in
		}
	}
	t.pending.Move = ""
	t.pending.LastError = fmt.Sprintf("Failed to change the power state by %s: %s", step.Name(), step.LastError)
	t.log.Warn("power request given up", zap.String("step", step.Name()), zap.Error(failed.err))
	return t.save(ctx)
}

func (t *task) skip(s *node.Step, note string) {
	now := time.Now().UTC()
	s.State, s.EndedAt, s.Issued, s.Note = node.StepSkipped, &now, nil, note
}

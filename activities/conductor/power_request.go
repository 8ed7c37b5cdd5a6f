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

// mayContinueWithout reports whether err is the final failure of a power request that
// somebody made while the operation waited. The operation does not need it, and continues
// where it was; last_error names the failure. An operation that holds on failure waits for
// a decision instead.
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
	spent, _ := t.spent(step, failed.err)
	return spent
}

// skipPowerRequest skips the steps of a power request that failed for good.
func (t *task) skipPowerRequest(ctx context.Context, err error) error {
	var failed *stepError
	if !errors.As(err, &failed) {
		return err
	}
	step := failed.step
	step.Failures++
	step.LastError, step.Cause = fault.Text(failed.err), fault.CauseOf(failed.err)
	t.skip(step, "the "+string(t.op.Kind)+" goes on without it")
	if next := t.op.CurrentStep(); next != nil && step.Rule().Power == node.PowerOff {
		switch {
		case next.Rule().Power == node.PowerOn && next.State == node.StepPending: // the other half of a reboot
			t.skip(next, step.Name()+" failed")
		case next.State == node.StepWaiting && next.Phase == phaseOff && t.power == node.PowerOn:
			next.Phase = phaseBooted // it was to boot again after the power request, and still waits for the boot before
		}
	}
	t.pending.Move = ""
	t.pending.LastError = fmt.Sprintf("Failed to change the power state by %s: %s", step.Name(), step.LastError)
	t.log.Warn("a power request failed for good; the operation continues without it", zap.String("step", step.Name()), zap.Error(failed.err))
	return t.save(ctx)
}

func (t *task) skip(s *node.Step, note string) {
	now := time.Now().UTC()
	s.State, s.EndedAt, s.Issued, s.Note = node.StepSkipped, &now, nil, note
}

package conductor

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// RunSteps claims the operation and runs its steps from the first that is not done, until
// one has to wait, one fails or none is left. Each step is recorded before it begins and
// when it is done, so that the next attempt continues at the same step.
func (s *Steps) RunSteps(ctx context.Context, in StepsInput) (StepsResult, error) {
	ctx, stop := s.heartbeat(ctx)
	defer stop()
	t, err := s.claim(ctx, in)
	switch {
	case errors.Is(err, errOtherQueue):
		return StepsResult{Next: NextReady, Conductor: s.Settings.Conductor}, nil
	case err != nil:
		return StepsResult{}, s.failure(ctx, nil, err)
	}
	defer t.close()
	if err := t.countDeath(ctx); err != nil {
		return StepsResult{}, s.failure(ctx, nil, err)
	}
	next, err := t.runAll(ctx)
	for t.mayContinueWithout(ctx, err) {
		if err = t.skipPowerRequest(ctx, err); err == nil {
			next, err = t.runAll(ctx)
		}
	}
	if fault.Is(err, fault.NotAllowed) && t.endRequested(ctx) {
		next, err = NextAsked, nil
	}
	if t.handToAnother(ctx, err) {
		return t.result(NextElsewhere), nil
	}
	if err != nil {
		err = s.failure(ctx, t, err)
		if t.holds {
			return t.result(NextFailed), nil
		}
		return StepsResult{}, err
	}
	if step := t.op.CurrentStep(); next == NextAsked && step != nil && step.State == node.StepRunning {
		t.recordHandOver(nil)
	}
	return t.result(next), nil
}

// Reasons why a conductor leaves a step that nobody wants to end.
var (
	errStopping = errors.New("this conductor is stopping")
	errFrozen   = errors.New("this conductor stood still for longer than a step may be silent")
	errCutOff   = errors.New("temporal does not take this conductor's heartbeats, or has given the step to another one")
	errPaused   = errors.New("somebody has paused the activity in Temporal")
	errReset    = errors.New("somebody has reset the activity in Temporal")
)

// heartbeat sends heartbeats until the function that it returns is called. It cancels the
// context, so that the step returns at once and another conductor continues it, if the
// worker is being stopped, and if this process was frozen (SIGSTOP, a suspended host) for
// longer than the heartbeat timeout: Temporal has given the step to another conductor by
// then. If Temporal does not accept heartbeats, the SDK cancels the context after the
// throttle interval and one request (internal_task_handlers.go, internalHeartBeat), which is
// before Temporal gives the step to another conductor.
//
// The first heartbeat is sent after a fifth of the timeout. Temporal counts from the start of the
// attempt, and each heartbeat costs it a write of the workflow's state.
func (s *Steps) heartbeat(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	stopping := activity.GetWorkerStopChannel(ctx)
	// The activity's own timeout, because somebody may have changed it in Temporal.
	silent := cmp.Or(activity.GetInfo(ctx).HeartbeatTimeout, s.Settings.HeartbeatTimeout)
	go func() {
		beat := time.NewTicker(silent / 5)
		defer beat.Stop()
		last := sinceBoot()
		for {
			select {
			case <-done:
				return
			case <-stopping:
				cancel(errStopping)
				return
			case <-beat.C:
				now := sinceBoot()
				if now-last > silent {
					cancel(errFrozen)
					return
				}
				last = now // before the request, which may take a while
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// unavailableAttempts is the attempt from which on a database that accepts the claim, but
// does not answer afterwards, counts as a failure of the step. Probably what the step reads
// or writes exceeds the database's time limit, and would do so at each attempt.
const unavailableAttempts = 20

func (s *Steps) claim(ctx context.Context, in StepsInput) (*task, error) {
	info := activity.GetInfo(ctx)
	c := node.Claim{Seq: in.Seq, Attempt: info.Attempt}
	n, err := s.Store.Claim(ctx, in.Operation, info.WorkflowExecution.RunID, c, info.StartedTime, s.Settings.Conductor)
	if err != nil {
		return nil, err
	}
	if s.Observe.Wait != nil && info.Attempt == 1 {
		s.Observe.Wait(n.Operation.Group, n.Operation.Driver, info.StartedTime.Sub(info.ScheduledTime))
	}
	if otherQueue(info.TaskQueue, n.Operation) {
		return nil, errOtherQueue
	}
	driver, ok := s.Drivers[n.Driver]
	if !ok {
		return nil, fault.New(fault.NoValidHost, "conductor %s has no driver %s", s.Settings.Conductor, n.Driver)
	}
	sealed, err := s.Store.Credentials(ctx, n)
	if err != nil {
		return nil, err
	}
	t := newTask(s, n, n.Operation.Claim, driver, sealed)
	t.tried, t.first = in.Tried, info.Attempt == 1
	return t, nil
}

// failure returns the error that tells Temporal what to do after err, and records err on the
// step if it is a failure of the step. t is nil if the operation could not be claimed.
func (s *Steps) failure(ctx context.Context, t *task, err error) error {
	cause := context.Cause(ctx)
	switch {
	case fault.Is(err, fault.Lost):
		return activities.NonRetryable(err)
	case errors.Is(cause, errStopping):
		if t != nil {
			t.recordHandOver(nil)
		}
		return handOverError(errStopping)
	case errors.Is(cause, activity.ErrActivityPaused):
		info := activity.GetInfo(ctx)
		if t != nil {
			t.recordHandOver(&node.Pause{What: node.PauseOfActivity, At: time.Now().UTC(), Activity: info.ActivityID})
		}
		return handOverError(errPaused)
	case errors.Is(cause, activity.ErrActivityReset):
		if t != nil {
			t.recordHandOver(nil)
		}
		return handOverError(errReset)
	case temporal.IsCanceledError(cause): // the workflow was cancelled; other cancellations by the SDK are plain
		if t != nil {
			t.recordHandOver(nil)
		}
		return cancelledError()
	case errors.Is(ctx.Err(), context.Canceled):
		if !errors.Is(cause, errFrozen) {
			cause = errCutOff
		}
		if t != nil {
			// recordHandOver also shows, and counts, whether another conductor has the step already.
			t.log.Warn("this conductor stopped working on the step", zap.NamedError("why", cause), zap.Bool("taken over", t.recordHandOver(nil)))
		}
		return handOverError(cause)
	case fault.Is(err, fault.Unavailable) && (t == nil || t.undoes || activity.GetInfo(ctx).Attempt < unavailableAttempts):
		return activities.RetryAfter(err, time.Second) // the database is unavailable; that is no failure of the step
	case t == nil && isPermanent(err) && activity.GetInfo(ctx).Attempt >= StepLimit:
		// The operation could not be claimed, for example because its secrets can't be
		// decrypted. Without a limit it would be tried for ever, and nobody would be told,
		// because the failure is recorded on no step.
		return activities.NonRetryable(err)
	case t == nil:
		return activities.RetryAfter(err, time.Second)
	}
	return t.recordFailure(err)
}

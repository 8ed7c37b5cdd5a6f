package workflows

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// readEvery is how often a waiting workflow reads the row without a signal, so that a lost
// signal delays the operation by minutes and no more. The interval grows with the length of the
// wait, up to maxReadFactor times readEvery.
const (
	readEvery     = 10 * time.Minute
	maxReadFactor = 3
)

// wait is something that an operation waits for.
type wait struct {
	read  func(workflow.Context) (orchestrator.WaitState, error) // reads whether it has come
	until *time.Time                                             // the deadline, if the row has none
	over  error                                                  // the failure if it has not come by then
}

// waitForAgent is the wait for the agent to call back, or for an unhold.
func (o *operation) waitForAgent(res conductor.StepsResult) wait {
	return wait{until: res.Until, over: o.overdueError(res), read: func(ctx workflow.Context) (seen orchestrator.WaitState, err error) {
		err = workflow.ExecuteLocalActivity(localOptions(ctx, "look"), operations.Look, o.in.Operation).Get(ctx, &seen)
		return seen, err
	}}
}

// await waits until the operation can continue. asked reports that somebody has requested its
// end, waited that it could not continue at once. The row is read before and after each sleep and
// has the deadline. While no conductor covers the node, or it is in maintenance, the time for
// what the operation waits for is stopped.
func (o *operation) await(ctx workflow.Context, w wait) (asked, waited bool, err error) {
	for naps := 0; ; naps++ {
		seen, err := w.read(ctx)
		if err != nil {
			return false, false, err
		}
		o.takeQueue(seen)
		until := seen.Until
		switch {
		case seen.EndAsked, seen.GoOn:
			return seen.EndAsked, naps > 0, nil
		case seen.Orphaned:
			return false, true, o.orphanedError()
		case seen.GiveUp:
			return false, true, o.noConductorError()
		case seen.Blocked == node.NotBlocked && until == nil:
			until = w.until
		}
		left := readEvery * time.Duration(min(1+naps/maxReadFactor, maxReadFactor))
		if until != nil {
			left = min(left, until.Sub(workflow.Now(ctx)))
		}
		if seen.Blocked == node.BlockedDeaths {
			left = max(left, time.Second) // the database's clock decides whether the time is over
		}
		if left <= 0 {
			if seen.Blocked == node.BlockedNoConductor {
				return false, true, o.noConductorError()
			}
			if seen.Overdue != nil {
				return false, true, failed(fault.Unreachable, *seen.Overdue)
			}
			return false, true, w.over
		}
		if seen.LookAt != nil {
			left = min(left, max(seen.LookAt.Sub(workflow.Now(ctx)), time.Second)) // whoever reads the row decides whether it is time
		}
		if o.historyTooLong(ctx) {
			return false, true, workflow.NewContinueAsNewError(ctx, workflow.GetInfo(ctx).WorkflowType.Name, o.in)
		}
		o.progress.Until, o.blocked = until, seen.Blocked
		if err := o.sleepUntilNews(ctx, left, seen.WaitingFor); err != nil {
			return false, true, err
		}
	}
}

// historyTooLong reports whether the workflow has to continue as new. Temporal suggests that for a
// long history, as of an operation that waits for weeks, and ends workflows whose history
// is too long. The version marker makes replays of old runs, which did not continue as new here,
// deterministic.
func (o *operation) historyTooLong(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	if !info.GetContinueAsNewSuggested() || !workflow.AllHandlersFinished(ctx) {
		return false
	}
	change := fmt.Sprintf("continue as new at event %d", info.GetCurrentHistoryLength())
	return workflow.GetVersion(ctx, change, workflow.DefaultVersion, 1) == 1
}

// takeQueue takes the queue of the steps from seen, because the node's driver or group may have changed.
func (o *operation) takeQueue(seen orchestrator.WaitState) {
	if seen.Driver != "" {
		o.settings.Group, o.settings.Driver, o.settings.WaitForConductor = seen.Group, seen.Driver, seen.WaitForConductor
	}
}

// sleepUntilNews waits for a signal or a decision, for at most d. Several signals count as one.
func (o *operation) sleepUntilNews(ctx workflow.Context, d time.Duration, waitingFor string) error {
	o.progress.WaitingFor = waitingFor
	o.show(ctx)
	o.upsertSearchAttributes(ctx)
	timerCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	timer := workflow.NewTimerWithOptions(timerCtx, d, workflow.TimerOptions{Summary: "waiting for " + cmp.Or(waitingFor, "news")})
	workflow.NewSelector(ctx).
		AddReceive(o.rowChanged, func(c workflow.ReceiveChannel, _ bool) {
			for c.ReceiveAsync(nil) {
			}
		}).
		AddReceive(o.decided, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
		AddFuture(timer, func(workflow.Future) {}).
		AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {}).
		Select(ctx)
	o.progress.WaitingFor, o.blocked = "", node.NotBlocked
	return ctx.Err()
}

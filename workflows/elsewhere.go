package workflows

import (
	"errors"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/internal/node"
)

// ownQueueTimeout is how long work waits in a conductor's own queue. A live conductor takes it
// at once.
const ownQueueTimeout = 2 * time.Second

// tryConductors calls do until a conductor has done the work. The first call is for whoever
// takes it from the queue of the node's group and driver. If the hardware does not answer that
// conductor, do returns its name, and the next call is for the own queue of another conductor
// that covers the node and has not tried. When none is left, or one of them fails or dies, a
// new round begins with the shared queue, after the delay that the failure wants.
func (o *operation) tryConductors(ctx workflow.Context, do func(at node.Host, tried []string) (passedOnBy string, err error)) error {
	var at node.Host // no name: any conductor
	var tried []string
	for {
		by, err := do(at, tried)
		switch {
		case err == nil && by == "":
			return nil
		case err == nil:
			tried = append(slices.Clone(tried), by)
		case at.Name == "" || !mayTryAnother(err):
			return err
		case timedOut(err) == scheduleToStart: // that conductor has left, or is busy
			tried = append(slices.Clone(tried), at.Name)
		default:
			if err := workflow.Sleep(ctx, retryDelay(err)); err != nil {
				return err
			}
			at, tried = node.Host{}, nil
			continue
		}
		err = workflow.ExecuteLocalActivity(localOptions(ctx, "find another conductor"), operations.Elsewhere, o.in.Operation, tried).Get(ctx, &at)
		if err != nil {
			return err
		}
	}
}

// onHost returns ctx with options for one attempt on at's own queue, or ctx if at has no name.
func onHost(ctx workflow.Context, at node.Host) workflow.Context {
	if at.Name == "" {
		return ctx
	}
	opts := workflow.GetActivityOptions(ctx)
	opts.TaskQueue = node.OwnQueue(at)
	opts.ScheduleToStartTimeout = ownQueueTimeout
	opts.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	return workflow.WithActivityOptions(ctx, opts)
}

// mayTryAnother reports whether another conductor may try the work that failed with err on a
// conductor's own queue.
func mayTryAnother(err error) bool {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return !app.NonRetryable()
	}
	t := timedOut(err)
	return t == scheduleToStart || t == enums.TIMEOUT_TYPE_HEARTBEAT
}

// timedOut returns the type of the timeout if err is one, unspecified otherwise.
func timedOut(err error) enums.TimeoutType {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return timeout.TimeoutType()
	}
	return enums.TIMEOUT_TYPE_UNSPECIFIED
}

// retryDelay returns after which pause err wants the work to be tried again.
func retryDelay(err error) time.Duration {
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.NextRetryDelay() > 0 {
		return app.NextRetryDelay()
	}
	return retryPause
}

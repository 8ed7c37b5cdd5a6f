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

// ownQueueTimeout is how long work waits in a conductor's own queue. One that is alive
// takes it at once.
const ownQueueTimeout = 2 * time.Second

// tryConductors has work done by a conductor from the queue of the node's group and
// driver. One that gets no answer from the hardware passes it on, by its name, and
// it goes to another that covers the node and has not tried, on that one's own
// queue, and so on. When the round is over, or a conductor of it dies, it is begun
// anew with whoever is there, after the pause that the last one wants.
func (o *operation) tryConductors(ctx workflow.Context, do func(at node.Host, tried []string) (passedOnBy string, err error)) error {
	var at node.Host // no name: whoever takes it
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
		case timedOut(err) == scheduleToStart: // it has left, or can't take more
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

// onHost sends what has ctx's options to one conductor, once; no name: as they are.
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

// mayTryAnother reports whether work that failed with err on a conductor's own queue may
// be tried by others.
func mayTryAnother(err error) bool {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return !app.NonRetryable()
	}
	t := timedOut(err)
	return t == scheduleToStart || t == enums.TIMEOUT_TYPE_HEARTBEAT
}

// timedOut is the type of the timeout that err is; unspecified where it is none.
func timedOut(err error) enums.TimeoutType {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return timeout.TimeoutType()
	}
	return enums.TIMEOUT_TYPE_UNSPECIFIED
}

// retryDelay is how long whoever failed wants it to rest.
func retryDelay(err error) time.Duration {
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.NextRetryDelay() > 0 {
		return app.NextRetryDelay()
	}
	return retryPause
}

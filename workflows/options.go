package workflows

import (
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const scheduleToStart = enums.TIMEOUT_TYPE_SCHEDULE_TO_START

const (
	// localTimeout is the time for one try of a database activity. While PostgreSQL is
	// unavailable it is retried without end, which needs a long schedule-to-close timeout:
	// the SDK's default is the time of one try (internal_activity.go,
	// getValidatedLocalActivityOptions).
	localTimeout = 10 * time.Second
	localMaxTime = 365 * 24 * time.Hour
	// undoTimeout is how long an undo may take from its scheduling. What is not undone by then
	// is owed.
	undoTimeout      = 3 * time.Minute
	undoStartTimeout = 30 * time.Second
	// undoLate is the delay after undoTimeout from which on the workflow must have been paused.
	undoLate = 30 * time.Second
	// retryPause is short, because it also delays the retry after a conductor's death.
	retryPause = time.Second
)

// localOptions are the options of an activity that touches only the database.
func localOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    localTimeout,
		ScheduleToCloseTimeout: localMaxTime,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second,
			NonRetryableErrorTypes: []string{fault.Lost.String(), fault.NotFound.String(), fault.Invalid.String(), fault.Conflict.String(), fault.NotAllowed.String()},
		},
	})
}

// stepsOptions are the options of hardware steps: the queue of the node's driver and group, a
// heartbeat, and a cancellation that waits until the step has returned, so that an undo never
// runs at the same time.
func (o *operation) stepsOptions(ctx workflow.Context, wait time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              node.QueueName(o.settings.Group, o.settings.Driver),
		ScheduleToStartTimeout: wait,
		StartToCloseTimeout:    o.settings.StepsTimeout,
		HeartbeatTimeout:       o.settings.HeartbeatTimeout,
		WaitForCancellation:    true,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: retryPause, BackoffCoefficient: 1,
		},
	})
}

func (o *operation) undoOptions(ctx workflow.Context, left time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              node.QueueName(o.settings.Group, o.settings.Driver),
		ScheduleToStartTimeout: undoStartTimeout,
		ScheduleToCloseTimeout: left,
		HeartbeatTimeout:       o.settings.HeartbeatTimeout,
		WaitForCancellation:    true,
		Summary:                "undo what is half done",
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: retryPause, BackoffCoefficient: 2, MaximumInterval: 20 * time.Second,
		},
	})
}

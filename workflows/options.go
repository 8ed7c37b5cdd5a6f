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
	// localTimeout is one try of a database activity; PostgreSQL away is tried
	// again for as long as it takes. That has to be said: to the SDK, no
	// schedule-to-close timeout means that of one try
	// (internal_activity.go, getValidatedLocalActivityOptions).
	localTimeout = 10 * time.Second
	localMaxTime = 365 * 24 * time.Hour
	// undoTimeout is how long an undo may take from its scheduling; what is
	// not done by then is owed.
	undoTimeout      = 3 * time.Minute
	undoStartTimeout = 30 * time.Second
	// undoLate is longer than a workflow that is not paused takes to hear that this
	// time is over.
	undoLate = 30 * time.Second
	// retryPause is short: it applies to a conductor's death too.
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

// stepsOptions are the options of hardware steps: on the queue of the node's
// driver and group, under a heartbeat, and cancelled only when the step has
// returned, so that undo never works beside it.
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

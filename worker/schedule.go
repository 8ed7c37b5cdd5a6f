package worker

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"go.temper.dev/temper/workflows"
)

// keepEvery is how often each orchestrator looks whether the schedule is there.
const keepEvery = 15 * time.Second

// keepSchedule makes the reconciliation's schedule and makes it again where
// somebody deleted it, until ctx ends. A pause is a person's and is left alone.
func keepSchedule(ctx context.Context, c client.Client, interval time.Duration, log *zap.Logger) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		if err := makeSchedule(ctx, c, interval); err != nil && ctx.Err() == nil {
			log.Warn("schedule of the reconciliation", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func makeSchedule(ctx context.Context, c client.Client, interval time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:            workflows.ReconcileSchedule,
		Spec:          client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: interval}}},
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: 10 * time.Second,
		Action: &client.ScheduleWorkflowAction{
			ID: workflows.ReconcileSchedule, Workflow: workflows.ReconcileType, TaskQueue: workflows.OrchestratorQueue,
			WorkflowExecutionTimeout: time.Minute,
		},
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return nil
	}
	return err
}

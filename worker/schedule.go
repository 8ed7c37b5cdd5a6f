package worker

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/workflows"
)

// keepEvery is how often each orchestrator looks whether what it needs in
// Temporal is there.
const keepEvery = 15 * time.Second

// keep makes the namespace, its search attributes and the reconciliation's
// schedule, and makes them again where they are gone, until ctx ends. A pause of
// the schedule is a person's and is left alone.
func (o *Orchestrator) keep(ctx context.Context) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		err := makeNamespace(ctx, o.Client, o.Namespace)
		if err == nil {
			err = makeSchedule(ctx, o.Client, o.Interval)
		}
		if err != nil && ctx.Err() == nil {
			o.Log.Warn("what is needed in Temporal", zap.Error(err))
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

// Trigger runs the reconciliation now or, where one runs, once more after it.
func Trigger(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := c.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule).Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
	if err != nil {
		return fault.New(fault.Unavailable, "run the reconciliation: %w", err)
	}
	return nil
}

// triggerUnlessPaused is Trigger for what happens by itself: a schedule that a
// person has paused is left alone. A failure costs one interval.
func triggerUnlessPaused(ctx context.Context, c client.Client, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	d, err := c.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule).Describe(ctx)
	if err == nil && !d.Schedule.State.Paused {
		err = Trigger(ctx, c)
	}
	if err != nil {
		log.Info("the next reconciliation comes at its time", zap.Error(err))
	}
}

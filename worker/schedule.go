package worker

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/workflows"
)

// ensureInterval is how often each orchestrator looks whether what it needs in
// Temporal is there.
const ensureInterval = 15 * time.Second

// ensureRetry is the pause while something of it can't be made yet.
const ensureRetry = time.Second

// ensureTemporal makes the namespaces, their search attributes and the reconciliation's
// schedule, and makes them again where they are gone, until ctx ends. A pause of
// the schedule is a person's and is left alone.
func (o *Orchestrator) ensureTemporal(ctx context.Context, rec *reconcileWorker) error {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		pause := ensureInterval
		err := makeNamespace(ctx, o.Client, o.Namespace)
		if err == nil {
			err = rec.ensureSchedule(ctx, o.Interval)
		}
		if err != nil && ctx.Err() == nil {
			o.Log.Warn("what is needed in Temporal", zap.Error(err))
			pause = ensureRetry
		}
		next.Reset(pause)
	}
}

// makeSchedule makes the reconciliation's schedule in the client's namespace, where
// it is missing. before is the one that it takes the place of: its pause is kept.
func makeSchedule(ctx context.Context, c client.Client, interval time.Duration, before *client.ScheduleState) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	o := client.ScheduleOptions{
		ID:            workflows.ReconcileSchedule,
		Spec:          client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: interval}}},
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: 10 * time.Second,
		Action: &client.ScheduleWorkflowAction{
			ID: workflows.ReconcileSchedule, Workflow: workflows.ReconcileType, TaskQueue: workflows.OrchestratorQueue,
			WorkflowExecutionTimeout: time.Minute,
		},
	}
	if before != nil {
		o.Paused, o.Note = before.Paused, before.Note
	}
	_, err := c.ScheduleClient().Create(ctx, o)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return nil
	}
	return err
}

// Reconciliation is where the reconciliation's schedule is.
type Reconciliation struct {
	Own        client.Client // of a namespace of its own; nil = it is among the operations
	Operations client.Client
}

// places are the clients of the namespaces where it may be, the likelier first: it
// stays among the operations while its own namespace can't be made, and until a
// newer release has moved it.
func (r Reconciliation) places() []client.Client {
	if r.Own == nil {
		return []client.Client{r.Operations}
	}
	return []client.Client{r.Own, r.Operations}
}

// find describes the schedule where it is.
func (r Reconciliation) find(ctx context.Context) (h client.ScheduleHandle, d *client.ScheduleDescription, err error) {
	for _, c := range r.places() {
		h = c.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule)
		if d, err = h.Describe(ctx); err == nil || !notFound(err) && !noNamespace(err) && !forbidden(err) {
			break
		}
	}
	return h, d, err
}

func noNamespace(err error) bool {
	var missing *serviceerror.NamespaceNotFound
	return errors.As(err, &missing)
}

// forbidden: Temporal does not let this client do it, or lets no client.
func forbidden(err error) bool {
	var denied *serviceerror.PermissionDenied
	var missing *serviceerror.Unimplemented
	return errors.As(err, &denied) || errors.As(err, &missing)
}

// Trigger runs the reconciliation now or, where one runs, once more after it.
func (r Reconciliation) Trigger(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, _, err := r.find(ctx)
	if err == nil {
		err = h.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
	}
	if err != nil {
		return fault.New(fault.Unavailable, "run the reconciliation: %w", err)
	}
	return nil
}

// triggerUnlessPaused is Trigger for what happens by itself: a schedule that a
// person has paused is left alone. A failure costs one interval.
func (r Reconciliation) triggerUnlessPaused(ctx context.Context, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	h, d, err := r.find(ctx)
	if err == nil && !d.Schedule.State.Paused {
		err = h.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
	}
	if err != nil {
		log.Info("the next reconciliation comes at its time", zap.Error(err))
	}
}

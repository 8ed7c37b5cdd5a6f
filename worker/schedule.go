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

// ensureInterval is how often each orchestrator checks whether the namespaces and the schedule
// exist.
const ensureInterval = 15 * time.Second

// ensureRetry is the pause after one of them could not be created.
const ensureRetry = time.Second

// ensureTemporal creates the namespaces, their search attributes and the reconciliation's schedule,
// and creates them again if they disappear, until ctx ends. It does not end a pause of the
// schedule.
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
			o.Log.Warn("the namespaces or the schedule in Temporal could not be ensured", zap.Error(err))
			pause = ensureRetry
		}
		next.Reset(pause)
	}
}

// makeSchedule creates the reconciliation's schedule in the client's namespace if it is missing. If
// it replaces another schedule, before is that one's state, whose pause is kept.
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
	Own        client.Client // of the namespace of reconciliations; nil = they run in the operations' namespace
	Operations client.Client
}

// places returns the clients of the namespaces in which the schedule may be, the likelier first. It
// is in the operations' namespace if its own can't be created, or if an older release has
// created it.
func (r Reconciliation) places() []client.Client {
	if r.Own == nil {
		return []client.Client{r.Operations}
	}
	return []client.Client{r.Own, r.Operations}
}

// find describes the schedule, in whichever namespace it is.
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

// forbidden reports whether Temporal does not let this client do it, or does not let any client.
func forbidden(err error) bool {
	var denied *serviceerror.PermissionDenied
	var missing *serviceerror.Unimplemented
	return errors.As(err, &denied) || errors.As(err, &missing)
}

// Trigger starts a reconciliation now or, if one is running, after it.
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

// triggerUnlessPaused is Trigger for callers that are no person: it does nothing if a person has
// paused the schedule. An error is logged, because the schedule triggers the next one anyway.
func (r Reconciliation) triggerUnlessPaused(ctx context.Context, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	h, d, err := r.find(ctx)
	if err == nil && !d.Schedule.State.Paused {
		err = h.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
	}
	if err != nil {
		log.Info("no reconciliation could be triggered; the next one is as scheduled", zap.Error(err))
	}
}

package worker

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/workflows"
)

// reconcileWorker runs reconciliations in a namespace of their own, so that they do not
// appear among the operations in Temporal's list. If Temporal does not let it register
// that namespace, they run in the operations' namespace.
type reconcileWorker struct {
	at        Reconciliation
	namespace string // of at.Own
	tick      *reconcile.Reconciler
	grace     time.Duration
	log       *zap.Logger

	runs   worker.Worker // nil = not yet
	denied bool
}

// ensureSchedule creates the schedule of reconciliations if it is missing, in their own namespace if
// possible.
func (r *reconcileWorker) ensureSchedule(ctx context.Context, interval time.Duration) error {
	if r.at.Own == nil {
		return makeSchedule(ctx, r.at.Operations, interval, nil)
	}
	err := r.move(ctx, interval)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !forbidden(err) || r.runs != nil {
		return err
	}
	if !r.denied {
		r.denied = true
		r.log.Warn("reconciliations run in the operations' namespace, because theirs can't be registered: register it, or set temporal_reconcile_namespace to the operations' namespace",
			zap.String("namespace", r.namespace), zap.Error(err))
	}
	return makeSchedule(ctx, r.at.Operations, interval, nil)
}

// move registers the namespace, starts a worker in it, and creates the schedule there.
// It then deletes the schedule in the operations' namespace that an earlier release
// has created.
func (r *reconcileWorker) move(ctx context.Context, interval time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := registerNamespace(ctx, r.at.Own, r.namespace, reconcileRetention); err != nil {
		return err
	}
	if r.runs == nil {
		w := worker.New(r.at.Own, workflows.OrchestratorQueue, worker.Options{
			MaxConcurrentWorkflowTaskPollers: 2, MaxConcurrentActivityTaskPollers: 2, WorkerStopTimeout: r.grace,
		})
		registerReconcile(w, r.tick)
		if err := w.Start(); err != nil { // a new namespace is not known at once
			return fmt.Errorf("start the reconciliations' worker: %w", err)
		}
		r.runs = w
	}
	old := r.at.Operations.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule)
	d, err := old.Describe(ctx)
	var before *client.ScheduleState
	switch {
	case err == nil:
		before = d.Schedule.State
	case !notFound(err):
		return fmt.Errorf("look for the schedule of an earlier release: %w", err)
	}
	if err := makeSchedule(ctx, r.at.Own, interval, before); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	if err := old.Delete(ctx); err != nil && !notFound(err) {
		return fmt.Errorf("take away the schedule of an earlier release: %w", err)
	}
	return nil
}

// stop takes no more work and waits for what runs.
func (r *reconcileWorker) stop() {
	if r.runs != nil {
		r.runs.Stop()
	}
}

func registerReconcile(w worker.Registry, tick *reconcile.Reconciler) {
	w.RegisterWorkflowWithOptions(workflows.Reconcile, workflow.RegisterOptions{Name: workflows.ReconcileType})
	w.RegisterActivityWithOptions(tick.Tick, activity.RegisterOptions{Name: "Tick"})
}

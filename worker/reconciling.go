package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
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
	keeper *keeper
	tick   *reconcile.Reconciler
	grace  time.Duration
	log    *zap.Logger

	runs   worker.Worker // nil = not yet
	denied bool
}

// ensureSchedule keeps the schedule of reconciliations, in their own namespace if possible.
func (r *reconcileWorker) ensureSchedule(ctx context.Context) error {
	at := r.keeper.setup
	if at.Own.Client == nil {
		return r.keeper.keepSchedule(ctx, at.Operations, nil)
	}
	err := r.move(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !forbidden(err) || r.runs != nil {
		return err
	}
	if !r.denied {
		r.denied = true
		r.log.Warn("reconciliations run in the operations' namespace, because theirs can't be registered: register it, or set temporal_reconcile_namespace to the operations' namespace",
			zap.String("namespace", at.Own.Namespace), zap.Error(err))
	}
	return r.keeper.keepSchedule(ctx, at.Operations, nil)
}

// move registers the namespace, starts a worker in it, and keeps the schedule there. It then deletes the schedule in the
// operations' namespace that an earlier release has created.
func (r *reconcileWorker) move(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	at := r.keeper.setup
	d, err := r.keeper.makeNamespace(ctx, at.Own, reconcileRetention)
	if err != nil {
		return err
	}
	kept := r.keeper.keepRetention(ctx, at.Own, d, reconcileRetention)
	if err := r.start(); err != nil {
		return err
	}
	old, err := at.Operations.schedule(ctx)
	if err != nil && !notFound(err) {
		return fmt.Errorf("look for the schedule of an earlier release: %w", err)
	}
	if err := r.keeper.keepSchedule(ctx, at.Own, old.GetSchedule().GetState()); err != nil || old == nil {
		return errors.Join(kept, err)
	}
	if err := at.Operations.Client.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule).Delete(ctx); err != nil && !notFound(err) {
		return fmt.Errorf("take away the schedule of an earlier release: %w", err)
	}
	return kept
}

// start starts the worker, once.
func (r *reconcileWorker) start() error {
	if r.runs != nil {
		return nil
	}
	w := worker.New(r.keeper.setup.Own.Client, workflows.OrchestratorQueue, worker.Options{
		MaxConcurrentWorkflowTaskPollers: 2, MaxConcurrentActivityTaskPollers: 2, WorkerStopTimeout: r.grace,
	})
	registerReconcile(w, r.tick)
	if err := w.Start(); err != nil { // a new namespace is not known at once
		return fmt.Errorf("start the reconciliations' worker: %w", err)
	}
	r.runs = w
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

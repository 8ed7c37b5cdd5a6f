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
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/workflows"
)

// Orchestrator runs workflow code and the activities that touch only the
// database. Any number of them may run.
type Orchestrator struct {
	Client     client.Client
	Namespace  string // the client's
	Ledger     activities.Ledger
	Reconciler activities.Reconciler
	Ring       activities.RingBook
	Witnesses  WitnessBook
	Conductors time.Duration // timeout of conductors' heartbeats
	Shares     activities.Shares
	Instances  activities.Instances
	Reaping    activities.Reaping
	Policy     activities.Policy
	Safe       time.Duration // after the end of a run, until nothing of it can act
	Interval   time.Duration // between two reconciliations
	StopGrace  time.Duration
	Metrics    *Metrics
	Started    func() // called once it polls; may be nil
	Log        *zap.Logger
}

// Run works until ctx ends; then it takes no new work and returns within the grace time.
func (o *Orchestrator) Run(ctx context.Context) error {
	w := worker.New(o.Client, workflows.OrchestratorQueue, worker.Options{
		MaxConcurrentWorkflowTaskPollers:       8,
		MaxConcurrentActivityTaskPollers:       2,
		MaxConcurrentWorkflowTaskExecutionSize: 200,
		WorkerStopTimeout:                      o.StopGrace,
	})
	starter := Starter{Client: o.Client}
	ops := &activities.Operations{
		Ledger: activities.CountedLedger(o.Ledger, o.Metrics.refused), Starter: starter, Policy: o.Policy, Ended: o.Metrics.ended,
		Workflows: Describer{Client: o.Client}, Safe: o.Safe,
	}
	rec := &activities.Reconcile{
		Reconciler: o.Reconciler, Ring: o.Ring, Ledger: o.Ledger, Starter: starter, Teller: starter, Workflows: Describer{Client: o.Client},
		Operations: ops, Shares: o.Shares, Instances: o.Instances, Reaping: o.Reaping, Safe: o.Safe, Interval: o.Interval, Log: o.Log,
	}
	register(w, ops, rec)
	// A worker does not start in a namespace that is not there.
	if err := makeNamespace(ctx, o.Client, o.Namespace); err != nil {
		o.Log.Warn("what is needed in Temporal", zap.Error(err))
	}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start orchestrator: %w", err)
	}
	defer w.Stop()
	if o.Started != nil {
		o.Started()
	}
	g, ctx := errgroup.WithContext(ctx)
	witness := Witness{Book: o.Witnesses, Contact: contact(o.Client), Timeout: o.Conductors, Log: o.Log}
	g.Go(func() error { return witness.Run(ctx) })
	g.Go(func() error { return o.keep(ctx) })
	return g.Wait()
}

// register gives w all workflows and the activities of orchestrators.
func register(w worker.Registry, ops *activities.Operations, rec *activities.Reconcile) {
	for _, name := range workflows.Types {
		w.RegisterWorkflowWithOptions(workflows.Operate, workflow.RegisterOptions{Name: name})
	}
	w.RegisterWorkflowWithOptions(workflows.Reconcile, workflow.RegisterOptions{Name: workflows.ReconcileType})
	w.RegisterActivity(ops)
	w.RegisterActivityWithOptions(rec.Tick, activity.RegisterOptions{Name: "Tick"})
}

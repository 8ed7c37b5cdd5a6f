package worker

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// Orchestrator runs workflow code and the activities that touch only the
// database. Any number of them may run.
type Orchestrator struct {
	Name         string // of this process, in the table of processes
	Temporal     Setup
	Operations   orchestrator.OperationStore
	Reconcile    reconcile.Store
	Ring         reconcile.RingStore
	Witnesses    WitnessStore
	Setup        SetupStore
	Conductors   time.Duration // timeout of conductors' heartbeats
	Shares       reconcile.ShareStore
	Instances    reconcile.InstanceStore
	Reaping      reconcile.Reaping
	Policy       orchestrator.Policy
	Safe         time.Duration // how long activities of a closed run may still act
	MediaTimeout time.Duration // how long after its request an inserted medium may still appear
	Retention    time.Duration // of the records of deleted nodes
	Events       reconcile.EventsKept
	Audit        reconcile.AuditKept
	Webhooks     Webhooks
	StopGrace    time.Duration
	Metrics      *Metrics
	Started      func() // called when it has begun to poll; may be nil
	Log          *zap.Logger
}

// Run works until ctx ends; then it takes no new work and returns within the grace time.
func (o *Orchestrator) Run(ctx context.Context) error {
	c := o.Temporal.Operations.Client
	w := worker.New(c, workflows.OrchestratorQueue, worker.Options{
		MaxConcurrentWorkflowTaskPollers:       8,
		MaxConcurrentActivityTaskPollers:       2,
		MaxConcurrentWorkflowTaskExecutionSize: 200,
		WorkerStopTimeout:                      o.StopGrace,
	})
	starter := Starter{Client: c, Namespace: o.Temporal.Operations.Namespace}
	ops := &orchestrator.Operations{
		Store: orchestrator.CountLostClaims(o.Operations, o.Metrics.refused), Starter: starter, Policy: o.Policy, Ended: o.Metrics.ended,
		Describer: Describer{Client: c}, Safe: o.Safe,
	}
	rec := &reconcile.Reconciler{
		Store: o.Reconcile, Ring: o.Ring, Operations: o.Operations, Starter: starter, Controller: starter, Describer: Describer{Client: c},
		Defaults: o.Policy.Defaults(), Shares: o.Shares, Instances: o.Instances, Reaping: o.Reaping, Safe: o.Safe, MediaTimeout: o.MediaTimeout, Interval: o.Temporal.Interval, Retention: o.Retention, Events: o.Events, Audit: o.Audit,
		SayLost: help.Of(nil, explain.LostSpeedup).Sentence(), Log: o.Log,
	}
	register(w, ops, rec)
	keep := &keeper{
		setup: o.Temporal, store: o.Setup, name: o.Name, stuck: stuckAfter, log: o.Log,
	}
	// A worker does not start if its namespace does not exist.
	if err := keep.keepOperations(ctx); err != nil {
		o.Log.Warn("the namespace or its search attributes could not be created", zap.Error(err))
	}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start orchestrator: %w", err)
	}
	defer w.Stop()
	if o.Started != nil {
		o.Started()
	}
	g, ctx := errgroup.WithContext(ctx)
	witness := Witness{Store: o.Witnesses, Contact: contact(c), Timeout: o.Conductors, Log: o.Log}
	g.Go(func() error { return witness.Run(ctx) })
	g.Go(func() error { return o.Webhooks.run(ctx, o.Log) })
	own := &reconcileWorker{keeper: keep, tick: rec, grace: o.StopGrace, log: o.Log}
	g.Go(func() error { return o.ensureTemporal(ctx, own) })
	err := g.Wait()
	own.stop()
	return err
}

// register registers all workflows and the activities of orchestrators.
func register(w worker.Registry, ops *orchestrator.Operations, rec *reconcile.Reconciler) {
	for _, k := range node.KindSpecs() {
		w.RegisterWorkflowWithOptions(workflows.Operate, workflow.RegisterOptions{Name: k.Workflow})
	}
	w.RegisterWorkflowWithOptions(workflows.ReadBMC, workflow.RegisterOptions{Name: workflows.ReadType})
	w.RegisterActivity(ops)
	registerReconcile(w, rec)
}

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
)

func newOrchestratorCommand() *cobra.Command {
	r := &config.Orchestrator{}
	return role{
		name: "orchestrator", short: "Run workflows and the reconciliation", settings: r, common: &r.Process,
		run: func(ctx context.Context, p *process) error { return runOrchestrator(ctx, p, r) },
	}.command()
}

func runOrchestrator(ctx context.Context, p *process, r *config.Orchestrator) error {
	waits, err := r.WaitInGroup.ByGroup()
	if err != nil {
		return err
	}
	db, err := openStore(ctx, p, r.Database, r.Rules, r.Liveness, "orchestrator")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := awaitDatabase(ctx, p, db); err != nil {
		return unlessDone(ctx, err)
	}
	name := processName()
	defer announce(ctx, p, db, coverage.RoleOrchestrator, name, r.ConductorHeartbeatTimeout)()
	c, err := dialTemporal(ctx, p, r.Temporal, "temper-orchestrator")
	if err != nil {
		return unlessDone(ctx, err)
	}
	defer c.Close()
	setup, closeSetup, err := setupOf(ctx, p, c, r.Temporal, r.Liveness, "temper-orchestrator")
	if err != nil {
		return err
	}
	defer closeSetup()
	hooks, err := newWebhookSender(r.Webhooks, r.AllowLoopback)
	if err != nil {
		return err
	}
	defer hooks.Close()
	o := &worker.Orchestrator{
		Name: name, Temporal: setup, Setup: db, Operations: wrapOperationStore(db), Reconcile: db, Ring: db, Shares: db, Instances: db, Witnesses: db, Conductors: r.ConductorHeartbeatTimeout, StopGrace: workTime(r.ShutdownGrace),
		Metrics: worker.NewMetrics(p.metrics), Log: p.log, Started: func() { p.ready("", healthOf(dependenciesOf(db, c, r.Temporal))) },
		Webhooks:     worker.Webhooks{Store: db, Events: db, Sender: hooks, GiveUp: r.GiveUp},
		Retention:    r.Keeping.DeletedNodes,
		Events:       reconcile.EventsKept{Age: r.Keeping.Events, Most: r.Keeping.MostEvents},
		Audit:        reconcile.AuditKept{Age: r.Keeping.Audit, Most: r.Keeping.MostAudit},
		Safe:         config.Safe(r.Liveness, r.Patience),
		MediaTimeout: r.Media,
		Reaping:      reconcile.Reaping{Report: r.Reap == config.ReapReport, After: r.ReapAfter},
		Policy: orchestrator.Policy{
			HeartbeatTimeout: r.HeartbeatTimeout, ConductorTimeout: r.ConductorHeartbeatTimeout, WaitForConductor: r.WaitForConductor, WaitInGroup: waits, AutomatedClean: r.AutomatedClean,
			OnFailure: node.OnFailure(r.OnFailure), DecisionWait: r.DecisionWait,
		},
	}
	stopSending, err := sendAudit(ctx, p, db, r, name)
	if err != nil {
		return err
	}
	defer stopSending()
	return o.Run(ctx)
}

// workTime is the part of the grace time in which work that is under way may end. The rest is for closing connections.
func workTime(grace time.Duration) time.Duration { return grace * 3 / 4 }

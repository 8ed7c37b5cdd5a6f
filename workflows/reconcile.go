package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/reconcile"
)

// ReconcileType and ReconcileSchedule are the names of the scheduled
// reconciliation's workflow type and of its schedule.
const (
	ReconcileType     = "Reconcile"
	ReconcileSchedule = "reconcile"
)

var reconciling *reconcile.Reconciler

// Reconcile is one tick of the reconciliation.
func Reconcile(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 50 * time.Second,
		HeartbeatTimeout:    20 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumAttempts: 3},
	})
	var did reconcile.TickResult
	err := workflow.ExecuteActivity(ctx, reconciling.Tick).Get(ctx, &did)
	var failed *temporal.ApplicationError
	if errors.As(err, &failed) && failed.HasDetails() {
		if failed.Details(&did) != nil {
			return err // another release returned details of another type
		}
	}
	if did.Took != "" {
		workflow.SetCurrentDetails(ctx, did.Details())
	}
	return err
}

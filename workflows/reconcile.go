package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities"
)

// ReconcileType and ReconcileSchedule are the names of the scheduled
// reconciliation's workflow type and of its schedule.
const (
	ReconcileType     = "Reconcile"
	ReconcileSchedule = "reconcile"
)

var reconciling *activities.Reconcile

// Reconcile is one tick: it compares what the database holds with what Temporal
// runs, and puts right what is not as it should be.
func Reconcile(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 50 * time.Second,
		HeartbeatTimeout:    20 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumAttempts: 3},
	})
	var did activities.TickResult
	if err := workflow.ExecuteActivity(ctx, reconciling.Tick).Get(ctx, &did); err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("started %d, cancelled %d, nudged %d, recovered %d\n\n%s", did.Started, did.Cancelled, did.Nudged, did.Recovered, did.Alarm))
	return nil
}

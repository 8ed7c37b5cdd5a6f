package conductor

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
)

// reportTimeout bounds the telling of a workflow.
const reportTimeout = 5 * time.Second

// reportLater tells the workflow which step runs, once it has run for so long that somebody may look: each telling costs
// the workflow a few events. Short steps cost nothing. The step has ended when the function that is returned is called.
func (t *task) reportLater(ctx context.Context) (over func()) {
	if t.ReportSteps == nil {
		return func() {}
	}
	run := activity.GetInfo(ctx).WorkflowExecution
	told := StepsUpdate{Seq: t.claim.Seq, Conductor: t.Settings.Conductor, Steps: activities.StepLines(t.op.Steps)}
	timer := time.AfterFunc(t.Settings.ReportAfter, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
		if err := t.ReportSteps(ctx, run.ID, run.RunID, told); err != nil {
			t.log.Info("the workflow does not show which step runs", zap.Error(err))
		}
	})
	return func() { timer.Stop() }
}

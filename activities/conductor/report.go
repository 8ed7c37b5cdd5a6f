package conductor

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
)

// reportTimeout is how long a report to a workflow may take.
const reportTimeout = 5 * time.Second

// reportLater tells the workflow which step runs, once the step has run for ReportAfter.
// Each report costs the workflow a few events; short steps cost none. The caller calls stop
// when the step has ended.
func (t *task) reportLater(ctx context.Context) (stop func()) {
	if t.ReportSteps == nil {
		return func() {}
	}
	run := activity.GetInfo(ctx).WorkflowExecution
	told := StepsUpdate{Seq: t.claim.Seq, Conductor: t.Settings.Conductor, Steps: activities.StepLines(t.op.Steps)}
	timer := time.AfterFunc(t.Settings.ReportAfter, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
		told.StepWait = t.lastWait.Load()
		if err := t.ReportSteps(ctx, run.ID, run.RunID, told); err != nil {
			t.log.Info("the workflow could not be told which step runs", zap.Error(err))
		}
	})
	return func() { timer.Stop() }
}

package conductor

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
)

// tellWithin bounds the telling of a workflow.
const tellWithin = 5 * time.Second

// tellLater tells the workflow which step runs, once it has run for so long that somebody may look: each telling costs
// the workflow a few events. Short steps cost nothing. The step has ended when the function that is returned is called.
func (t *task) tellLater(ctx context.Context) (over func()) {
	if t.Tell == nil {
		return func() {}
	}
	run := activity.GetInfo(ctx).WorkflowExecution
	told := Told{Seq: t.claim.Seq, Conductor: t.Settings.Conductor, Steps: activities.StepLines(t.op.Steps)}
	timer := time.AfterFunc(t.Settings.TellAfter, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWithin)
		defer cancel()
		if err := t.Tell(ctx, run.ID, run.RunID, told); err != nil {
			t.log.Info("the workflow does not show which step runs", zap.Error(err))
		}
	})
	return func() { timer.Stop() }
}

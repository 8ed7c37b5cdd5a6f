package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
)

// wasReset reports whether this run was reset in Temporal: its history up to
// there is another run's.
func wasReset(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.OriginalRunID != "" && info.OriginalRunID != info.WorkflowExecution.RunID
}

// hasPredecessor reports whether the operation may be that of a run whose work this
// one has: it was reset from it, or that one continued as new.
func hasPredecessor(ctx workflow.Context) bool {
	return wasReset(ctx) || workflow.GetInfo(ctx).ContinuedExecutionRunID != ""
}

// adopt makes an operation that was another run's this one's, which has its work
// now; false: it has ended, and is retried or can't be. Nothing is done
// before nothing of the other run can act any more.
func (o *operation) adopt(ctx workflow.Context) (bool, error) {
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	var a orchestrator.Adopted
	if err := workflow.ExecuteLocalActivity(localOptions(quiet, "adopt"), operations.Adopt, o.in.Operation).Get(quiet, &a); err != nil {
		return false, err
	}
	switch {
	case a.Next != 0:
		workflow.SetCurrentDetails(ctx, a.Words)
		return false, workflow.ExecuteLocalActivity(localOptions(quiet, "start what goes on"), operations.StartOperation, a.Next).Get(quiet, nil)
	case !a.Took:
		workflow.SetCurrentDetails(ctx, a.Words)
		return false, temporal.NewNonRetryableApplicationError(a.Words, fault.NotAllowed.String(), nil)
	}
	o.seq = a.Seq
	if a.Wait > 0 {
		if err := workflow.Sleep(quiet, a.Wait); err != nil {
			return false, err
		}
	}
	return true, o.begin(ctx)
}

package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
)

// wasReset reports whether this run exists because another one was reset in Temporal. The
// first part of its history is that run's.
func wasReset(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.OriginalRunID != "" && info.OriginalRunID != info.WorkflowExecution.RunID
}

// hasPredecessor reports whether the operation may belong to a run that this one replaces: that
// run was reset, or it continued as new.
func hasPredecessor(ctx workflow.Context) bool {
	return wasReset(ctx) || workflow.GetInfo(ctx).ContinuedExecutionRunID != ""
}

// adopt takes the operation over from the run that this one replaces. It returns false if the
// operation has ended; then another operation retries it, if that is possible. adopt waits
// until no activity of the other run can act any more.
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

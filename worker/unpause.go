package worker

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Unpause unpauses the operation's workflow and its activity, whichever of them somebody
// has paused in Temporal. It does nothing if neither is paused, or if the workflow has ended.
func (s Starter) Unpause(ctx context.Context, o *node.Operation, by, reason string) error {
	// Status returns one pause: that of the workflow first, then that of the activity.
	for range 2 {
		st, err := s.Status(ctx, o)
		if err != nil || st.Pause == nil {
			return err
		}
		if err := s.unpauseOne(ctx, o, st, by, reason); err != nil {
			return err
		}
	}
	return nil
}

// unpauseOne unpauses what st says is paused.
func (s Starter) unpauseOne(ctx context.Context, o *node.Operation, st node.RunStatus, by, reason string) (err error) {
	run := cmp.Or(st.RunID, o.RunID)
	service := s.Client.WorkflowService()
	if st.Pause.What == node.PauseOfActivity {
		_, err = service.UnpauseActivity(ctx, &workflowservice.UnpauseActivityRequest{
			Namespace: s.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID, RunId: run}, Identity: by,
			Activity: &workflowservice.UnpauseActivityRequest_Id{Id: st.Pause.Activity},
		})
	} else {
		_, err = service.UnpauseWorkflowExecution(ctx, &workflowservice.UnpauseWorkflowExecutionRequest{
			Namespace: s.Namespace, WorkflowId: o.WorkflowID, RunId: run, Identity: by, Reason: reason, RequestId: uuid.NewString(),
		})
	}
	if err == nil || notFound(err) || failedPrecondition(err) { // it was unpaused, or has ended, meanwhile
		return nil
	}
	return fault.New(fault.Unavailable, "unpause workflow %s: %w", o.WorkflowID, err)
}

// failedPrecondition reports whether Temporal refused a request because of the workflow's state, such
// as an update of a paused workflow, or unpausing one that is not paused.
func failedPrecondition(err error) bool {
	var e *serviceerror.FailedPrecondition
	return errors.As(err, &e)
}

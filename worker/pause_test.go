package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
	"go.temper.dev/temper/workflows"
)

// What Temper relies on when somebody pauses a workflow or an activity in Temporal, and what it does then.
func TestWhatSomebodyPausesInTemporalIsSeenAndUnpaused(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	const uuid = "11111111-1111-1111-1111-111111111111"
	o := &node.Operation{ID: 7, NodeUUID: uuid, Kind: node.KindDeploy, WorkflowID: node.WorkflowID(uuid, node.KindDeploy, 7, "5f0c1d2e")}
	w := sdkworker.New(c, workflows.OrchestratorQueue, sdkworker.Options{MaxHeartbeatThrottleInterval: 100 * time.Millisecond})
	causes, goOn := make(chan error, 10), make(chan struct{})
	w.RegisterActivityWithOptions(func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				causes <- context.Cause(ctx)
				return context.Cause(ctx)
			case <-goOn:
				return nil
			case <-time.After(20 * time.Millisecond):
				activity.RecordHeartbeat(ctx)
			}
		}
	}, activity.RegisterOptions{Name: "step"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		err := workflow.SetUpdateHandler(ctx, workflows.DecideUpdate, func(workflow.Context, workflows.Decision) error { return nil })
		if err != nil {
			return err
		}
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: 2 * time.Second})
		if err := workflow.ExecuteActivity(ctx, "step").Get(ctx, nil); err != nil {
			return err
		}
		return workflow.Sleep(ctx, time.Hour)
	}, workflow.RegisterOptions{Name: node.KindDeploy.Spec().Workflow})
	require.NoError(t, w.Start())
	defer w.Stop()
	ctx := t.Context()
	s := worker.Starter{Client: c, Namespace: "temper"}
	require.NoError(t, s.Start(ctx, o))
	listed := func(run string) func() bool {
		return func() bool {
			open, err := worker.Describer{Client: c}.Open(ctx)
			return err == nil && open[run]
		}
	}
	st, err := s.Status(ctx, o)
	require.NoError(t, err)
	run := st.RunID
	require.NotEmpty(t, run)
	require.Nil(t, st.Pause)
	require.NoError(t, s.Unpause(ctx, o, "ann", "nothing is paused"))

	pause := func() {
		_, err := c.WorkflowService().PauseWorkflowExecution(ctx, &workflowservice.PauseWorkflowExecutionRequest{
			Namespace: "temper", WorkflowId: o.WorkflowID, Identity: "ann@desk", Reason: "let me look", RequestId: time.Now().String(),
		})
		require.NoError(t, err)
	}
	pause()
	st, err = s.Status(ctx, o)
	require.NoError(t, err)
	require.True(t, st.Open)
	require.Equal(t, node.PauseOfWorkflow, st.Pause.What)
	require.Equal(t, "ann@desk", st.Pause.By)
	require.Equal(t, "let me look", st.Pause.Reason)
	require.WithinDuration(t, time.Now(), st.Pause.At, 10*time.Second)
	require.Eventually(t, func() bool { return !listed(run)() }, 20*time.Second, 50*time.Millisecond)
	require.NoError(t, s.Decide(ctx, o, node.ActionRetry, "ann", ""), "a decision unpauses it")
	pause()
	require.NoError(t, s.Unpause(ctx, o, "ann", "looked"))
	st, err = s.Status(ctx, o)
	require.NoError(t, err)
	require.Nil(t, st.Pause)
	require.Eventually(t, listed(run), 20*time.Second, 50*time.Millisecond)

	_, err = c.WorkflowService().PauseActivity(ctx, &workflowservice.PauseActivityRequest{
		Namespace: "temper", Execution: &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID}, Identity: "bob@desk", Reason: "wait",
		Activity: &workflowservice.PauseActivityRequest_Type{Type: "step"},
	})
	require.NoError(t, err)
	require.ErrorIs(t, <-causes, activity.ErrActivityPaused)
	st, err = s.Status(ctx, o)
	require.NoError(t, err)
	require.True(t, st.Open)
	require.Equal(t, node.PauseOfActivity, st.Pause.What)
	require.Equal(t, "bob@desk", st.Pause.By)
	require.Eventually(t, func() bool { return !listed(run)() }, 20*time.Second, 50*time.Millisecond)
	pause() // the workflow, too
	require.NoError(t, s.Unpause(ctx, o, "ann", "looked"))
	goOn <- struct{}{}
	st, err = s.Status(ctx, o)
	require.NoError(t, err)
	require.Nil(t, st.Pause)
	require.Eventually(t, listed(run), 20*time.Second, 50*time.Millisecond, "what was paused once is listed again")
	require.NoError(t, c.TerminateWorkflow(ctx, o.WorkflowID, "", "over"))
	require.NoError(t, s.Unpause(ctx, o, "ann", "it has ended"))
}

package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/workflows"
)

func TestAnOperationThatWaitsWithALongHistoryGoesOnInANewRun(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{}}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, time.Hour)}
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(workflows.Operate, input)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Empty(t, w.closed, "it has not ended")
	require.Equal(t, 1, w.ran)
}

func TestTheRunAfterOneThatContinuedAsNewTakesItsOperation(t *testing.T) {
	w := &world{runs: []func() (conductor.StepsResult, error){done}}
	env := w.env(t)
	begun := 0
	for name, f := range map[string]any{
		"Begin": func(ctx context.Context, id int64) (orchestrator.WorkflowSettings, error) {
			if begun++; begun == 1 {
				return orchestrator.WorkflowSettings{}, temporal.NewNonRetryableApplicationError("it is another run's", "lost", nil)
			}
			return w.begin(ctx, id)
		},
		"Adopt": func(context.Context, int64) (orchestrator.Adopted, error) {
			return orchestrator.Adopted{Took: true, Seq: 5, Wait: time.Second}, nil
		},
	} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
	}
	env.ExecuteWorkflow(func(ctx workflow.Context, in workflows.Input) error {
		workflow.GetInfo(ctx).ContinuedExecutionRunID = "the run before"
		return workflows.Operate(ctx, in)
	}, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.ran)
	require.Len(t, w.closed, 1)
}

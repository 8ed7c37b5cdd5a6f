package workflows_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/workflows"
)

// The cases in which a reset run may not go on in place of the run before. If it may, that is one of courses.
func TestARunThatWasResetLeavesAloneWhatIsNotItsOwn(t *testing.T) {
	lost := temporal.NewNonRetryableApplicationError("it is another run's", "lost", nil)
	for name, c := range map[string]struct {
		reset   bool
		adopted orchestrator.Adopted
		err     error
		started []int64
		fails   string // the error of the workflow
		kind    string
	}{
		"it was not reset":                      {fails: "it is another run's", kind: "lost"},
		"the run before is at work":             {reset: true, err: lost, fails: "it is another run's", kind: "lost"},
		"its operation had ended, another goes": {reset: true, adopted: orchestrator.Adopted{Next: 9, Words: "operation 9 goes on"}, started: []int64{9}},
		"its operation had ended for good":      {reset: true, adopted: orchestrator.Adopted{Words: "it can not be retried now"}, fails: "it can not be retried now", kind: "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			env := w.env(t)
			asked := 0
			for name, f := range map[string]any{
				"Begin": func(context.Context, int64) (orchestrator.WorkflowSettings, error) {
					return orchestrator.WorkflowSettings{}, lost
				},
				"Adopt": func(context.Context, int64) (orchestrator.Adopted, error) {
					asked++
					return c.adopted, c.err
				},
			} {
				env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
			}
			env.ExecuteWorkflow(func(ctx workflow.Context, in workflows.Input) error {
				if c.reset {
					workflow.GetInfo(ctx).OriginalRunID = "the run before"
				}
				return workflows.Operate(ctx, in)
			}, input)
			require.True(t, env.IsWorkflowCompleted())
			if c.fails == "" {
				require.NoError(t, env.GetWorkflowError())
			} else {
				require.ErrorContains(t, env.GetWorkflowError(), c.fails)
				require.Equal(t, c.kind, typeOf(env.GetWorkflowError()))
			}
			require.Equal(t, c.reset, asked == 1)
			require.Equal(t, c.started, w.started)
			require.Zero(t, w.ran, "the hardware is another's")
			require.Empty(t, w.closed)
		})
	}
}

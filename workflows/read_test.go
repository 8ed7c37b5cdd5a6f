package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// read runs the workflow of a reading, whose activity is do.
func read(t *testing.T, do func(context.Context, conductor.ReadInput) (node.BMCReading, error)) (out node.BMCReading, err error) {
	t.Helper()
	var s testsuite.WorkflowTestSuite
	env := s.NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: "ReadBMC"})
	env.ExecuteWorkflow(workflows.ReadBMC, workflows.ReadInput{
		ReadInput: conductor.ReadInput{Node: "n", What: node.ReadBootDevices}, Group: "east", Driver: "ipmi", Within: time.Second,
	})
	if err = env.GetWorkflowError(); err == nil {
		require.NoError(t, env.GetWorkflowResult(&out))
	}
	return out, err
}

func TestAReadingAsksAConductorOfTheNodesDriverOnce(t *testing.T) {
	out, err := read(t, func(ctx context.Context, in conductor.ReadInput) (node.BMCReading, error) {
		require.Equal(t, conductor.ReadInput{Node: "n", What: node.ReadBootDevices}, in)
		require.Equal(t, "conductor/east/ipmi", activity.GetInfo(ctx).TaskQueue)
		return node.BMCReading{BootDevices: []string{"pxe"}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"pxe"}, out.BootDevices)

	asked := 0
	_, err = read(t, func(context.Context, conductor.ReadInput) (node.BMCReading, error) {
		asked++
		return node.BMCReading{}, activities.RetryAfter(fault.Coded(fault.BMCSilent, "no answer"), time.Millisecond)
	})
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, fault.Unreachable.String(), app.Type())
	require.Equal(t, fault.BMCSilent, activities.CauseOf(err))
	require.Equal(t, 1, asked)
}

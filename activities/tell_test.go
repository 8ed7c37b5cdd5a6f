package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestAWorkflowIsToldOfAStepThatLasts(t *testing.T) {
	t.Parallel()
	told := make(chan conductor.StepsUpdate, 10)
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOff, map[string]string{"power": "redfish", "management": "redfish"}, plan.Options{})
	tell := func(_ context.Context, workflowID, _ string, what conductor.StepsUpdate) error {
		require.NotEmpty(t, workflowID)
		told <- what
		return nil
	}
	b.steps.ReportSteps, b.steps.Settings.ReportAfter = tell, time.Hour
	_, err := b.run()
	require.NoError(t, err)
	require.Empty(t, told, "a step that is over before costs nothing")

	b = newBench(t, node.KindManage, node.Verifying, bmc.PowerOff, map[string]string{"power": "redfish", "management": "redfish"}, plan.Options{})
	b.steps.ReportSteps, b.steps.Settings.ReportAfter = tell, time.Millisecond
	var heard conductor.StepsUpdate
	b.machine.onOpen = func() { heard = <-told } // the BMC answers after the workflow was signalled
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, b.seq, heard.Seq)
	require.Equal(t, "c1", heard.Conductor)
	require.Equal(t, "power.verify", heard.Steps[0].Name)
	require.Equal(t, node.StepRunning, heard.Steps[0].State)
	require.WithinDuration(t, time.Now(), *heard.Steps[0].Since, time.Minute)
	require.Empty(t, told, "once is enough")
}

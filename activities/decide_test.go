package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/node"
)

// Only one inventory is accepted in each boot of the agent. So a retry without another boot would
// read the same inventory and fail in the same way.
func TestAnotherTryAtAnInventoryBootsTheAgentAnew(t *testing.T) {
	t.Parallel()
	r := newRecords(t)
	ended := time.Now()
	o := r.deploying(
		node.Step{Interface: "inspect", Step: node.StepBootAgent, State: node.StepDone, Phase: node.PhaseBooted, EndedAt: &ended, Source: node.SourceCore},
		node.Step{Interface: "inspect", Step: node.StepCollect, State: node.StepPending, Source: node.SourceCore})
	_, err := r.db.Begin(r.Context(), o.ID, o.WorkflowID, run)
	require.NoError(t, err)
	r.do(r.ops.Hold, orchestrator.HoldInput{Operation: o.ID, Seq: 2, Error: "the agent could not inspect it", Wait: time.Hour})
	r.do(r.ops.Decide, orchestrator.DecideInput{Operation: o.ID, Seq: 3, Action: node.ActionRetry, By: "admin"})
	o, err = r.db.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, "inspect."+node.StepBootAgent, o.CurrentStep().Name())
	for _, s := range o.Steps {
		require.Equal(t, node.StepPending, s.State, s.Name())
		require.Empty(t, s.Phase, s.Name())
		require.Nil(t, s.EndedAt, s.Name())
	}
	require.Equal(t, "inspect."+node.StepCollect, o.Decisions[0].Step)
}

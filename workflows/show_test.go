package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// details returns what Temporal's UI shows of the workflow now.
func details(t *testing.T, env *testsuite.TestWorkflowEnvironment) string {
	t.Helper()
	answer, err := env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var m sdkpb.WorkflowMetadata
	require.NoError(t, answer.Get(&m))
	return m.GetCurrentDetails()
}

func TestTheDetailsShowWhichStepRunsWhileItRuns(t *testing.T) {
	since := time.Date(2026, 11, 22, 23, 59, 0, 0, time.UTC)
	lines := func(state node.StepState) []activities.StepLine {
		return []activities.StepLine{
			{Name: "deploy.deploy", State: node.StepDone, Attempts: 1, Conductor: "c1"},
			{Name: "deploy.write_image", State: state, Attempts: 1, Conductor: "c1", Since: &since},
		}
	}
	w := &world{}
	env := w.env(t)
	var early, told, late string
	w.runs = []func() (conductor.StepsResult, error){func() (conductor.StepsResult, error) {
		early = details(t, env)
		env.SignalWorkflow(workflows.StepsSignal, conductor.StepsUpdate{Seq: 99, Conductor: "zombie", Steps: lines(node.StepRunning)})
		late = details(t, env)
		env.SignalWorkflow(workflows.StepsSignal, conductor.StepsUpdate{Seq: w.seqs[0], Conductor: "c1", Steps: lines(node.StepRunning)})
		require.Eventually(t, func() bool {
			told = details(t, env)
			return strings.Contains(told, "Running")
		}, 30*time.Second, time.Millisecond)
		done := lines(node.StepDone)
		return conductor.StepsResult{Next: conductor.NextClose, Conductor: "c1", Steps: done}, nil
	}}
	env.ExecuteWorkflow(workflows.Operate, workflows.Input{Operation: 1, Node: "n", Kind: node.KindDeploy})
	require.NoError(t, env.GetWorkflowError())
	require.Contains(t, early, "**With the conductors of driver redfish** since ")
	require.NotContains(t, late, "zombie", "what another activity says")
	require.Contains(t, told, "**Running deploy.write_image** on conductor c1 since 2026-11-22T23:59:00Z")
	require.Contains(t, told, "| deploy.write_image | running | 1 | c1 |  |")
	at := details(t, env)
	require.Regexp(t, `\*\*The operation has succeeded\*\* at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, at)
	require.Contains(t, at, "| deploy.write_image | done |")
}

func TestTheTimesInTheDetailsHaveDates(t *testing.T) {
	until := time.Date(2036, 11, 23, 0, 31, 30, 0, time.FixedZone("CET", 3600))
	w := &world{
		runs: []func() (conductor.StepsResult, error){
			func() (conductor.StepsResult, error) {
				return conductor.StepsResult{Next: conductor.NextAgent, Until: &until}, nil
			},
			func() (conductor.StepsResult, error) { return conductor.StepsResult{Next: conductor.NextClose}, nil },
		},
		waitStates: []orchestrator.WaitState{{WaitingFor: "the agent's call", Until: &until}, {GoOn: true}},
	}
	env := w.env(t)
	var waiting string
	env.RegisterDelayedCallback(func() { waiting = details(t, env) }, time.Second)
	env.ExecuteWorkflow(workflows.Operate, workflows.Input{Operation: 1, Node: "n", Kind: node.KindDeploy})
	require.NoError(t, env.GetWorkflowError())
	require.Contains(t, waiting, "**Waiting for the agent's call** until 2036-11-22T23:31:30Z")
}

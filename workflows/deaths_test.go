package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// putOff is a run of steps that ends because the next try is put off.
func putOff() (conductor.StepsResult, error) {
	return conductor.StepsResult{
		Next: conductor.NextReady, Conductor: "c4",
		Steps: []activities.StepLine{{Name: "deploy.deploy", State: node.StepRunning, LastError: "3 conductors in a row died"}},
	}, nil
}

// deadly is a run of steps that ends because too many conductors died of the step.
func deadly() (conductor.StepsResult, error) {
	return conductor.StepsResult{Next: conductor.NextFailed, Hold: true, Error: "6 conductors in a row died", Conductor: "c7"}, nil
}

func TestAStepThatIsPutOffIsWaitedForAndTriedAgain(t *testing.T) {
	w := &outage{}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){putOff, done}
	until := env.Now().Add(2 * time.Minute)
	early := orchestrator.WaitState{Blocked: node.BlockedDeaths, WaitingFor: "the next try", Until: &until}
	w.readies = []orchestrator.WaitState{early, early, early, {GoOn: true}} // the database's clock is some seconds slow
	began := env.Now()
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(workflows.ProgressQuery)
		require.NoError(t, err)
		var p workflows.Progress
		require.NoError(t, v.Get(&p))
		require.Equal(t, "the next try", p.WaitingFor)
		require.WithinDuration(t, until, *p.Until, 0)
		require.Equal(t, "3 conductors in a row died", p.Steps[0].LastError)
	}, time.Minute)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.ran)
	require.Equal(t, 4, w.asked, "it is looked at again once a second, and not faster")
	require.InDelta(t, 122, env.Now().Sub(began).Seconds(), 1)
	require.Equal(t, node.Succeeded, w.closed[0].Outcome)
}

func TestACancelEndsTheWaitForTheNextTry(t *testing.T) {
	w := &outage{}
	w.undo = orchestrator.UndoPlan{Needed: true, Covered: true}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){putOff}
	until := env.Now().Add(10 * time.Minute)
	w.readies = []orchestrator.WaitState{{Blocked: node.BlockedDeaths, WaitingFor: "the next try", Until: &until}}
	began := env.Now()
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	require.Less(t, env.Now().Sub(began), time.Minute)
	require.Equal(t, 1, w.undone)
	require.Equal(t, node.Cancelled, w.closed[0].Outcome)
}

// kept is an operation that should fail if a step fails, but holds because conductors died of its step.
func kept() *judged {
	j := &judged{fails: true}
	j.undo = orchestrator.UndoPlan{Needed: true, Covered: true}
	return j
}

func TestAStepThatTooManyConductorsDiedOfHoldsWhateverItWasAsked(t *testing.T) {
	j := kept()
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){deadly, done}
	a := decide(env, time.Hour, workflows.Decision{Action: node.ActionRetry, By: "ann"})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.True(t, a.completed)
	require.NoError(t, a.failed)
	require.Equal(t, "6 conductors in a row died", j.holds[0].Error)
	require.Equal(t, 2*time.Hour, j.holds[0].Wait)
	require.Equal(t, node.Succeeded, j.closed[0].Outcome)
}

func TestWhereNobodyDecidesAboutTheDeathsTheErrorNamesThem(t *testing.T) {
	j := kept()
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){deadly}
	env.ExecuteWorkflow(workflows.Operate, input)
	require.ErrorContains(t, env.GetWorkflowError(), "6 conductors in a row died; nobody decided within 2h")
	require.Equal(t, node.Failed, j.closed[0].Outcome)
	require.Equal(t, 1, j.undone)
}

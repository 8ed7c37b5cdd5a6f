package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// outage is a world in which at times no conductor covers the node.
type outage struct {
	world
	uncovered bool                     // from the beginning
	readies   []orchestrator.WaitState // what it reads before steps, in turn; the last one is repeated
	asked     int
	timers    int
}

func (w *outage) env(t *testing.T) *testsuite.TestWorkflowEnvironment {
	env := w.world.env(t)
	again := func(name string, f any) {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
	}
	again("Begin", func(ctx context.Context, id int64) (orchestrator.WorkflowSettings, error) {
		b, err := w.begin(ctx, id)
		b.Blocked = w.uncovered
		return b, err
	})
	again("Ready", func(_ context.Context, in orchestrator.ReadyInput) (orchestrator.WaitState, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		s := w.readies[min(w.asked, len(w.readies)-1)]
		w.asked++
		w.seqs = append(w.seqs, in.Seq)
		return s, nil
	})
	env.SetOnTimerScheduledListener(func(string, time.Duration) { w.timers++ })
	return env
}

// untaken is a run of steps that no conductor takes from the queue.
func untaken() (conductor.StepsResult, error) {
	return conductor.StepsResult{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, errors.New("nobody came"))
}

// until is the result of a look while no conductor covers the node.
func until(env *testsuite.TestWorkflowEnvironment, d time.Duration) orchestrator.WaitState {
	end := env.Now().Add(d)
	return orchestrator.WaitState{
		Blocked: node.BlockedNoConductor, Until: &end, WaitingFor: node.WaitsForConductor("g1", "redfish"),
		Group: "g1", Driver: "redfish", WaitForConductor: d,
	}
}

func TestAnOperationWaitsForAConductorBeforeItBegins(t *testing.T) {
	w := &outage{uncovered: true}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){done}
	w.readies = []orchestrator.WaitState{until(env, 15*time.Minute), {GoOn: true, Group: "g2", Driver: "fake-hardware"}}
	began := env.Now()
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(workflows.ProgressQuery)
		require.NoError(t, err)
		var p workflows.Progress
		require.NoError(t, v.Get(&p))
		require.Equal(t, `a conductor with driver redfish in conductor group "g1"`, p.WaitingFor)
		require.NotNil(t, p.Until)
		env.SignalWorkflow(workflows.LookSignal, nil)
		env.SignalWorkflow(workflows.LookSignal, nil)
	}, 3*time.Minute)
	var queue string
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "RunSteps" {
			queue = info.TaskQueue
		}
	})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.InDelta(t, 3, env.Now().Sub(began).Minutes(), 0.1)
	require.Equal(t, 2, w.asked, "two words are one look")
	require.Equal(t, 1, w.ran)
	require.Equal(t, []int64{1, 2, 3}, w.seqs, "looking takes the claim too")
	require.Equal(t, node.QueueName("g2", "fake-hardware"), queue, "where somebody has moved the node meanwhile")
}

func TestStepsThatNobodyTakesGoOnWhenAConductorReturns(t *testing.T) {
	w := &outage{}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){untaken, done}
	w.readies = []orchestrator.WaitState{until(env, 15*time.Minute), {GoOn: true}}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.LookSignal, nil) }, 4*time.Minute)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.ran)
	require.Equal(t, []orchestrator.EndInput{{Operation: 7, Outcome: node.Succeeded}}, w.closed)
}

func TestALongQueueIsStoodIn(t *testing.T) {
	w := &outage{readies: []orchestrator.WaitState{{GoOn: true}}}
	env := w.env(t)
	for range 30 { // each wait is twice as long as the one before, up to ten minutes
		w.runs = append(w.runs, untaken)
	}
	w.runs = append(w.runs, done)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 31, w.ran)
	require.Zero(t, w.timers, "nothing is waited for but the queue")
}

func TestPastTheWaitForAConductorTheOperationFailsAndOwes(t *testing.T) {
	for name, patience := range map[string]time.Duration{"in time": 20 * time.Minute, "at once": 0} {
		t.Run(name, func(t *testing.T) {
			w := &outage{}
			env := w.env(t)
			w.runs = []func() (conductor.StepsResult, error){untaken}
			w.undo = orchestrator.UndoPlan{Needed: true}
			seen := until(env, patience)
			seen.GiveUp = patience == 0
			w.readies = []orchestrator.WaitState{seen}
			began := env.Now()
			env.ExecuteWorkflow(workflows.Operate, input)
			require.ErrorContains(t, env.GetWorkflowError(), `no conductor with driver redfish in conductor group "g1"`)
			require.InDelta(t, patience.Minutes(), env.Now().Sub(began).Minutes(), 0.1)
			require.Zero(t, w.undone, "nobody could")
			require.Equal(t, node.Failed, w.closed[0].Outcome)
			require.Contains(t, w.closed[0].Error, "still to be undone")
		})
	}
}

func TestTheTimeForTheAgentStandsStillWhileNobodyCoversTheNode(t *testing.T) {
	w := &outage{}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 5*time.Minute)}
	w.undo = orchestrator.UndoPlan{}
	outage, rest := until(env, 50*time.Minute), env.Now().Add(42*time.Minute)
	w.waitStates = []orchestrator.WaitState{outage, outage, outage, outage, {Until: &rest, WaitingFor: "the agent"}}
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.ErrorContains(t, env.GetWorkflowError(), "Timeout reached while waiting for callback")
	require.InDelta(t, 50, env.Now().Sub(began).Minutes(), 0.2, "it has read four times, and what was left is over")
}

func TestAPausedOperationWaitsAndGoesOn(t *testing.T) {
	paused := orchestrator.WaitState{Blocked: node.BlockedMaintenance, WaitingFor: node.PausedForMaintenance}
	w := &outage{readies: []orchestrator.WaitState{paused, {GoOn: true}}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){
		func() (conductor.StepsResult, error) { return conductor.StepsResult{Next: conductor.NextReady}, nil }, done,
	}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.LookSignal, nil) }, 5*time.Minute)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.ran)
}

func TestAPausedOperationThatLostItsConductorLeavesTheHardwareAlone(t *testing.T) {
	orphaned := func() (conductor.StepsResult, error) {
		return conductor.StepsResult{Next: conductor.NextOrphaned}, nil
	}
	paused := func() (conductor.StepsResult, error) { return conductor.StepsResult{Next: conductor.NextReady}, nil }
	for name, w := range map[string]*outage{
		"while it waits":           {world: world{runs: []func() (conductor.StepsResult, error){paused}}, readies: []orchestrator.WaitState{{Orphaned: true}}},
		"in the middle of a step":  {world: world{runs: []func() (conductor.StepsResult, error){orphaned}}},
		"while the agent is awake": {world: world{waitStates: []orchestrator.WaitState{{Orphaned: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			w.undo = orchestrator.UndoPlan{Needed: true, Covered: true}
			env := w.env(t)
			if len(w.runs) == 0 {
				w.runs = []func() (conductor.StepsResult, error){waitUntil(env, time.Hour)}
			}
			env.ExecuteWorkflow(workflows.Operate, input)
			require.ErrorContains(t, env.GetWorkflowError(), "was put into maintenance in the middle of the deploy")
			require.Zero(t, w.undone)
			require.Equal(t, node.Failed, w.closed[0].Outcome)
			require.Contains(t, w.closed[0].Error, "still to be undone: the node is in maintenance")
		})
	}
}

func TestAStepThatFailsWhileItsOperationIsPausedLeavesTheHardwareAlone(t *testing.T) {
	w := &outage{}
	w.undo = orchestrator.UndoPlan{Needed: true, Covered: true, Paused: true}
	w.runs = []func() (conductor.StepsResult, error){func() (conductor.StepsResult, error) {
		return conductor.StepsResult{}, temporal.NewNonRetryableApplicationError("the disk is broken", "refused", nil)
	}}
	env := w.env(t)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.ErrorContains(t, env.GetWorkflowError(), "the disk is broken")
	require.Zero(t, w.undone)
	require.Equal(t, node.Failed, w.closed[0].Outcome)
	require.Equal(t, "the disk is broken; what it left is still to be undone: the node is in maintenance", w.closed[0].Error)
}

// Counts the events in Temporal of six hours of waiting. A look has two events of its timer,
// three of a workflow task, and the look's marker. A change of the search attributes is one
// more.
func TestAWaitOfSixHoursIsCheap(t *testing.T) {
	const perLook, fewerThan = 2 + 3 + 1, 200
	w := &outage{}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 6*time.Hour)}
	end := env.Now().Add(6 * time.Hour)
	w.waitStates = []orchestrator.WaitState{{WaitingFor: "the agent", Until: &end}}
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Error(t, env.GetWorkflowError())
	require.Less(t, w.timers*perLook, fewerThan)
	require.Greater(t, w.timers, 10, "a lost signal costs minutes")
}

func TestAnOperationThatWasClosedFromOutsideEndsQuietly(t *testing.T) {
	w := &outage{}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, time.Hour)}
	w.waitStates = []orchestrator.WaitState{{}}
	env.RegisterActivityWithOptions(func(context.Context, int64, node.Outcome, node.Failure) (orchestrator.UndoPlan, error) {
		return orchestrator.UndoPlan{}, temporal.NewNonRetryableApplicationError("ended", "lost", nil)
	}, activity.RegisterOptions{Name: "PlanUndo", DisableAlreadyRegisteredCheck: true})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Error(t, env.GetWorkflowError())
	require.Empty(t, w.closed, "nothing is written")
	require.Zero(t, w.undone)
}

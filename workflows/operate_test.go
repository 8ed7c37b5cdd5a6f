package workflows_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// world stands for the database and the conductors of one node: its activities return the
// results that a test has set, and record what was done.
type world struct {
	mu         sync.Mutex
	runs       []func() (conductor.StepsResult, error) // the results of runs of steps, in turn
	waitStates []orchestrator.WaitState                // what it reads while it waits, in turn; the last one is repeated
	undo       orchestrator.UndoPlan
	undoErr    error
	undos      []func() (conductor.UndoResult, error) // the results of undos, in turn; then undoErr
	hosts      []node.Host                            // the conductors that cover the node
	follow     int64

	ran, looked, undone int
	seqs                []int64
	queues              []string   // of each activity on hardware
	tried               [][]string // likewise
	closed              []orchestrator.EndInput
	started             []int64
}

func (w *world) begin(context.Context, int64) (orchestrator.WorkflowSettings, error) {
	return orchestrator.WorkflowSettings{Driver: "redfish", HeartbeatTimeout: 5 * time.Second, ConductorTimeout: 15 * time.Second, WaitForConductor: 15 * time.Minute, StepsTimeout: 24 * time.Hour}, nil
}

func (w *world) runSteps(ctx context.Context, in conductor.StepsInput) (conductor.StepsResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried = append(w.tried, in.Tried)
	w.queues = append(w.queues, activity.GetInfo(ctx).TaskQueue)
	w.seqs = append(w.seqs, in.Seq)
	w.ran++
	return w.runs[w.ran-1]()
}

func (w *world) look(context.Context, int64) (orchestrator.WaitState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.waitStates[min(w.looked, len(w.waitStates)-1)]
	w.looked++
	return s, nil
}

func (w *world) planUndo(context.Context, int64, node.Outcome, node.Failure) (orchestrator.UndoPlan, error) {
	return w.undo, nil
}

func (w *world) runUndo(ctx context.Context, in conductor.UndoInput) (conductor.UndoResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seqs = append(w.seqs, in.Seq)
	w.tried = append(w.tried, in.Tried)
	w.queues = append(w.queues, activity.GetInfo(ctx).TaskQueue)
	w.undone++
	if len(w.undos) >= w.undone {
		return w.undos[w.undone-1]()
	}
	return conductor.UndoResult{}, w.undoErr
}

func (w *world) elsewhere(_ context.Context, _ int64, tried []string) (node.Host, error) {
	for _, h := range w.hosts {
		if !slices.Contains(tried, h.Name) {
			return h, nil
		}
	}
	return node.Host{}, nil
}

func (w *world) end(_ context.Context, in orchestrator.EndInput) (orchestrator.Closed, error) {
	w.closed = append(w.closed, in)
	return orchestrator.Closed{FollowUp: w.follow}, nil
}

func (w *world) start(_ context.Context, id int64) error {
	w.started = append(w.started, id)
	return nil
}

func (w *world) env(t *testing.T) *testsuite.TestWorkflowEnvironment {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestWorkflowEnvironment()
	env.SetTestTimeout(30 * time.Second)
	for name, f := range map[string]any{
		"Begin": w.begin, "RunSteps": w.runSteps, "Look": w.look, "PlanUndo": w.planUndo,
		"Undo": w.runUndo, "Close": w.end, "StartOperation": w.start, "Elsewhere": w.elsewhere,
	} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	t.Cleanup(func() { env.AssertExpectations(t) })
	return env
}

func done() (conductor.StepsResult, error) {
	return conductor.StepsResult{Next: conductor.NextClose, Conductor: "c1", Steps: []activities.StepLine{{Name: "deploy.deploy", State: node.StepDone}}}, nil
}

// waitUntil is a run of steps that ends with a wait for the agent.
func waitUntil(env *testsuite.TestWorkflowEnvironment, d time.Duration) func() (conductor.StepsResult, error) {
	return func() (conductor.StepsResult, error) {
		until := env.Now().Add(d)
		return conductor.StepsResult{Next: conductor.NextAgent, Until: &until, Conductor: "c1"}, nil
	}
}

func fails(kind fault.Kind, words string) func() (conductor.StepsResult, error) {
	return func() (conductor.StepsResult, error) {
		return conductor.StepsResult{}, temporal.NewNonRetryableApplicationError(words, kind.String(), nil)
	}
}

var input = workflows.Input{Operation: 7, Node: "11111111-1111-1111-1111-111111111111", NodeName: "n1", Kind: node.KindDeploy}

func TestAnOperationWithoutWaitsIsOneRunOfSteps(t *testing.T) {
	w := &world{runs: []func() (conductor.StepsResult, error){done}}
	env := w.env(t)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []orchestrator.EndInput{{Operation: 7, Outcome: node.Succeeded}}, w.closed)
	require.Equal(t, 1, w.ran)
	require.Zero(t, w.undone, "success leaves nothing to undo")
}

func TestAnAgentThatCalledBackBeforeTheWaitIsNotWaitedFor(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{GoOn: true}}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 30*time.Minute), done}
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int64{1, 2}, w.seqs, "every activity on hardware takes a newer claim")
	require.Less(t, env.Now().Sub(began), time.Minute)
}

func TestAnAgentsCallEndsTheWait(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{WaitingFor: "the agent"}, {GoOn: true}}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 30*time.Minute), done}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.LookSignal, nil) }, 3*time.Minute)
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.InDelta(t, 3, env.Now().Sub(began).Minutes(), 0.1)
}

// A server that shows no sign of its boot is looked at in time, by a conductor.
func TestABootIsLookedAtWhenItIsDue(t *testing.T) {
	w := &world{}
	env := w.env(t)
	at := env.Now().Add(4 * time.Minute)
	w.waitStates = []orchestrator.WaitState{{LookAt: &at}, {GoOn: true}}
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 30*time.Minute), done}
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.InDelta(t, 4, env.Now().Sub(began).Minutes(), 0.1)
	require.Equal(t, 2, w.ran)
}

func TestAnAgentThatNeverCallsFailsWithWhatIsKnownOfIt(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{Overdue: &node.Failure{Cause: fault.AgentTokenTaken, Error: "another machine has the token"}}}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 5*time.Minute)}
	env.ExecuteWorkflow(workflows.Operate, input)
	require.ErrorContains(t, env.GetWorkflowError(), "another machine has the token")
	require.Equal(t, fault.AgentTokenTaken, w.closed[0].Cause)
}

func TestALostSignalCostsMinutesNotTheOperation(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{}, {GoOn: true}}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 30*time.Minute), done}
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.InDelta(t, 10, env.Now().Sub(began).Minutes(), 0.1)
}

func TestAnAgentThatNeverCallsFailsTheOperationInTime(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{}}, undo: orchestrator.UndoPlan{Needed: true, Covered: true}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 25*time.Minute)}
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.ErrorContains(t, env.GetWorkflowError(), "Timeout reached while waiting for callback for node "+input.Node)
	require.InDelta(t, 25, env.Now().Sub(began).Minutes(), 0.1)
	require.Equal(t, 1, w.undone)
	require.Equal(t, node.Failed, w.closed[0].Outcome)
	require.Contains(t, w.closed[0].Error, "Timeout reached")
}

func TestCancelWhileWaitingUndoesAndCloses(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{}}, undo: orchestrator.UndoPlan{Needed: true, Covered: true}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 30*time.Minute)}
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
	require.Equal(t, 1, w.undone)
	require.Equal(t, []orchestrator.EndInput{{Operation: 7, Outcome: node.Cancelled}}, w.closed)
	require.Equal(t, []int64{1, 2}, w.seqs, "undo takes a newer claim than the steps had")
}

func TestACancelBeforeTheBeginningClosesAllTheSame(t *testing.T) {
	w := &world{undo: orchestrator.UndoPlan{}}
	env := w.env(t)
	env.RegisterDelayedCallback(env.CancelWorkflow, 0)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
	require.Zero(t, w.ran)
	require.Equal(t, []orchestrator.EndInput{{Operation: 7, Outcome: node.Cancelled}}, w.closed)
}

func TestAnAskThatWasNeverSignalledEndsTheWait(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{EndAsked: true}}, undo: orchestrator.UndoPlan{Needed: true, Covered: true}, follow: 8}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 30*time.Minute)}
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Equal(t, node.Cancelled, w.closed[0].Outcome)
	require.Equal(t, []int64{8}, w.started, "what was asked to follow is started")
}

func TestAFailedStepUndoesAndKeepsItsWords(t *testing.T) {
	w := &world{
		runs: []func() (conductor.StepsResult, error){fails(fault.Refused, "image is larger than the disk")},
		undo: orchestrator.UndoPlan{Needed: true, Covered: true},
	}
	env := w.env(t)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.ErrorContains(t, env.GetWorkflowError(), "image is larger than the disk")
	require.Equal(t, []orchestrator.EndInput{{Operation: 7, Outcome: node.Failed, Error: "image is larger than the disk", Cause: fault.RequestRefused}}, w.closed)
	require.Equal(t, 1, w.undone)
}

func TestAnUndoThatFailsChangesNoEndState(t *testing.T) {
	w := &world{
		runs:    []func() (conductor.StepsResult, error){fails(fault.Refused, "no")},
		undo:    orchestrator.UndoPlan{Needed: true, Covered: true},
		undoErr: temporal.NewNonRetryableApplicationError("the BMC refuses to power off", "refused", nil),
	}
	env := w.env(t)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Equal(t, "no; what it left is still to be undone: the BMC refuses to power off", w.closed[0].Error)
	require.Equal(t, node.Failed, w.closed[0].Outcome)
}

// A BMC that takes the password neither for the work nor for its undo has one trouble, although the words differ.
func TestAnUndoThatFailsOfTheSameCauseTellsItOnce(t *testing.T) {
	refused := func(cause fault.Code, words string) error {
		return temporal.NewNonRetryableApplicationError(words, fault.Denied.String(), nil, activities.Details{Cause: cause})
	}
	for cause, want := range map[fault.Code]string{
		fault.BMCWrongPassword: "401; read power" + node.UndoLeft + node.SameReason,
		fault.BMCRefuses:       "401; read power" + node.UndoLeft + "401; this login is not tried again; eject",
	} {
		w := &world{
			runs: []func() (conductor.StepsResult, error){func() (conductor.StepsResult, error) {
				return conductor.StepsResult{}, refused(cause, "401; read power")
			}},
			undo:    orchestrator.UndoPlan{Needed: true, Covered: true},
			undoErr: refused(cause, "401; this login is not tried again; eject"),
		}
		w.env(t).ExecuteWorkflow(workflows.Operate, input)
		require.Equal(t, want, w.closed[0].Error)
	}
}

func TestTheTimeOfAnUndoStandsStillWhileTheWorkflowIsPaused(t *testing.T) {
	for name, c := range map[string]struct {
		heard time.Duration // after this time the workflow learns that the undo has timed out
		tries int
		owed  string
	}{
		"a workflow that runs hears of it at once": {3 * time.Minute, 1, "; what it left is still to be undone: "},
		"one that was paused hears of it later":    {time.Hour, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				runs: []func() (conductor.StepsResult, error){fails(fault.Refused, "no")},
				undo: orchestrator.UndoPlan{Needed: true, Covered: true},
			}
			env := w.env(t)
			tries := 0
			env.OnActivity("Undo", mock.Anything, mock.Anything).Once().After(c.heard).Return(
				func(context.Context, conductor.UndoInput) (conductor.UndoResult, error) {
					tries++
					return conductor.UndoResult{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil)
				})
			env.OnActivity("Undo", mock.Anything, mock.Anything).Maybe().Return(
				func(context.Context, conductor.UndoInput) (conductor.UndoResult, error) {
					tries++
					return conductor.UndoResult{}, nil
				})
			env.ExecuteWorkflow(workflows.Operate, input)
			require.Equal(t, c.tries, tries)
			require.Len(t, w.closed, 1)
			require.Equal(t, c.owed == "", w.closed[0].Error == "no", w.closed[0].Error)
			require.Contains(t, w.closed[0].Error, c.owed)
		})
	}
}

func TestAnUndoThatMaintenanceOvertakesIsOwed(t *testing.T) {
	w := &world{
		runs:  []func() (conductor.StepsResult, error){fails(fault.Refused, "no")},
		undo:  orchestrator.UndoPlan{Needed: true, Covered: true},
		undos: []func() (conductor.UndoResult, error){func() (conductor.UndoResult, error) { return conductor.UndoResult{Paused: true}, nil }},
	}
	env := w.env(t)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Equal(t, 1, w.undone)
	require.Equal(t, "no; what it left is still to be undone: the node is in maintenance", w.closed[0].Error)
}

func TestWithoutAConductorAnUndoIsOwedAndTheEndDoesNotWait(t *testing.T) {
	w := &world{
		runs: []func() (conductor.StepsResult, error){fails(fault.Refused, "no")},
		undo: orchestrator.UndoPlan{Needed: true, Covered: false},
	}
	env := w.env(t)
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Zero(t, w.undone)
	require.Len(t, w.closed, 1)
	require.Equal(t, "no; what it left is still to be undone: no conductor with driver redfish in the default conductor group is alive", w.closed[0].Error)
	require.Less(t, env.Now().Sub(began), time.Minute)
}

func TestALostClaimTouchesNothingMore(t *testing.T) {
	w := &world{runs: []func() (conductor.StepsResult, error){fails(fault.Lost, "operation 7 has ended")}, undo: orchestrator.UndoPlan{Needed: true, Covered: true}}
	env := w.env(t)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Error(t, env.GetWorkflowError())
	require.Empty(t, w.closed)
	require.Zero(t, w.undone)
}

func TestProgressCanBeAskedFor(t *testing.T) {
	w := &world{waitStates: []orchestrator.WaitState{{WaitingFor: "the agent's call"}, {GoOn: true}}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){waitUntil(env, 30*time.Minute), done}
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(workflows.ProgressQuery)
		require.NoError(t, err)
		var p workflows.Progress
		require.NoError(t, v.Get(&p))
		require.Equal(t, "the agent's call", p.WaitingFor)
		require.Equal(t, "c1", p.Conductor)
		env.SignalWorkflow(workflows.LookSignal, nil)
	}, time.Minute)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
}

func TestADatabaseThatIsAwayIsWaitedFor(t *testing.T) {
	w := &world{runs: []func() (conductor.StepsResult, error){done}}
	env := w.env(t)
	tries := 0
	env.RegisterActivityWithOptions(func(context.Context, orchestrator.EndInput) (orchestrator.Closed, error) {
		tries++
		if tries < 40 { // at one try a minute longer than the time-out of one try
			return orchestrator.Closed{}, errors.New("connection refused")
		}
		return orchestrator.Closed{}, nil
	}, activity.RegisterOptions{Name: "Close", DisableAlreadyRegisteredCheck: true})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 40, tries)
}

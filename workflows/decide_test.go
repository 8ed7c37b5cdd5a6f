package workflows_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// judged is a world whose operation holds for a decision.
type judged struct {
	world
	fails      bool // it was not asked to hold
	noSkip     string
	holds      []orchestrator.HoldInput
	holdStates []orchestrator.HoldState // what it reads while it holds, in turn; the last one is repeated
	heldLooks  int
	decided    []orchestrator.DecideInput
	decideErr  error
}

func (j *judged) brief(context.Context, int64) (orchestrator.WorkflowSettings, error) {
	b, err := j.begin(context.Background(), 7)
	b.Hold, b.DecisionWait = !j.fails, 2*time.Hour
	return b, err
}

func (j *judged) env(t *testing.T) *testsuite.TestWorkflowEnvironment {
	env := j.world.env(t)
	for name, f := range map[string]any{
		"Begin": j.brief,
		"Hold": func(_ context.Context, in orchestrator.HoldInput) (orchestrator.Held, error) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.holds, j.seqs = append(j.holds, in), append(j.seqs, in.Seq)
			step := activities.StepLine{Name: "deploy.write_image", State: node.StepFailed, Attempts: 1, LastError: in.Error}
			return orchestrator.Held{
				Until: env.Now().Add(in.Wait), WaitingFor: "a decision", Step: step.Name, NoSkip: j.noSkip, Steps: []activities.StepLine{step},
			}, nil
		},
		"LookHeld": func(context.Context, int64) (orchestrator.HoldState, error) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.heldLooks++
			if len(j.holdStates) == 0 {
				return orchestrator.HoldState{}, nil
			}
			return j.holdStates[min(j.heldLooks, len(j.holdStates))-1], nil
		},
		"Decide": func(_ context.Context, in orchestrator.DecideInput) error {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.decided, j.seqs = append(j.decided, in), append(j.seqs, in.Seq)
			return j.decideErr
		},
	} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
	}
	return env
}

// answer is the result of an update.
type answer struct {
	rejected, failed error
	completed        bool
}

func (a *answer) Accept()          {}
func (a *answer) Reject(err error) { a.rejected = err }
func (a *answer) Complete(_ any, err error) {
	a.completed, a.failed = true, err
}

var decisions atomic.Int64 // each update has an id of its own

func decide(env *testsuite.TestWorkflowEnvironment, after time.Duration, d workflows.Decision) *answer {
	a := &answer{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(workflows.DecideUpdate, workflows.DecisionID(int(decisions.Add(1)), d.Action), a, d)
	}, after)
	return a
}

func typeOf(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type()
	}
	return ""
}

func TestAStepThatFailedIsRunAgainWhenSomebodyDecidesSo(t *testing.T) {
	j := &judged{}
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Refused, "no disk"), done}
	a := decide(env, time.Hour, workflows.Decision{Action: node.ActionRetry, By: "ann", Reason: "disk replaced"})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.True(t, a.completed)
	require.NoError(t, a.failed)
	require.Equal(t, "no disk", j.holds[0].Error)
	require.Equal(t, []orchestrator.DecideInput{{Operation: 7, Seq: 3, Action: node.ActionRetry, By: "ann", Reason: "disk replaced"}}, j.decided)
	require.Equal(t, []int64{1, 2, 3, 4}, j.seqs, "steps, hold, decision and steps each have a newer claim")
	require.Equal(t, node.Succeeded, j.closed[0].Outcome)
	require.Zero(t, j.undone, "nothing is undone while it holds")
}

func TestADecisionToSkipGoesOnAndOneToAbortUndoes(t *testing.T) {
	for action, outcome := range map[node.Action]node.Outcome{node.ActionSkip: node.Succeeded, node.ActionAbort: node.Cancelled} {
		t.Run(string(action), func(t *testing.T) {
			j := &judged{}
			j.undo = orchestrator.UndoPlan{Needed: true, Covered: true}
			env := j.env(t)
			j.runs = []func() (conductor.StepsResult, error){fails(fault.Unreachable, "no answer"), done}
			decide(env, time.Minute, workflows.Decision{Action: action})
			env.ExecuteWorkflow(workflows.Operate, input)
			require.Equal(t, outcome, j.closed[0].Outcome)
			require.Equal(t, "somebody in Temporal", j.decided[0].By)
			require.Equal(t, outcome == node.Cancelled, j.undone == 1)
		})
	}
}

func TestADecisionIsRefusedThatNobodyAskedForOrThatComesTwice(t *testing.T) {
	j := &judged{noSkip: "nothing would be deployed without it"}
	env := j.env(t)
	j.waitStates = []orchestrator.WaitState{{}, {GoOn: true}}
	j.runs = []func() (conductor.StepsResult, error){waitUntil(env, 30*time.Minute), fails(fault.Refused, "no disk"), done}
	early := decide(env, time.Minute, workflows.Decision{Action: node.ActionRetry})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.LookSignal, nil) }, 2*time.Minute)
	wrong := decide(env, 5*time.Minute, workflows.Decision{Action: "wait"})
	skip := decide(env, 6*time.Minute, workflows.Decision{Action: node.ActionSkip})
	first := decide(env, 7*time.Minute, workflows.Decision{Action: node.ActionRetry})
	second := decide(env, 7*time.Minute, workflows.Decision{Action: node.ActionAbort})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, "conflict", typeOf(early.rejected), "%v", early.rejected)
	require.Equal(t, "invalid", typeOf(wrong.rejected))
	require.Equal(t, "not allowed", typeOf(skip.rejected))
	require.ErrorContains(t, skip.rejected, "Step deploy.write_image can not be skipped: nothing would be deployed without it.")
	require.True(t, first.completed)
	require.Equal(t, "conflict", typeOf(second.rejected))
	require.Len(t, j.decided, 1)
}

func TestWithoutADecisionTheOperationFailsInTime(t *testing.T) {
	j := &judged{}
	j.undo = orchestrator.UndoPlan{Needed: true, Covered: true}
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Denied, "wrong password")}
	late := decide(env, 3*time.Hour, workflows.Decision{Action: node.ActionRetry})
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Error(t, env.GetWorkflowError())
	require.InDelta(t, 2, env.Now().Sub(began).Hours(), 0.1)
	require.Equal(t, []orchestrator.EndInput{{Operation: 7, Outcome: node.Failed, Error: "wrong password; nobody decided within 2h", Cause: fault.CredentialsDenied}}, j.closed)
	require.Equal(t, 1, j.undone)
	require.Empty(t, j.decided)
	require.False(t, late.completed)
}

func TestWhatCanNotBeHelpedIsNotHeld(t *testing.T) {
	for name, fail := range map[string]func() (conductor.StepsResult, error){
		"what the table does not allow": fails(fault.NotAllowed, "not in this state"),
		"no conductor":                  fails(fault.NoValidHost, "no conductor"),
	} {
		t.Run(name, func(t *testing.T) {
			j := &judged{}
			env := j.env(t)
			j.runs = []func() (conductor.StepsResult, error){fail}
			env.ExecuteWorkflow(workflows.Operate, input)
			require.Empty(t, j.holds)
			require.Equal(t, node.Failed, j.closed[0].Outcome)
		})
	}
}

func TestAnAgentThatDoesNotCallIsBootedAgainWhenSomebodyDecidesSo(t *testing.T) {
	j := &judged{}
	j.waitStates = []orchestrator.WaitState{{}}
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){waitUntil(env, 5*time.Minute), done}
	decide(env, time.Hour, workflows.Decision{Action: node.ActionRetry})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.True(t, j.holds[0].Restart)
	require.Contains(t, j.holds[0].Error, "Timeout reached while waiting for callback")
}

func TestIronicsUnholdIsADecisionToRetry(t *testing.T) {
	j := &judged{holdStates: []orchestrator.HoldState{{}, {Unhold: true, By: "bob"}, {}}}
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Refused, "no disk"), done}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.LookSignal, nil) }, time.Minute)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []orchestrator.DecideInput{{Operation: 7, Seq: 3, Action: node.ActionRetry, By: "bob", Reason: "unhold"}}, j.decided)
}

func TestAHeldOperationEndsWhenItIsCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		waitStates []orchestrator.HoldState
		how        func(*testsuite.TestWorkflowEnvironment)
	}{
		"in Temporal": {nil, func(env *testsuite.TestWorkflowEnvironment) { env.CancelWorkflow() }},
		"in the row": {[]orchestrator.HoldState{{}, {EndAsked: true}}, func(env *testsuite.TestWorkflowEnvironment) {
			env.SignalWorkflow(workflows.LookSignal, nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judged{holdStates: c.waitStates}
			env := j.env(t)
			j.runs = []func() (conductor.StepsResult, error){fails(fault.Refused, "no disk")}
			env.RegisterDelayedCallback(func() { c.how(env) }, time.Minute)
			env.ExecuteWorkflow(workflows.Operate, input)
			require.Equal(t, node.Cancelled, j.closed[0].Outcome)
		})
	}
}

func TestAPowerRequestRunsWhileItHoldsAndItHoldsAgain(t *testing.T) {
	j := &judged{holdStates: []orchestrator.HoldState{{Power: true}, {}}}
	env := j.env(t)
	still := func() (conductor.StepsResult, error) {
		return conductor.StepsResult{Next: conductor.NextFailed, Error: "no disk"}, nil
	}
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Refused, "no disk"), still, done}
	decide(env, time.Hour, workflows.Decision{Action: node.ActionRetry})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, j.holds, 2)
	require.Equal(t, "no disk", j.holds[1].Error)
}

func TestADecisionThatTheRowRefusesIsAnswered(t *testing.T) {
	j := &judged{decideErr: temporal.NewNonRetryableApplicationError("Operation 7 is asked to end already, by ann.", "conflict", nil)}
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Refused, "no disk")}
	a := decide(env, time.Minute, workflows.Decision{Action: node.ActionRetry})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.True(t, a.completed)
	require.ErrorContains(t, a.failed, "asked to end already")
	require.Equal(t, node.Cancelled, j.closed[0].Outcome)
}

func TestTheTimeForADecisionStandsStillInMaintenance(t *testing.T) {
	j := &judged{}
	j.undo = orchestrator.UndoPlan{Needed: true, Covered: true}
	for range 13 { // a look every ten minutes
		j.holdStates = append(j.holdStates, orchestrator.HoldState{Paused: true})
	}
	j.holdStates = append(j.holdStates, orchestrator.HoldState{})
	env := j.env(t)
	var stood []orchestrator.StillInput
	env.RegisterActivityWithOptions(func(_ context.Context, in orchestrator.StillInput) (string, error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		stood = append(stood, in)
		return "a decision", nil
	}, activity.RegisterOptions{Name: "StandStill", DisableAlreadyRegisteredCheck: true})
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Denied, "wrong password")}
	began := env.Now()
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Error(t, env.GetWorkflowError())
	require.InDelta(t, (2*time.Hour + 130*time.Minute).Minutes(), env.Now().Sub(began).Minutes(), 6)
	require.Len(t, stood, 2)
	require.Nil(t, stood[0].Until)
	require.WithinDuration(t, env.Now(), *stood[1].Until, time.Minute)
}

func TestADecisionThatIsTooLongIsRefused(t *testing.T) {
	j := &judged{}
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Refused, "no disk"), done}
	long := strings.Repeat("x", 5000)
	name := decide(env, time.Minute, workflows.Decision{Action: node.ActionRetry, By: long})
	reason := decide(env, time.Minute, workflows.Decision{Action: node.ActionRetry, Reason: long})
	action := decide(env, time.Minute, workflows.Decision{Action: node.Action(long)})
	decide(env, time.Hour, workflows.Decision{Action: node.ActionRetry})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	for _, a := range []*answer{name, reason, action} {
		require.Equal(t, fault.Invalid.String(), typeOf(a.rejected))
		require.Less(t, len(a.rejected.Error()), 300)
	}
	require.Len(t, j.decided, 1)
}

// Temporal's UI gives its updates other ids than the API.
func TestADecisionSaysWhetherItCameByTemporal(t *testing.T) {
	j := &judged{}
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Refused, "no disk"), done}
	a := &answer{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(workflows.DecideUpdate, "0f8fad5b-d9cb-469f-a165-70867728950e", a, workflows.Decision{Action: node.ActionRetry, By: "ann"})
	}, time.Hour)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.NoError(t, a.failed)
	require.Equal(t, []orchestrator.DecideInput{{Operation: 7, Seq: 3, Action: node.ActionRetry, By: "ann", InTemporal: true}}, j.decided)
}

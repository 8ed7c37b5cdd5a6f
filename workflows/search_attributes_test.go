package workflows_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// shown collects what a workflow sets as its search attributes.
type shown struct {
	mu   sync.Mutex
	sent []map[string]any // each upsert; the SDK leaves out what is unset by it
}

func (s *shown) watch(env *testsuite.TestWorkflowEnvironment) {
	env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
		s.mu.Lock()
		defer s.mu.Unlock()
		sent := map[string]any{}
		for key, value := range args.Get(0).(temporal.SearchAttributes).GetUntypedValues() {
			sent[key.GetName()] = value
		}
		s.sent = append(s.sent, sent)
	}).Return(nil)
}

// last returns the newest upsert, and how many there were.
func (s *shown) last() (map[string]any, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent) == 0 {
		return nil, 0
	}
	return s.sent[len(s.sent)-1], len(s.sent)
}

func TestAHeldOperationIsFoundByItsCauseUntilItGoesOn(t *testing.T) {
	j, s := &judged{}, &shown{}
	env := j.env(t)
	s.watch(env)
	var held, onAgain map[string]any
	var told string
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Denied, "wrong password"), func() (conductor.StepsResult, error) {
		onAgain, _ = s.last()
		told = details(t, env)
		return done()
	}}
	env.RegisterDelayedCallback(func() { held, _ = s.last() }, time.Minute)
	decide(env, time.Hour, workflows.Decision{Action: node.ActionRetry})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, string(fault.CredentialsDenied), held["TemperCause"])
	require.Equal(t, true, held["TemperHeld"])
	require.Equal(t, "a decision", held["TemperWaitingFor"])
	require.Equal(t, false, onAgain["TemperHeld"], "before any step has told that it runs")
	require.NotContains(t, onAgain, "TemperCause")
	require.NotContains(t, onAgain, "TemperWaitingFor")
	require.Contains(t, told, "**n1: operation 7 (deploy) is running**")
	require.NotContains(t, told, "Cause:")
	_, sent := s.last()
	require.Equal(t, 2, sent, "to hold and to go on; success sends none")
}

func TestAFailedOperationIsFoundByItsCauseWhileItUndoes(t *testing.T) {
	w, s := &world{}, &shown{}
	w.runs = []func() (conductor.StepsResult, error){fails(fault.Denied, "wrong password")}
	w.undo = orchestrator.UndoPlan{Needed: true, Covered: true, Steps: []activities.StepLine{
		{Name: "deploy.deploy", State: node.StepDone}, {Name: "deploy.write_image", State: node.StepFailed},
	}}
	var undoing map[string]any
	var told string
	env := w.env(t)
	w.undos = []func() (conductor.UndoResult, error){func() (conductor.UndoResult, error) {
		undoing, _ = s.last()
		told = details(t, env)
		return conductor.UndoResult{}, nil
	}}
	s.watch(env)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Error(t, env.GetWorkflowError())
	require.Equal(t, string(fault.CredentialsDenied), undoing["TemperCause"])
	require.Equal(t, "deploy.write_image", undoing["TemperStep"])
	require.Contains(t, told, `**n1: operation 7 (deploy) failed: wrong password; undoing**`)
	require.Contains(t, told, "- **Cause:** credentials\\_denied\n")
	_, sent := s.last()
	require.Equal(t, 1, sent, "nothing has changed since")
	require.Contains(t, details(t, env), "redfish_password=-", "the command that mends the cause")
}

func TestACancelledOperationIsFoundByWhoEndedIt(t *testing.T) {
	for _, cause := range []fault.Code{fault.CancelledByPerson, fault.AbortedByPerson} {
		w, s := &world{}, &shown{}
		w.undo = orchestrator.UndoPlan{Needed: true, Covered: true, Cause: cause}
		var told string
		env := w.env(t)
		w.undos = []func() (conductor.UndoResult, error){func() (conductor.UndoResult, error) {
			told = details(t, env)
			return conductor.UndoResult{}, nil
		}}
		s.watch(env)
		w.runs = []func() (conductor.StepsResult, error){func() (conductor.StepsResult, error) {
			return conductor.StepsResult{Next: conductor.NextAsked}, nil
		}}
		env.ExecuteWorkflow(workflows.Operate, input)
		ended, _ := s.last()
		require.Equal(t, string(cause), ended["TemperCause"])
		require.Contains(t, told, "**n1: operation 7 (deploy) is cancelling**", "not: failed")
		require.Contains(t, details(t, env), "**n1: operation 7 (deploy) was cancelled**")
	}
}

// A run that began with an older version sends what that version would have sent: one upsert for two holds that look the same.
func TestARunOfAnOlderVersionSendsNoMoreSearchAttributes(t *testing.T) {
	j := &judged{}
	env := j.env(t)
	env.OnGetVersion("search attributes of failures", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	sent := 0
	env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(mock.Arguments) { sent++ }).Return(nil)
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Denied, "wrong password"), fails(fault.Denied, "wrong password"), done}
	decide(env, time.Hour, workflows.Decision{Action: node.ActionRetry})
	decide(env, 2*time.Hour, workflows.Decision{Action: node.ActionRetry})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, sent)
}

package workflows_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
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
			return strings.Contains(told, "Runs step")
		}, 30*time.Second, time.Millisecond)
		done := lines(node.StepDone)
		return conductor.StepsResult{Next: conductor.NextClose, Conductor: "c1", Steps: done}, nil
	}}
	env.ExecuteWorkflow(workflows.Operate, workflows.Input{Operation: 1, Node: "n", Kind: node.KindDeploy})
	require.NoError(t, env.GetWorkflowError())
	require.Contains(t, early, "- **Who:** with the conductors of driver redfish since 20")
	require.NotContains(t, late, "zombie", "what another activity says")
	require.Contains(t, told, "**n: operation 1 (deploy) is running**")
	require.Contains(t, told, `- **Runs step:** deploy.write\_image, since 2026-11-22 23:59:00Z`)
	require.Contains(t, told, "- **Who:** on conductor c1\n")
	require.Contains(t, told, `| deploy.write\_image | running | 2026-11-22 23:59:00Z | 1 | c1 |`)
	require.Contains(t, told, "- `temper operation cancel 1` ends it; here: Request Cancellation\n")
	at := details(t, env)
	require.Contains(t, at, "**n: operation 1 (deploy) has succeeded**")
	require.Regexp(t, `- \*\*At:\*\* \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`, at)
	require.Contains(t, at, `| deploy.write\_image | done |`)
	require.NotContains(t, at, "operation cancel", "it has ended")
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
	require.Contains(t, waiting, "- **Waits for:** the agent's call\n")
	require.Contains(t, waiting, "- **At the latest:** 2036-11-22 23:31:30Z\n")
	require.NotContains(t, waiting, " ago", "it is read later")
}

// The undo does not wait for what the step waited for that failed.
func TestTheDetailsOfAnUndoDoNotTellTheWaitOfTheStep(t *testing.T) {
	until := time.Date(2036, 11, 22, 23, 31, 30, 0, time.UTC)
	w := &world{undo: orchestrator.UndoPlan{Needed: true, Covered: true}}
	env := w.env(t)
	w.runs = []func() (conductor.StepsResult, error){func() (conductor.StepsResult, error) {
		return conductor.StepsResult{Next: conductor.NextAgent, Until: &until, StepWait: &node.Wait{For: node.WaitCall, Subject: "deploy.iso", Since: until.Add(-time.Hour), Until: &until}}, nil
	}}
	w.waitStates = []orchestrator.WaitState{{WaitingFor: "the agent's call", Until: &until}, {EndAsked: true}}
	var undoing string
	w.undos = []func() (conductor.UndoResult, error){func() (conductor.UndoResult, error) {
		undoing = details(t, env)
		return conductor.UndoResult{}, nil
	}}
	env.ExecuteWorkflow(workflows.Operate, workflows.Input{Operation: 1, Node: "n", Kind: node.KindDeploy})
	require.Contains(t, undoing, "is cancelling")
	require.NotContains(t, undoing, "23:31:30", "until when the agent was awaited")
	require.NotContains(t, undoing, "deploy.iso")
}

// The time at which an operation fails that no conductor takes is not told as that of its next step.
func TestTheDetailsSayWhenAnOperationWithoutAConductorFails(t *testing.T) {
	until := time.Date(2036, 11, 23, 0, 31, 30, 0, time.UTC)
	w := &world{
		runs: []func() (conductor.StepsResult, error){
			func() (conductor.StepsResult, error) { return conductor.StepsResult{Next: conductor.NextAgent}, nil },
			func() (conductor.StepsResult, error) { return conductor.StepsResult{Next: conductor.NextClose}, nil },
		},
		waitStates: []orchestrator.WaitState{{WaitingFor: "a conductor", Until: &until, Blocked: node.BlockedNoConductor}, {GoOn: true}},
	}
	env := w.env(t)
	var waiting string
	env.RegisterDelayedCallback(func() { waiting = details(t, env) }, time.Second)
	env.ExecuteWorkflow(workflows.Operate, workflows.Input{Operation: 1, Node: "n", Kind: node.KindDeploy})
	require.NoError(t, env.GetWorkflowError())
	require.Contains(t, waiting, "- **Waits for:** a conductor; it fails at 2036-11-23 00:31:30Z if none comes\n")
	require.Contains(t, waiting, ", as soon as such a conductor comes\n")
	require.NotContains(t, waiting, "At the latest")
}

// Hardware and strangers write errors and names. The UI formats the details as Markdown.
func TestTheDetailsFormatNothingThatOthersWrote(t *testing.T) {
	hostile := "![x](http://evil/y) <img src=z> | `a`\n# *b* _c_ & ~d~"
	w := &world{runs: []func() (conductor.StepsResult, error){fails(fault.Refused, hostile)}}
	env := w.env(t)
	env.ExecuteWorkflow(workflows.Operate, input)
	require.Error(t, env.GetWorkflowError())
	require.Contains(t, details(t, env),
		"- **Error:** \\!\\[x\\](http://evil/y) &lt;img src=z&gt; \\| \\`a\\` \\# \\*b\\* \\_c\\_ &amp; \\~d\\~\n")
	require.Contains(t, details(t, env), "- `temper operation retry 7` does the deploy again; here: Reset\n")
}

func TestTheDetailsSayHowToDecide(t *testing.T) {
	j := &judged{}
	env := j.env(t)
	j.runs = []func() (conductor.StepsResult, error){fails(fault.Refused, "no disk"), done}
	var held string
	env.RegisterDelayedCallback(func() {
		held = details(t, env)
	}, time.Minute)
	decide(env, time.Hour, workflows.Decision{Action: node.ActionRetry})
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.Contains(t, held, "**n1: operation 7 (deploy) is holding**")
	require.Contains(t, held, "no disk")
	require.Contains(t, held, "- `temper operation retry 7` runs the failed step again; here: Update `decide` with the input `{\"action\": \"retry\", \"reason\": \"WHY\"}`\n")
}

// Temporal's databases have 255 characters for a keyword, and take no zero byte. Temporal takes a longer one, and
// can't list the workflow then.
func TestAHostileSignalOfStepsDoesNotMakeAnAttributeThatTemporalCannotStore(t *testing.T) {
	w := &world{}
	env := w.env(t)
	var sent []string
	env.OnUpsertTypedSearchAttributes(mock.MatchedBy(func(a temporal.SearchAttributes) bool {
		if v, ok := a.GetKeyword(workflows.ConductorName); ok {
			sent = append(sent, v)
		}
		return true
	})).Return(nil)
	w.runs = []func() (conductor.StepsResult, error){func() (conductor.StepsResult, error) {
		env.SignalWorkflow(workflows.StepsSignal, "no update")
		env.SignalWorkflow(workflows.StepsSignal, conductor.StepsUpdate{
			Seq: w.seqs[0], Conductor: "c\x00" + strings.Repeat("é", 1000), Steps: []activities.StepLine{{Name: "no step", State: "no state"}},
		})
		require.Eventually(t, func() bool { return strings.Contains(details(t, env), "no step") }, 30*time.Second, time.Millisecond)
		return done()
	}}
	env.ExecuteWorkflow(workflows.Operate, input)
	require.NoError(t, env.GetWorkflowError())
	require.NotEmpty(t, sent)
	require.LessOrEqual(t, utf8.RuneCountInString(sent[0]), 255)
	require.Equal(t, "cé", sent[0][:3])
}

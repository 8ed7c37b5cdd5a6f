package explain_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/testenv"
)

// The words, with the commands, are in a test of package api.
func TestAnActionIsNamedOnce(t *testing.T) {
	known := slices.Collect(maps.Values(testenv.Constants(t, "../fault/do.go", "Do")))
	ended := &node.Operation{ID: 11, Kind: node.KindDeploy, Outcome: node.Failed}
	undo := &node.Operation{ID: 11, Kind: node.KindUndo, Outcome: node.Failed}
	for _, s := range node.States() {
		n := &node.Node{ProvisionState: s, LastError: "no disk", Owed: []node.Undo{node.UndoPowerOff}, Maintenance: s == node.Active}
		e := explain.Node(n, explain.Facts{Covered: s != node.CleanFailed, Previous: ended, Undo: undo})
		seen, retried := map[help.Action]bool{}, false
		for _, a := range e.Actions {
			require.False(t, seen[a], "%s: %v", s, a)
			require.Contains(t, known, string(a.Do))
			seen[a] = true
			a.Kind = "" // which of the two is retried depends on the state
			retried = retried || a == help.Action{Do: fault.RetryOperation, Operation: 11}
		}
		require.Equal(t, s != node.CleanFailed, retried, s)
		require.Contains(t, e.Actions, help.Action{Do: fault.WaiveUndo})
	}
}

func TestAStepThatTakesUnusuallyLongIsTrouble(t *testing.T) {
	now := time.Now()
	began, usually := now.Add(-11*time.Minute), now.Add(-time.Minute)
	usual := &node.Usual{MS: 240_000, Samples: 57, Basis: node.UsualOfImage}
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Running, AcceptedAt: began, UsualUntil: &usually, Steps: []node.Step{
		{Interface: "deploy", Step: node.StepWriteImage, State: node.StepRunning, Attempts: 1, StartedAt: &began, Usual: usual},
	}}
	const words = "step deploy.write_image runs for 11m; usually 95 % end within 4m (the latest 57 on servers like this one with this image)"
	f := explain.Facts{Now: now, Covered: true}
	e := explain.Node(&node.Node{Name: "n1", ProvisionState: node.Deploying, Operation: o}, f)
	require.Equal(t, words, e.Usual)
	require.Contains(t, e.Trouble, "It takes unusually long: "+words)
	require.Contains(t, e.Paragraph(nil), ". It takes unusually long: "+words+". ")
	require.NotContains(t, e.Paragraph(nil), ". Usually")

	later := now.Add(time.Hour)
	o.UsualUntil = &later
	e = explain.Node(&node.Node{Name: "n1", ProvisionState: node.Deploying, Operation: o}, f)
	require.NotContains(t, e.Trouble, "It takes unusually long: "+words)
	require.Contains(t, e.Paragraph(nil), ". Step deploy.write_image runs since ")
	require.Contains(t, e.Paragraph(nil), "; usually 95 % end within 4m (the latest 57 ", "the time is told once")

	o.Steps[0].Usual = &node.Usual{MS: 1500, Samples: 3, Basis: node.UsualOfStep}
	e = explain.Node(&node.Node{Name: "n1", ProvisionState: node.Deploying, Operation: o}, f)
	require.Equal(t, "step deploy.write_image runs for 11m; the longest of 3 on all servers took 1.5s", e.Usual)
}

// The error of a BMC that is silent is told once, as what the step waits for.
func TestSilenceIsToldOnce(t *testing.T) {
	now := time.Now()
	wait := node.SilentWait(now.Add(-time.Minute), "no answer in time", now.Add(time.Minute))
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Running, AcceptedAt: now, Driver: "redfish", StepWait: &wait, WaitingFor: "the BMC to answer again", Steps: []node.Step{
		{Interface: "deploy", Step: node.StepPrepare, State: node.StepRunning, Attempts: 2, StartedAt: &now, LastError: "no answer in time, and longer than what is kept"},
	}}
	n := &node.Node{Name: "n1", ProvisionState: node.Deploying, Operation: o, Silence: &node.BMCSilence{
		Since: now.Add(-time.Minute), AskedAt: now, AskedBy: "conductor-1", NextAt: now.Add(time.Second), Seen: "no answer in time",
	}}
	n.Silence.BMC = n.BMC()
	e := explain.Node(n, explain.Facts{Now: now, Covered: true})
	require.Equal(t, fault.BMCSilent, e.Cause)
	require.Equal(t, "deploying, operation 7 (deploy) waits for its BMC, which is silent", e.What)
	require.Equal(t, now.Add(-time.Minute), *e.Since)
	require.Equal(t, []help.Action{{Do: fault.ProbeBMC}, {Do: fault.CancelOperation, Operation: 7}, {Do: fault.WatchOperation, Operation: 7}}, e.Actions)
	words := e.Paragraph(nil)
	require.Equal(t, 1, strings.Count(words, "no answer in time"), words)
	require.Contains(t, words, "The BMC is silent; conductor-1 asked it last, at ")
	require.Contains(t, words, "What to do: Check the BMC's power, network and address")
}

func TestWhatComesNextIsNotTheStepThatRuns(t *testing.T) {
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Running, Steps: []node.Step{
		{Interface: "deploy", Step: node.StepPrepare, State: node.StepDone},
		{Interface: "deploy", Step: node.StepDeploy, State: node.StepRunning},
		{Interface: "deploy", Step: node.StepWriteImage},
	}}
	require.Equal(t, "step deploy.write_image", explain.Node(&node.Node{Operation: o}, explain.Facts{Covered: true, Now: time.Now()}).Next)
}

// What ends is so since it failed or since somebody asked for its end, not since its request.
func TestWhatEndsIsSoSinceThen(t *testing.T) {
	now := time.Now()
	accepted, failed, asked := now.Add(-time.Hour), now.Add(-time.Minute), now.Add(-time.Second)
	o := node.Operation{
		ID: 7, Kind: node.KindDeploy, Phase: node.Undoing, AcceptedAt: accepted, Cause: fault.BMCSilent, Error: "no answer",
		Steps: []node.Step{{Interface: "deploy", Step: node.StepWriteImage, State: node.StepFailed, EndedAt: &failed}},
	}
	n := node.Node{ProvisionState: node.Deploying, Operation: &o}
	require.Equal(t, &failed, explain.Node(&n, explain.Facts{Now: now, Covered: true}).Since)
	o.Cause, o.Error, o.Asked, o.AskedAt = "", "", node.AskCancel, &asked
	require.Equal(t, &asked, explain.Node(&n, explain.Facts{Now: now, Covered: true}).Since)
}

// It failed long after it was accepted: without the time of that, no time is told.
func TestOfAFailureWithoutATimeNoneIsTold(t *testing.T) {
	now := time.Now()
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Undoing, AcceptedAt: now.Add(-time.Hour), Cause: fault.NoConductor, Error: "no conductor came"}
	e := explain.Node(&node.Node{Name: "n1", ProvisionState: node.Deploying, Operation: o}, explain.Facts{Now: now, Covered: true})
	require.Nil(t, e.Since)
	require.Contains(t, e.Paragraph(nil), "failed: no conductor came; undoing. Next: it ends and can be retried.")
}

// While an undo of its own holds the node, people are told why the node failed and what they can do afterwards.
func TestAnUndoSaysWhatFailedBefore(t *testing.T) {
	now := time.Now()
	o := &node.Operation{ID: 8, Kind: node.KindUndo, Phase: node.Running, AcceptedAt: now}
	n := &node.Node{Name: "n1", ProvisionState: node.DeployFailed, LastError: "no answer in time.", Operation: o}
	f := explain.Facts{Now: now, Covered: true, Previous: &node.Operation{ID: 7, Kind: node.KindDeploy, Outcome: node.Failed}}
	e := explain.Node(n, f)
	words := e.Paragraph(nil)
	require.Contains(t, words, "Operation 7 (deploy) failed: no answer in time. ")
	require.Contains(t, words, "; then operation 7 (deploy) can be retried.")
	f.Previous.Outcome = node.Succeeded
	e = explain.Node(n, f)
	require.NotContains(t, e.Paragraph(nil), "operation 7")
}

func TestANodeWhoseAgentWorksDoesNotWaitForItsCall(t *testing.T) {
	now := time.Now()
	o := &node.Operation{
		ID: 7, Kind: node.KindDeploy, Phase: node.Running, AcceptedAt: now, StepWait: &node.Wait{For: node.WaitCommand, Since: now},
		Steps: []node.Step{{Interface: "deploy", Step: node.StepWriteImage, State: node.StepRunning, StartedAt: &now}},
	}
	e := explain.Node(&node.Node{Name: "n1", ProvisionState: node.DeployWait, Operation: o}, explain.Facts{Now: now, Covered: true})
	require.Equal(t, "wait call-back while its agent works, operation 7 (deploy) is running", e.What)
}

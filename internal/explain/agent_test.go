package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// works is a deploy whose step began at 03:04:05 and waits for w. failed of 5 attempts at the step have failed.
func works(step string, w node.Wait, failed int) (*node.Node, *node.Operation, time.Time) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	w.Since = at
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Running, AcceptedAt: at, BegunAt: &at, Conductor: "c1", StepWait: &w, Steps: []node.Step{{
		Interface: "deploy", Step: step, State: node.StepRunning, StartedAt: &at, Attempts: failed + 1, Failures: failed, Limit: 5, Issued: &node.Issued{At: at},
	}}}
	return &node.Node{UUID: "u", Name: "n1", Driver: "redfish", ProvisionState: node.DeployWait, Operation: o}, o, at
}

func alive(at time.Time) []coverage.Conductor {
	return []coverage.Conductor{{Hostname: "c1", Alive: true, HeartbeatAt: at}}
}

func TestASilentAgentIsToldWithItsAttemptsAndItsEnd(t *testing.T) {
	n, o, at := works(node.StepWriteImage, node.Wait{For: node.WaitCommand, Subject: "deploy.write_image"}, 2)
	called, until := at.Add(10*time.Second), at.Add(40*time.Second)
	o.StepWait.Saw("RUNNING", at.Add(15*time.Second))
	n.Agent = &node.Agent{LastHeartbeatAt: &called}
	now := at.Add(25 * time.Second)
	f := explain.Facts{Now: now, Covered: true, Fleet: alive(now)}
	answers := explain.Node(n, f)
	require.Equal(t, "step deploy.write_image: sent to the agent at 03:04:05Z; the agent says RUNNING, and not how much is done; "+
		"it has no time limit as long as the agent answers", answers.Story.Sentence)
	half := 0.5
	o.StepWait.Fraction, o.StepWait.Slow = &half, true
	require.Contains(t, explain.Node(n, f).Story.Sentence, "the agent has done 50 %; it has no time limit as long as the agent answers", "nor has one that is slow")
	o.StepWait.Slow = false
	require.NotContains(t, explain.Node(n, f).Story.Sentence, "limit", "its end can be seen")
	o.StepWait.Fraction = nil

	o.StepWait.Missed("no answer in time", at.Add(20*time.Second))
	o.StepWait.Until = &until
	e := explain.Node(n, f)
	require.Equal(t, "step deploy.write_image: sent to the agent at 03:04:05Z; at 03:04:20Z the agent said RUNNING; the agent has not answered since 03:04:25Z (no answer in time); "+
		"it called last at 03:04:15Z; gives up at 03:04:45Z at the latest; 2 of 5 attempts have failed, and after the last one the agent is booted again, and the step begins anew",
		e.Story.Sentence)
	require.Equal(t, fault.AgentSilent, e.Cause)
	words := e.Paragraph(nil)
	require.Contains(t, words, "What to do: "+fault.AgentSilent.Row().Advise)
	require.NotContains(t, words, "retry", "what goes on can't be retried")

	f.Now = at.Add(10 * time.Minute)
	require.Contains(t, explain.Node(n, f).Trouble, "It takes unusually long: the agent gives no answer since 2030-01-02 03:04:25Z (9m40s)")
	require.True(t, o.PastUsual(f.Now), "so that the fleet is told, too")
	back := *o
	wait := *o.StepWait
	back.StepWait = &wait
	wait.Saw("RUNNING", f.Now)
	require.False(t, back.PastUsual(f.Now))
	f.Now = now

	// The agent answers, but not the request that sends the command: its step does not begin anew.
	o.StepWait.Unanswered = true
	require.Contains(t, explain.Node(n, f).Story.Sentence, "2 of 5 attempts have failed, and after the last one the step fails")
	o.Steps[0].Failures = 0
	require.Contains(t, explain.Node(n, f).Story.Sentence, "the first of 5 attempts sends it again until 03:06:25Z, and after the last one the step fails")
	o.StepWait.Unanswered, o.Steps[0].Failures = false, 2

	o.Steps[0].Restarts = 1
	require.Contains(t, explain.Node(n, f).Story.Sentence, "2 of 5 attempts have failed, and after the last one the step fails")
	o.Steps[0].State, o.Phase, o.Cause = node.StepFailed, node.Holding, fault.AgentSilent
	held := explain.Node(n, f)
	require.Contains(t, held.Paragraph(nil), "Then retry.", "somebody has to decide")
}

// An agent that calls but can't be called is not one that is gone.
func TestAnAgentThatStillCallsIsToldWithItsLastCall(t *testing.T) {
	n, o, at := works(node.StepDeploy, node.Wait{For: node.WaitAgent, Subject: "10.0.0.5:9999"}, 0)
	first, last, now := at.Add(-time.Second), at.Add(4*time.Minute), at.Add(5*time.Minute)
	o.StepWait.Saw("called", first)
	o.StepWait.Missed("no route", at)
	n.Agent = &node.Agent{LastHeartbeatAt: &first}
	f := explain.Facts{Now: now, Covered: true, Fleet: alive(now)}
	gone := explain.Node(n, f)
	require.Contains(t, gone.Story.Sentence, "the agent at 10.0.0.5:9999 called at 03:04:04Z and has not answered since 03:04:05Z (no route)")
	require.Contains(t, gone.Paragraph(nil), "What to do: "+fault.AgentSilent.Row().Advise)

	n.Agent.LastHeartbeatAt = &last
	calls := explain.Node(n, f)
	require.Contains(t, calls.Story.Sentence, "the agent at 10.0.0.5:9999 has not answered since 03:04:05Z (no route); it still calls, last at 03:08:05Z")
	require.Contains(t, calls.Paragraph(nil), "What to do: The agent still calls, so it runs and reaches Temper. Check whether the conductors reach the agent's address")
}

// One reading has one word: the BMC's own.
func TestAPowerThatIsNeitherOnNorOffIsToldOnce(t *testing.T) {
	n, o, at := works(node.StepDeploy, node.Wait{For: node.WaitPower, Subject: "power on", Power: node.PowerOff}, 0)
	f := explain.Facts{Now: at.Add(2 * time.Second), Covered: true, Fleet: alive(at)}
	for seen, told := range map[string]bool{"Off": true, "PoweringOn": false} {
		o.StepWait.Saw(seen, at)
		e := explain.Node(n, f)
		require.Contains(t, e.Paragraph(nil), "the BMC still says "+seen)
		require.Equal(t, told, strings.Contains(e.Paragraph(nil), "Its power: off"), seen)
	}
}

// How long a step usually takes is told with the step, so that it has a subject.
func TestTheUsualTimeFollowsItsStep(t *testing.T) {
	n, o, at := works(node.StepDeploy, node.Wait{}, 0)
	o.StepWait, o.Steps[0].Usual = nil, &node.Usual{MS: 100, Samples: 1, Basis: node.UsualOfStep}
	e := explain.Node(n, explain.Facts{Now: at.Add(time.Second), Covered: true, Fleet: alive(at)})
	require.Regexp(t, `Step deploy\.deploy runs since [^.]*; the longest of 1 on all servers took 100ms\. `, e.Paragraph(nil))
	require.NotContains(t, e.Paragraph(nil), ". The longest")
}

// What a deploy failed of may be mended by now.
func TestAConductorThatCoversTheNodeByNowIsNotAskedFor(t *testing.T) {
	n := &node.Node{Driver: "redfish", ProvisionState: node.DeployFailed, LastError: "no conductor"}
	failed := &node.Operation{ID: 7, Driver: "redfish", Kind: node.KindDeploy, Outcome: node.Failed, Cause: fault.NoConductor, Error: "no conductor"}
	now := time.Now()
	covered := explain.Node(n, explain.Facts{Now: now, Covered: true, Previous: failed})
	require.Contains(t, covered.Paragraph(nil), "What to do: A conductor covers the node now, so retry.")
	require.Equal(t, fault.RetryOperation, covered.Actions[0].Do)
	none := explain.Node(n, explain.Facts{Now: now, Previous: failed})
	require.Contains(t, none.Paragraph(nil), "What to do: Start a conductor of the node's group")
}

func TestACallThatIsLateIsToldWithWhatToLookAt(t *testing.T) {
	n, o, at := works(node.StepDeploy, node.Wait{For: node.WaitCall}, 0)
	until := at.Add(30 * time.Minute)
	o.Phase, o.Steps[0].State, o.StepWait.Until, n.ConsoleEnabled, n.Interfaces = node.Waiting, node.StepWaiting, &until, true, map[string]string{"console": "ipmitool-socat"}
	n.Driver = "ipmi"
	o.StepWait.ExpectCall(nil)
	early := explain.Node(n, explain.Facts{Now: at.Add(9 * time.Minute), Covered: true, Fleet: alive(at)})
	require.Empty(t, early.Cause)
	e := explain.Node(n, explain.Facts{Now: at.Add(11 * time.Minute), Covered: true, Fleet: alive(at)})
	require.Equal(t, fault.AgentNeverCalled, e.Cause)
	require.Contains(t, e.Trouble, "It takes unusually long: the agent has not called since 2030-01-02 03:04:05Z (11m) "+
		"(a third of its time limit, 30m, is over, and Temper does not know yet how long it usually takes)")
	require.Contains(t, e.Paragraph(nil), "What to do: Look at the server's console")
	require.NotContains(t, e.Paragraph(nil), "retry")
	require.Equal(t, []help.Action{{Do: fault.ShowConsole}, {Do: fault.ShowPorts}, {Do: fault.CancelOperation, Operation: 7}}, e.Actions[:3])

	usual := at.Add(2 * time.Minute)
	o.UsualUntil, o.Steps[0].Usual = &usual, &node.Usual{MS: 80_000, Samples: 57, Basis: node.UsualOfModel}
	o.StepWait.ExpectCall(o.UsualUntil)
	late := explain.Node(n, explain.Facts{Now: at.Add(3 * time.Minute), Covered: true, Fleet: alive(at)})
	require.Contains(t, late.Trouble, "It takes unusually long: the agent has not called since 2030-01-02 03:04:05Z (3m) "+
		"(usually 95 % end within 1m20s (the latest 57 on servers like this one))")
	require.Equal(t, fault.AgentNeverCalled, late.Cause)
}

// A step whose conductor was killed is not told to run and to wait for a conductor at the same time.
func TestAnOperationWhoseConductorDiedIsInterrupted(t *testing.T) {
	n, o, at := works(node.StepWriteImage, node.Wait{For: node.WaitCommand, Subject: "deploy.write_image"}, 0)
	o.Driver = "redfish"
	dead := []coverage.Conductor{{Hostname: "c1", HeartbeatAt: at}}
	now := at.Add(16 * time.Second)
	e := explain.Node(n, explain.Facts{Now: now, Fleet: dead})
	require.Equal(t, "wait call-back while its agent works, operation 7 (deploy) is interrupted", e.What)
	require.Equal(t, at, *e.Since)
	require.Equal(t, "conductor c1 sent its last heartbeat at 03:04:05Z; step deploy.write_image waits for "+node.WaitsForConductor("", "redfish"), e.Story.Sentence)
	require.Empty(t, e.Now)
	require.Contains(t, e.Paragraph(nil), "Next: step deploy.write_image, as soon as such a conductor comes.")
	require.NotContains(t, e.Paragraph(nil), "running")

	e = explain.Node(n, explain.Facts{Now: now, Covered: true, Fleet: dead})
	require.Equal(t, "conductor c1 sent its last heartbeat at 03:04:05Z; another conductor takes step deploy.write_image over within seconds", e.Story.Sentence)
	require.NotContains(t, e.Paragraph(nil), "running")
}

// With the conductors and Temporal dead, the time at which a step gives up is not the time at which it begins.
func TestTheTimeAtWhichAStepGivesUpIsNotThatOfItsBeginning(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	until := at.Add(time.Hour)
	wait := node.SilentWait(at, "no answer in time", until)
	o := &node.Operation{
		ID: 7, Kind: node.KindDeploy, Phase: node.Running, Conductor: "c1", AcceptedAt: at, WaitingFor: "the BMC to answer again", WaitingUntil: &until, StepWait: &wait,
		Steps: []node.Step{{Interface: "deploy", Step: node.StepPrepare, State: node.StepRunning, StartedAt: &at}},
	}
	away := status.System{Now: at, Dependencies: status.Dependencies{Temporal: status.Answer{Trouble: status.TemporalAway, Since: at}}}
	e := explain.Node(&node.Node{Name: "n1", ProvisionState: node.Deploying, Operation: o}, explain.Facts{Now: at.Add(time.Minute), System: away})
	require.Equal(t, "step deploy.prepare, as soon as such a conductor comes", e.Next)
	require.Contains(t, e.Paragraph(nil), "Next: step deploy.prepare, as soon as such a conductor comes.")
	require.NotContains(t, strings.Join(e.Brief(""), " "), "04:04:05")
}

package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) *time.Time { at := noon.Add(d); return &at }

// switching is an operation whose step waits for a server to go off, which it was asked to at noon. It is tried again at 12:01.
func switching() *node.Operation {
	step := node.Step{Interface: "power", Step: "off", State: node.StepRunning, StartedAt: &noon, Limit: 5, Failures: 1, Cause: fault.PowerUnchanged}
	w := &node.Wait{For: node.WaitPower, Subject: "power off", Since: noon, Until: after(time.Minute), Every: time.Second, Again: true, Attempt: 2, Attempts: 5}
	w.ExpectPower(time.Minute, true)
	w.Power = node.PowerOn
	w.Saw("On", *after(10 * time.Second))
	return &node.Operation{ID: 7, Kind: node.KindPower, Phase: node.Running, AcceptedAt: noon, Conductor: "c1", Steps: []node.Step{step}, StepWait: w}
}

func fleetWith(c1 bool) []coverage.Conductor {
	return []coverage.Conductor{{Hostname: "c1", Alive: c1, HeartbeatAt: noon}, {Hostname: "c2", Alive: true, HeartbeatAt: noon}}
}

func TestTheEndOfAnAttemptIsNotThatOfTheStep(t *testing.T) {
	o := switching()
	b := explain.Beside{Fleet: fleetWith(true)}
	require.Equal(t, "power off asked at 12:00:00Z; the BMC still says On; looked at again every 1s; attempt 2 of 5 ends at 12:01:00Z, then it is tried again",
		explain.Wait(o, b, *after(11 * time.Second)).Sentence)
	o.StepWait.Attempts = 0 // an undo
	require.Contains(t, explain.Wait(o, b, *after(11 * time.Second)).Sentence, "; this attempt ends at 12:01:00Z, then it is tried again")
	o.StepWait.Again = false
	require.Contains(t, explain.Wait(o, b, *after(11 * time.Second)).Sentence, "; gives up at 12:01:00Z")
}

func TestAnAnswerThatIsStillAwaitedIsNotOverdue(t *testing.T) {
	o := switching()
	o.StepWait.Missed("no answer in time", *after(30 * time.Second))
	o.StepWait.AnswerUntil, o.WaitingUntil = after(2*time.Minute), after(time.Minute)
	b, now := explain.Beside{Fleet: fleetWith(true)}, *after(66 * time.Second)
	require.Regexp(t, "; attempt 2 of 5 ends at 12:02:00Z at the latest, then it is tried again$", explain.Wait(o, b, now).Sentence)
	require.Equal(t, "its step fails (the last request to the BMC may take until 12:02:00Z)", explain.AtLimit(o, now))
	require.Equal(t, after(2*time.Minute), explain.Wait(o, b, now).Until)
	require.Equal(t, "its step fails (the last request to the BMC may take until 12:02:00Z)", explain.AtLimit(o, noon), "it is known before")
	require.Contains(t, explain.Wait(o, b, *after(3 * time.Minute)).Sentence, "(overdue by 1m)")
	o.StepWait.Again = false
	require.Contains(t, explain.Wait(o, b, noon).Sentence, "; gives up at 12:02:00Z at the latest")
	e := explain.Node(&node.Node{ProvisionState: node.Active, Operation: o}, explain.Facts{Now: noon, Covered: true, Fleet: fleetWith(true)})
	require.Equal(t, after(2*time.Minute), e.NextAt)
}

// The time until which a silent BMC is waited for stays as it was told first. The answer to the last request may come later.
func TestASilentBMCMayTakeLongerForItsLastAnswer(t *testing.T) {
	o := switching()
	w := node.SilentWait(noon, "no answer in time", *after(time.Hour))
	w.AnswerUntil, o.StepWait, o.WaitingUntil = after(time.Hour+time.Minute), &w, after(time.Hour)
	b := explain.Beside{Fleet: fleetWith(true)}
	told := explain.Wait(o, b, *after(time.Minute))
	require.Equal(t, "the BMC has not answered since 12:00:00Z (no answer in time); gives up at 13:00:00Z (the last request to the BMC may take until 13:01:00Z)", told.Sentence)
	require.Equal(t, after(time.Hour), told.Until)
	e := explain.Node(&node.Node{ProvisionState: node.Active, Operation: o}, explain.Facts{Now: noon, Covered: true, Fleet: fleetWith(true)})
	require.Equal(t, after(time.Hour+time.Minute), e.NextAt, "at the latest")
}

func TestNobodyLooksForADeadConductor(t *testing.T) {
	o := switching()
	require.Equal(t, "power off asked at 12:00:00Z; the BMC still says On; conductor c1 is not alive: the conductor that takes the step over looks again",
		explain.Wait(o, explain.Beside{Fleet: fleetWith(false)}, *after(11 * time.Second)).Sentence)
	require.Contains(t, explain.Wait(o, explain.Beside{Fleet: fleetWith(true)}, *after(5 * time.Minute)).Sentence,
		"; no conductor has looked since 12:00:10Z: conductor c1 has to; ")
	o.StepWait.Until = after(time.Hour)
	require.False(t, explain.Unwatched(o, *after(25 * time.Second)))
	require.True(t, explain.Unwatched(o, *after(27 * time.Second)))
	away := status.System{Now: noon, Dependencies: status.Dependencies{Temporal: status.Answer{Trouble: status.TemporalAway, Since: noon}}}
	n := &node.Node{ProvisionState: node.Active, Operation: o}
	e := explain.Node(n, explain.Facts{Now: *after(40 * time.Second), Covered: true, Fleet: fleetWith(true), System: away})
	require.Contains(t, e.Story.Sentence, "; no conductor has looked since 12:00:10Z: conductor c1 has to, and Temporal does not answer")
	require.Contains(t, explain.Wait(o, explain.Beside{Fleet: fleetWith(true), System: away}, *after(40 * time.Second)).Sentence, "; no conductor has looked since 12:00:10Z: conductor c1 has to, and Temporal does not answer; ")
}

// A conductor that is killed counts as alive for some time. Nobody promises meanwhile that it looks.
func TestALateConductorMayNotLook(t *testing.T) {
	o, fleet := switching(), fleetWith(true)
	fleet[0].Late, o.StepWait.Unanswered = true, true
	told := func(now time.Time) string { return explain.Wait(o, explain.Beside{Fleet: fleet}, now).Sentence }
	require.Contains(t, told(*after(20 * time.Second)), "; looked at again every 1s if conductor c1 is still alive, whose last heartbeat was at 12:00:00Z; ")
	require.Contains(t, told(*after(27 * time.Second)), "; no conductor has looked since 12:00:10Z: conductor c1 has to; ")
	require.Contains(t, told(*after(27 * time.Second)), "; the BMC has not answered that request; ")
	fleet[0].Alive = false
	require.Contains(t, told(*after(40 * time.Second)), "; no answer to that request is recorded; ")
}

func TestAPowerChangeThatDoesNotComeHasAdvice(t *testing.T) {
	o := switching()
	n := &node.Node{ProvisionState: node.Active, Driver: "redfish", Operation: o}
	o.Driver = "redfish"
	e := explain.Node(n, explain.Facts{Now: *after(11 * time.Second), Covered: true, Fleet: fleetWith(true)})
	require.Equal(t, fault.PowerUnchanged, e.Cause)
	require.Contains(t, e.Trouble, "It takes unusually long: power off was asked for and does not come; 1 of 5 attempts have failed")
	require.Contains(t, e.Actions, help.Action{Do: fault.CancelOperation, Operation: 7})
	require.Contains(t, e.Paragraph(nil), "What to do: "+fault.PowerUnchanged.Row().Advise[:40])
}

// The newest reading is told of the step and of the power.
func TestAReadingIsTheSameInBothPlaces(t *testing.T) {
	o := switching()
	n := &node.Node{ProvisionState: node.Active, Operation: o, PowerState: node.PowerOff, PowerReadAt: after(20 * time.Second)}
	e := explain.Node(n, explain.Facts{Now: *after(21 * time.Second), Covered: true, Fleet: fleetWith(true)})
	require.Contains(t, e.Story.Sentence, "; the BMC says Off; ")
	require.Equal(t, node.PowerOff, e.Power.Seen)

	o.StepWait = &node.Wait{For: node.WaitCall, Subject: "deploy.iso", Since: noon, Until: after(time.Hour)}
	n.PowerReadAt = after(-time.Second)
	require.Equal(t, "power on, read 21s ago", finding.Power(n, *after(21 * time.Second)).Text)
	n.PowerReadAt = after(20 * time.Second)
	e = explain.Node(n, explain.Facts{Now: *after(21 * time.Second), Covered: true, Fleet: fleetWith(true)})
	require.Contains(t, e.Story.Sentence, "; at 12:00:20Z the BMC said Off")
	require.Equal(t, node.PowerOff, e.Power.Seen)
}

func TestOneSilenceHasOneBeginning(t *testing.T) {
	for name, recorded := range map[string]time.Duration{"the step has met it first": 14 * time.Second, "it was recorded before": 9 * time.Second} {
		o := switching()
		o.StepWait.Missed("no answer in time", *after(11 * time.Second))
		n := &node.Node{ProvisionState: node.Active, Operation: o}
		n.Silence = &node.BMCSilence{BMC: n.BMC(), Since: *after(recorded), AskedAt: *after(15 * time.Second), AskedBy: "c2", Seen: "no answer in time", NextAt: *after(40 * time.Second), Asking: true}
		first := after(min(recorded, 11*time.Second)).Format("15:04:05Z")
		e := explain.Node(n, explain.Facts{Now: *after(20 * time.Second), Covered: true, Fleet: fleetWith(true)})
		require.Contains(t, e.Story.Sentence, "the BMC has not answered since "+first, name)
		require.Contains(t, e.Paragraph(nil), "The BMC has given no answer since "+first+"; conductor c2 is asking it now, since 12:00:15Z", name)
		require.NotContains(t, e.Paragraph(nil), "asked again about", name)
	}
}

package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/testenv"
)

// said has the words about w for who reads them at now.
func said(w *node.Wait, now time.Time) string {
	return finding.All(finding.Wait(w, nil, finding.Watch{}), finding.Reader{Now: now})
}

func TestEveryWaitHasItsWords(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	until := at.Add(time.Minute)
	seen := map[string]node.WaitFor{}
	for _, name := range testenv.Constants(t, "../node/wait.go", "WaitFor") {
		f := node.WaitFor(name)
		words := said(&node.Wait{For: f, Subject: "it", Since: at, Until: &until, Seen: "so", SeenAt: &at}, at)
		require.Regexp(t, `.+; (gives up|ends) at 03:05:05Z( at the latest)?$`, words)
		require.NotContains(t, words, "%!", f)
		require.Empty(t, seen[words], "%s has the words of %s", f, seen[words])
		seen[words] = f
	}
}

// A time that has passed is not told as one that is to come.
func TestALimitThatHasPassedIsOverdue(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	until := at.Add(time.Minute)
	o := &node.Operation{
		Phase: node.Running, WaitingFor: "the BMC", WaitingUntil: &until, Steps: []node.Step{{State: node.StepRunning}},
		StepWait: &node.Wait{For: node.WaitPower, Subject: "power off", Since: at, Until: &until},
	}
	require.Equal(t, "its step fails", explain.AtLimit(o, until))
	require.Regexp(t, `; gives up at 03:05:05Z$`, explain.Wait(o, explain.Beside{Node: &node.Node{}}, until).Sentence)
	late := until.Add(12 * time.Second)
	require.Equal(t, "its step fails (overdue by 12s)", explain.AtLimit(o, late))
	require.Regexp(t, `; gives up at 03:05:05Z \(overdue by 12s\)$`, explain.Wait(o, explain.Beside{Node: &node.Node{}}, late).Sentence)
	away := status.System{Now: late, Dependencies: status.Dependencies{Temporal: status.Answer{Trouble: status.TemporalAway, Since: at}}}
	e := explain.Node(&node.Node{ProvisionState: node.Deploying, Operation: o}, explain.Facts{Now: late, Covered: true, System: away})
	require.Regexp(t, `; gives up at 03:05:05Z \(overdue by 12s, because Temporal does not answer\)$`, e.Story.Sentence)
}

func TestAWaitThatDoesNotHoldIsNotTold(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	o := func(change func(*node.Operation)) *node.Operation {
		out := &node.Operation{
			Phase: node.Running, Steps: []node.Step{{State: node.StepRunning}}, StepWait: &node.Wait{For: node.WaitPower, Subject: "power off", Since: at},
		}
		change(out)
		return out
	}
	require.NotNil(t, explain.Wait(o(func(*node.Operation) {}), explain.Beside{}, at))
	for name, change := range map[string]func(*node.Operation){
		"it waits for a conductor": func(o *node.Operation) { o.Phase, o.Blocked = node.Waiting, node.BlockedNoConductor },
		"it is paused in Temporal": func(o *node.Operation) { o.TemporalPause = &node.Pause{} },
		"it holds":                 func(o *node.Operation) { o.Phase, o.Steps[0].State = node.Holding, node.StepFailed },
		"its step has not begun":   func(o *node.Operation) { o.Steps[0].State = node.StepPending },
		"its steps are over":       func(o *node.Operation) { o.Steps[0].State = node.StepDone },
		"nobody has said anything": func(o *node.Operation) { o.StepWait = nil },
		"its end was asked for": func(o *node.Operation) {
			o.Phase, o.Steps[0].State, o.Asked = node.Waiting, node.StepWaiting, node.AskCancel
		},
		"it has ended, and still has": func(o *node.Operation) { o.Phase = node.Ended },
	} {
		require.Nil(t, explain.Wait(o(change), explain.Beside{}, at), name)
	}
}

// The rate is smoothed, the end follows from it, and something that begins anew has no rate yet.
func TestProgressHasARateAndAnEnd(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	w := &node.Wait{For: node.WaitCommand, Subject: "deploy.write_image", Since: at}
	look := func(after time.Duration, fraction float64, bytes int64) {
		w.Advance(fraction, bytes, at.Add(after))
		w.Saw("RUNNING", at.Add(after))
	}
	look(10*time.Second, 0.25, 480e6)
	look(20*time.Second, 0.5, 960e6)
	require.Equal(t, at.Add(40*time.Second), w.EndsAt().Round(time.Second))
	require.Equal(t, "deploy.write_image was sent to the agent at 03:04:05Z; the agent has done 50 %, 48 MB/s; ends about 03:04:45Z",
		said(w, at))
	w.Missed("no route.", at.Add(25*time.Second))
	w.Missed("no route.", at.Add(30*time.Second))
	require.Equal(t, "deploy.write_image was sent to the agent at 03:04:05Z; at 03:04:25Z the agent had done 50 %; the agent has not answered since 03:04:30Z (no route)",
		said(w, at))
	look(40*time.Second, 0.1, 100e6)
	require.Nil(t, w.EndsAt())
	require.Zero(t, w.Rate)
}

// The smoothed rate falls slowly to one byte a second; what stands still is told with since when it does.
func TestWhatStandsStillHasNoRate(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	w := &node.Wait{For: node.WaitCommand, Subject: "deploy.write_image", Since: at}
	for after := 10 * time.Second; after <= 50*time.Second; after += 10 * time.Second {
		w.Advance(0.25, 480e6, at.Add(after))
		w.Saw("RUNNING", at.Add(after))
	}
	o := &node.Operation{Phase: node.Running, StepWait: w, Steps: []node.Step{{Interface: "deploy", Step: node.StepWriteImage, State: node.StepRunning}}}
	told := explain.Wait(o, explain.Beside{}, at.Add(time.Minute))
	require.Equal(t, "sent to the agent at 03:04:05Z; the agent has done 25 %, and no more since 03:04:15Z; it has no time limit as long as the agent answers", told.Sentence)
	require.Nil(t, told.Rate)
	require.Nil(t, told.EndsAt)
	w.Advance(0.5, 960e6, at.Add(time.Minute))
	w.Saw("RUNNING", at.Add(time.Minute))
	require.NotNil(t, explain.Wait(o, explain.Beside{}, at.Add(time.Minute)).Rate)
}

func TestThePowerWords(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	for name, c := range map[string]struct {
		node        node.Node
		text, short string
	}{
		"never read":       {node.Node{}, "unknown, never read", "unknown"},
		"read once":        {node.Node{PowerReadAt: ago(80 * time.Hour)}, "unknown, last read 3d ago", "unknown"},
		"known":            {node.Node{PowerState: node.PowerOff, PowerReadAt: ago(12 * time.Second)}, "power off, read 12s ago", "off 12s"},
		"another is asked": {node.Node{PowerState: node.PowerOff, PowerReadAt: ago(4 * time.Minute), TargetPowerState: node.Rebooting}, "power off, read 4m ago; wanted: power on", "off 4m, wanted on"},
		"the same is asked": {
			node.Node{PowerState: node.PowerOn, PowerReadAt: ago(47*time.Hour + time.Minute), TargetPowerState: node.PowerOn},
			"power on, read 47h ago", "on 47h",
		},
		"the clocks differ":      {node.Node{PowerState: node.PowerOn, PowerReadAt: ago(-time.Second)}, "power on, read 0s ago", "on 0s"},
		"unknown, and off asked": {node.Node{TargetPowerState: node.SoftPowerOff}, "unknown, never read; wanted: power off", "unknown, wanted off"},
	} {
		v := finding.Power(&c.node, now)
		require.Equal(t, c.text, v.Text, name)
		require.Equal(t, c.short, v.Short, name)
	}
}

// A BMC that answers soon is not told to have given no answer.
func TestARequestThatWasJustSentIsNotUnanswered(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	o := &node.Operation{Phase: node.Running, Steps: []node.Step{{State: node.StepRunning}}, StepWait: &node.Wait{
		For: node.WaitPower, Subject: "power on", Since: at, Every: time.Second, Unanswered: true,
	}}
	require.Equal(t, "power on asked at 03:04:05Z", explain.Wait(o, explain.Beside{Node: &node.Node{}}, at.Add(time.Second)).Sentence)
	require.Contains(t, explain.Wait(o, explain.Beside{Node: &node.Node{}}, at.Add(5*time.Second)).Sentence, "the BMC has not answered that request")
}

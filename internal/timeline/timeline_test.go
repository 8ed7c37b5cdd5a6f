package timeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/timeline"
)

func TestATimelineFoldsWhatIsIdle(t *testing.T) {
	at := func(minutes float64) time.Time {
		return time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC).Add(time.Duration(minutes * float64(time.Minute)))
	}
	from, to, again := at(1), at(2), at(3)
	ended, died := at(200), at(3.5)
	o := &node.Operation{
		ID: 7, Kind: node.KindDeploy, AcceptedAt: at(0), RequestedBy: "ada", EndedAt: &ended, Outcome: node.Failed, Error: "no disk.",
		Steps: []node.Step{
			{Interface: "deploy", Step: node.StepPrepare, State: node.StepDone, StartedAt: &from, EndedAt: &to},
			{Interface: "deploy", Step: node.StepDeploy, State: node.StepFailed, StartedAt: &again, EndedAt: &ended, LastError: "no disk"},
		},
	}
	entries := []node.TimelineEntry{
		{Seq: 1, At: at(0.5), What: node.TimelineTakenUp, Conductor: "c1", Since: &o.AcceptedAt},
		{Seq: 2, At: at(4), What: node.TimelineTakenOver, Conductor: "c2", Former: "c1", Step: "deploy.deploy", Since: &died, Words: "silent"},
		{Seq: 5, At: at(10), What: node.TimelineBlocked, Words: "a conductor"},
		{Seq: 6, At: at(134), What: node.TimelineUnblocked, Words: "a conductor"},
		{Seq: 7, At: at(140), What: node.TimelineHeld, Step: "deploy.deploy", Words: "no disk."},
		{Seq: 8, At: at(150), What: node.TimelineAsked, By: "ada", Words: "cancel"},
		{Seq: 9, At: at(160), What: node.TimelineWaiting, Words: "the agent's call after boot"},
	}
	var lines []string
	back := at(139)
	outages := []node.Outage{{Part: node.OutageOfPostgreSQL, From: at(-5), Until: &o.AcceptedAt}, {Part: node.OutageOfTemporal, From: at(135), Until: &back}}
	for _, m := range timeline.Of(o, entries, outages, at(500)) {
		lines = append(lines, m.At.Format("15:04:05 ")+m.Text)
	}
	require.Equal(t, []string{
		"14:00:00 deploy accepted by ada",
		"14:00:00 PostgreSQL was away for 5 min: no API and no orchestrator reached it",
		"14:00:30 taken up by conductor c1, 30 s after accepted",
		"14:01:00 step deploy.prepare: done in 1 min",
		"14:03:00 step deploy.deploy begins",
		"14:04:00 conductor c2 took step deploy.deploy over from c1, which gave no sign of it any more",
		"14:10:00 2 entries are left out",
		"14:10:00 2 h 4 min waiting for a conductor",
		"16:15:00 Temporal was away for 4 min: no orchestrator reached it, and no workflow went on",
		"16:20:00 held for a decision about step deploy.deploy: no disk",
		"16:30:00 asked by ada: cancel",
		"16:40:00 40 min waiting for the agent's call after boot",
		"17:20:00 step deploy.deploy: failed after 3 h 17 min",
		"17:20:00 deploy failed after 3 h 20 min: no disk",
	}, lines)
}

// The API records the call of an agent, a conductor the boot: the call may come before the conductor has seen the server on.
func TestACallIsToldAfterTheBootThatItFollows(t *testing.T) {
	began := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, AcceptedAt: began}
	entries := []node.TimelineEntry{
		{Seq: 1, At: began.Add(10 * time.Second), What: node.TimelineBoot},
		{Seq: 2, At: began.Add(11 * time.Second), What: node.TimelineWaiting, Words: "the agent's call after boot"},
		{Seq: 3, At: began.Add(9 * time.Second), What: node.TimelineCalled},
		{Seq: 4, At: began.Add(12 * time.Second), What: node.TimelineTakenUp, Conductor: "c1", Former: "c1", Step: "deploy.deploy"},
	}
	var lines []string
	for _, m := range timeline.Of(o, entries, nil, began.Add(time.Minute)) {
		lines = append(lines, m.At.Format("15:04:05 ")+m.Text)
	}
	require.Equal(t, []string{
		"14:00:00 deploy accepted", "14:00:10 the ramdisk agent was booted", "14:00:11 0.0 s waiting for the agent's call after boot; the agent called",
		"14:00:12 conductor c1 took step deploy.deploy up again",
	}, lines)
}

// The timeline has the last sign of life of a conductor only where that of the process that was lost is known.
func TestATakeOverIsToldWithTheTimeOnlyIfThatIsKnown(t *testing.T) {
	at := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	seen := at.Add(-1100 * time.Millisecond)
	for words, want := range map[string]string{
		"replaced": "conductor c2 took step power.off over from c1, which had died (another process has its name now)",
		"silent":   "conductor c2 took step power.off over from c1, which gave no sign of it any more",
		"database": "conductor c2 took step power.off over from c1, which could record nothing while PostgreSQL was away",
		"stopped":  "conductor c2 took step power.off over from c1, which had stopped without handing it over, 1.1 s after its last sign of life",
	} {
		e := node.TimelineEntry{At: at, What: node.TimelineTakenOver, Conductor: "c2", Former: "c1", Step: "power.off", Since: &seen, Words: words}
		require.Equal(t, want, e.Text())
	}
}

// The words of an entry are bounded. They have their full length where their error is known, and never end in the middle of a word.
func TestAnErrorOfATimelineIsNotCutInTheMiddleOfAWord(t *testing.T) {
	at := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	long := strings.Repeat("the image server is slow, ", 9) + "http://images.example.org/a/very/long/path/to/an/image.qcow2"
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, AcceptedAt: at}
	entries := []node.TimelineEntry{{Seq: 1, At: at, What: node.TimelineFailed, Step: "deploy.write_image", Words: long[:253] + "..."}}
	line := func() string { return timeline.Of(o, entries, nil, at)[1].Text }
	require.Equal(t, "an attempt at step deploy.write_image failed: "+strings.TrimSpace(long[:strings.LastIndex(long, "http")])+" …", line())
	o.Error = long + " (deploy.write_image failed)"
	require.Equal(t, "an attempt at step deploy.write_image failed: "+o.Error, line())
	short := []node.TimelineEntry{{Seq: 1, At: at, What: node.TimelineFailed, Step: "deploy.write_image", Words: "waiting..."}}
	require.Equal(t, "an attempt at step deploy.write_image failed: waiting", timeline.Of(o, short, nil, at)[1].Text)
}

package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// line is the timeline of an operation as one text, without its times.
func line(t *testing.T, s *store.Store, id int64) string {
	t.Helper()
	entries, err := s.Timeline(t.Context(), id)
	require.NoError(t, err)
	var out []string
	for i, e := range entries {
		require.Equal(t, i+1, e.Seq)
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s", e.What, e.Step, e.Former, e.Conductor, e.By, e.Words)), " "))
	}
	return strings.Join(out, "\n")
}

func deployStep(state node.StepState) []node.Step {
	return []node.Step{{Interface: "deploy", Step: node.StepDeploy, Source: node.SourceDriver, State: state, Attempts: 1}}
}

func TestTheTimelineSaysWhoTookOverFromWhomAndWhy(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	o, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	claim := func(seq int64, attempt int32, by string) node.Claim {
		c := node.Claim{Seq: seq, Attempt: attempt}
		_, err := s.Claim(t.Context(), o.ID, "r1", c, time.Time{}, by)
		require.NoError(t, err)
		return c
	}
	save := func(c node.Claim, p node.Progress) {
		_, err := s.SaveSteps(t.Context(), o.ID, c, p)
		require.NoError(t, err)
	}
	register := func(name string) {
		_, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name})
		require.NoError(t, err)
	}
	register("c1")
	register("c2")
	save(claim(1, 1, "c1"), node.Progress{Phase: node.Running, Steps: deployStep(node.StepRunning)})
	save(claim(1, 2, "c2"), node.Progress{Phase: node.Running, Steps: deployStep(node.StepRunning)})
	require.Equal(t, "taken up c1\ntaken over deploy.deploy c1 c2 silent", line(t, s, o.ID))

	register("c2") // it died, and was started again
	c := claim(1, 3, "c1")
	require.NoError(t, s.HandOver(t.Context(), o.ID, c, nil, node.Progress{}))
	c = claim(1, 4, "c2")
	save(c, node.Progress{Phase: node.Running, Steps: deployStep(node.StepRunning), Rests: true, News: []node.News{
		{What: node.TimelineFailed, Step: "deploy.deploy", Words: "no disk at http://u:hunter2@h/"}, // masked, as in every text that is stored
	}})
	c = claim(1, 5, "c2")
	save(c, node.Progress{Phase: node.Running, Steps: deployStep(node.StepRunning), News: []node.News{{What: node.TimelineBoot, Step: "deploy.deploy"}}})
	save(c, node.Progress{Phase: node.Waiting, WaitingFor: "the agent's call after boot", Steps: deployStep(node.StepWaiting)})
	raw(t, url, `INSERT INTO agents (node_id, first_heartbeat_at) SELECT id, now() FROM nodes`)
	require.NoError(t, s.GoOn(t.Context(), o.ID, "r1"))
	claim(2, 1, "c1")
	_, err = s.AskOperation(t.Context(), o.ID, node.AskCancel, "ada", "wrong image")
	require.NoError(t, err)
	within := time.Hour
	_, err = s.Block(t.Context(), o.ID, "r1", 0, node.BlockedNoConductor, "a conductor", &within)
	require.NoError(t, err)
	_, err = s.Block(t.Context(), o.ID, "r1", 0, node.NotBlocked, "", nil)
	require.NoError(t, err)
	live, err := s.History(t.Context(), n.UUID, node.Page{})
	require.NoError(t, err)
	whole, err := s.WholeHistory(t.Context(), n.UUID, "", 0)
	require.NoError(t, err)
	require.Equal(t, live, whole)
	marker := progress(live)[2]
	readInPages(t, s, n.UUID, live)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Cancelled, Error: "x"})
	require.NoError(t, err)
	ended, err := s.History(t.Context(), n.UUID, node.Page{})
	require.NoError(t, err)
	require.Equal(t, progress(live), progress(ended), "the history of an operation that goes on is that of one that has ended")
	readInPages(t, s, n.UUID, ended)
	page, err := s.History(t.Context(), n.UUID, node.Page{Marker: marker.UUID, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, progress(live)[3:4], page, "a page of before the end is continued after it")
	got := line(t, s, o.ID)
	require.NotContains(t, got, "hunter2")
	require.Equal(t, strings.TrimSpace(`
taken up c1
taken over deploy.deploy c1 c2 silent
taken over deploy.deploy c2 c1 replaced
stopped c1
handed over deploy.deploy c1 c2
failed deploy.deploy c2 no disk at http://******@h/
boot deploy.deploy c2
waiting the agent's call after boot
agent called
handed over c2 c1
asked ada cancel: wrong image
blocked a conductor
unblocked a conductor`), got)

	events, err := s.History(t.Context(), n.UUID, node.Page{})
	require.NoError(t, err)
	var told []string
	for _, e := range events {
		if e.EventType == node.HistoryProgress {
			require.Equal(t, o.ID, e.Operation)
			told = append(told, e.Event)
		}
	}
	require.Contains(t, strings.Join(told, "\n"), "conductor c1 took step deploy.deploy over from c2, which had died (another process has its name now)")
	require.Contains(t, told, "the ramdisk agent was booted")
	require.Contains(t, told, "the agent called")
}

// progress returns the events of operations' progress.
func progress(events []node.HistoryEvent) (out []node.HistoryEvent) {
	for _, e := range events {
		if e.EventType == node.HistoryProgress {
			out = append(out, e)
		}
	}
	return out
}

// readInPages reads a history of which want is all, in pages of both orders, and each event alone.
func readInPages(t *testing.T, s *store.Store, uuid string, want []node.HistoryEvent) {
	t.Helper()
	require.NotEmpty(t, progress(want))
	for _, dir := range []string{"asc", "desc"} {
		var got []node.HistoryEvent
		for marker := ""; ; marker = got[len(got)-1].UUID {
			page, err := s.History(t.Context(), uuid, node.Page{Marker: marker, Limit: 2, SortDir: dir})
			require.NoError(t, err)
			if got = append(got, page...); len(page) < 2 {
				break
			}
		}
		if dir == "desc" {
			slices.Reverse(got)
		}
		require.Equal(t, want, got, dir)
	}
	for _, e := range want {
		one, err := s.HistoryEvent(t.Context(), uuid, e.UUID)
		require.NoError(t, err)
		require.Equal(t, e, *one)
	}
	none, err := s.History(t.Context(), uuid, node.Page{Marker: someUUID()})
	require.NoError(t, err)
	require.Empty(t, none, "an event that is not there")
}

// Conductors that die one after the other do not make a timeline grow without end.
func TestATimelineIsBounded(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, o := running(t, s)
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Phase: node.Running, Steps: deployStep(node.StepRunning)})
	require.NoError(t, err)
	for attempt := int32(2); attempt <= 400; attempt++ {
		_, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 1, Attempt: attempt}, time.Time{}, fmt.Sprint("c", attempt%2))
		require.NoError(t, err)
	}
	require.Equal(t, 400, ask[int](t, url, fmt.Sprintf(`SELECT entries FROM operations WHERE id = %d`, o.ID)))
	entries, err := s.Timeline(t.Context(), o.ID)
	require.NoError(t, err)
	require.Len(t, entries, 200)
	for range 2 {
		_, err = s.ForgetEvents(t.Context(), 0, 1_000_000)
		require.NoError(t, err)
		kept, err := s.Timeline(t.Context(), o.ID)
		require.NoError(t, err)
		require.Equal(t, entries, kept)
	}
	require.Equal(t, 300+200-150, ask[int](t, url, fmt.Sprintf(`SELECT count(*) FROM events WHERE operation_id = %d AND operation_seq > 0`, o.ID)),
		"the history keeps the latest 300")
	require.Equal(t, 1, entries[0].Seq)
	require.Equal(t, 50, entries[49].Seq)
	require.Equal(t, 251, entries[50].Seq)
	require.Equal(t, 400, entries[199].Seq)
}

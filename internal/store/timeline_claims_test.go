package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// worked is an operation whose step runs on conductor c1. Its methods are what conductors, people and Temporal do with it.
type worked struct {
	*testing.T
	s   *store.Store
	url string
	n   *node.Node
	id  int64
	now node.Claim
}

func work(t *testing.T) *worked {
	s, url := openURL(t)
	for _, name := range []string{"c1", "c2"} {
		_, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name})
		require.NoError(t, err)
	}
	n, o := running(t, s)
	w := &worked{T: t, s: s, url: url, n: n, id: o.ID, now: first}
	w.save(node.Progress{Phase: node.Running, Steps: deployStep(node.StepRunning)})
	return w
}

func (w *worked) save(p node.Progress) {
	w.Helper()
	_, err := w.s.SaveSteps(w.Context(), w.id, w.now, p)
	require.NoError(w, err)
}

// again is the next attempt of Temporal at the same activity, next is the next activity.
func (w *worked) again(by string) {
	w.claim(node.Claim{Seq: w.now.Seq, Attempt: w.now.Attempt + 1}, by)
}
func (w *worked) next(by string) { w.claim(node.Claim{Seq: w.now.Seq + 1, Attempt: 1}, by) }

func (w *worked) claim(c node.Claim, by string) {
	w.Helper()
	run := ask[string](w.T, w.url, fmt.Sprintf("SELECT run_id FROM operations WHERE id = %d", w.id))
	_, err := w.s.Claim(w.Context(), w.id, run, c, time.Time{}, by)
	require.NoError(w, err)
	w.now = c
}

func (w *worked) handsOver() {
	w.Helper()
	require.NoError(w, w.s.HandOver(w.Context(), w.id, w.now, nil, node.Progress{}))
}

func (w *worked) cancelled() {
	w.Helper()
	_, err := w.s.AskOperation(w.Context(), w.id, node.AskCancel, "ada", "wrong image")
	require.NoError(w, err)
}

func (w *worked) undoes() {
	w.Helper()
	w.save(node.Progress{Phase: node.Undoing, Steps: deployStep(node.StepRunning)})
}

func (w *worked) reset() {
	w.Helper()
	_, err := w.s.Direct(w.Context(), w.id, func(n *node.Node) (node.OperationChange, error) {
		_, err := n.Operation.Adopt("r2", true)
		return node.OperationChange{Came: true, Event: node.HistoryEvent{Event: "goes on", EventType: "steering"}}, err
	})
	require.NoError(w, err)
	w.now.Seq++
}

// A claim is raised for many reasons, and only if a conductor was lost does the timeline say so.
func TestTheTimelineTellsWhyAnotherClaimWasTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(w *worked)
		want string
	}{
		"somebody cancels, and the same conductor undoes": {func(w *worked) {
			w.cancelled()
			w.handsOver()
			w.next("c1")
			w.undoes()
		}, "asked ada cancel: wrong image\nstopped c1\nundoing"},
		"somebody cancels, and another one undoes": {func(w *worked) {
			w.cancelled()
			w.handsOver()
			w.next("c2")
			w.undoes()
		}, "asked ada cancel: wrong image\nstopped c1\nhanded over deploy.deploy c1 c2\nundoing"},
		"somebody cancels the step of a conductor that had died": {func(w *worked) {
			w.cancelled()
			w.next("c2")
			w.undoes()
		}, "asked ada cancel: wrong image\ntaken over deploy.deploy c1 c2 silent\nundoing"},
		"a try of an undo fails": {func(w *worked) {
			w.undoes()
			w.save(node.Progress{Phase: node.Undoing, Rests: true})
			w.again("c1")
			w.undoes()
			w.save(node.Progress{Phase: node.Undoing, Rests: true})
			w.again("c2")
			w.undoes()
		}, "undoing\nhanded over c1 c2"},
		"a conductor is stopped in the middle of an undo": {func(w *worked) {
			w.undoes()
			w.handsOver()
			w.again("c2")
		}, "undoing\nhanded over c1 c2"},
		"a conductor dies in the middle of an undo": {func(w *worked) {
			w.undoes()
			w.again("c2")
		}, "undoing\ntaken over c1 c2 silent"},
		"a conductor is stopped": {func(w *worked) {
			w.handsOver()
			w.again("c2")
		}, "stopped c1\nhanded over deploy.deploy c1 c2"},
		"a try fails, and the same conductor tries again": {func(w *worked) {
			w.save(node.Progress{Phase: node.Running, Steps: deployStep(node.StepRunning), Rests: true, News: []node.News{{What: node.TimelineFailed, Step: "deploy.deploy", Words: "x"}}})
			w.again("c1")
		}, "failed deploy.deploy c1 x"},
		"a conductor that was frozen goes on": {func(w *worked) {
			w.again("c1")
		}, "taken up deploy.deploy c1 c1"},
		"the workflow is reset": {func(w *worked) {
			w.reset()
			w.next("c2")
		}, "another run\nhanded over deploy.deploy c1 c2"},
		"the workflow is reset, and the same conductor goes on": {func(w *worked) {
			w.reset()
			w.next("c1")
		}, "another run"},
		"a conductor dies after the workflow was reset": {func(w *worked) {
			w.reset()
			w.next("c1")
			w.save(node.Progress{Phase: node.Running, Steps: deployStep(node.StepRunning)})
			w.again("c2")
		}, "another run\ntaken over deploy.deploy c1 c2 silent"},
		"the database was away": {func(w *worked) {
			raw(w.T, w.url, "INSERT INTO outages (part, from_at, until_at) VALUES ('postgresql', clock_timestamp() - interval '20 seconds', clock_timestamp())")
			w.again("c2")
		}, "taken over deploy.deploy c1 c2 database"},
		"the database was away before": {func(w *worked) {
			raw(w.T, w.url, "INSERT INTO outages (part, from_at, until_at) VALUES ('postgresql', clock_timestamp() - interval '2 hours', clock_timestamp() - interval '1 hour')")
			w.again("c2")
		}, "taken over deploy.deploy c1 c2 silent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := work(t)
			c.do(w)
			require.Equal(t, c.want, strings.TrimPrefix(line(t, w.s, w.id), "taken up c1\n"))
		})
	}
}

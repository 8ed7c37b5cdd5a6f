package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

var undoSteps = []node.Step{{Interface: "management", Step: "undo", State: node.StepPending}}

// owing is a node whose failed deploy left its server on.
func owing(t *testing.T, s *store.Store) *node.Node {
	t.Helper()
	n, o := running(t, s)
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Undo: []node.Undo{node.UndoPowerOff}})
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "no disk"}, nil)
	require.NoError(t, err)
	return n
}

func serving(t *testing.T, s *store.Store) int64 {
	t.Helper()
	incarnation, err := s.RegisterConductor(t.Context(), node.Conductor{
		Hostname: "c1", Interfaces: map[string]map[string][]string{"fake-hardware": {"power": {"fake"}}},
	})
	require.NoError(t, err)
	return incarnation
}

func TestWhatIsOwedIsUndoneAsSoonAsSomebodyCoversTheNode(t *testing.T) {
	s := open(t)
	n := owing(t, s)
	ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 10)
	require.NoError(t, err)
	require.Empty(t, ops, "nobody covers it")

	incarnation := serving(t, s)
	require.NoError(t, maintain(t, s, n.UUID, true, "", "admin"))
	ops, err = s.OpenUndos(t.Context(), undoSteps, "reconciliation", 10)
	require.NoError(t, err)
	require.Empty(t, ops, "it is in maintenance")
	require.NoError(t, maintain(t, s, n.UUID, false, "", "admin"))

	ops, err = s.OpenUndos(t.Context(), undoSteps, "reconciliation", 10)
	require.NoError(t, err)
	require.Len(t, ops, 1)
	o := ops[0]
	require.Equal(t, node.KindUndo, o.Kind)
	require.Equal(t, n.UUID, o.NodeUUID)
	require.Equal(t, "management.undo", o.Steps[0].Name())
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, o.ID, got.Operation.ID)
	require.Equal(t, node.DeployFailed, got.ProvisionState)
	events, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "undo accepted", events[0].Event)
	ops, err = s.OpenUndos(t.Context(), undoSteps, "reconciliation", 10)
	require.NoError(t, err)
	require.Empty(t, ops, "one at a time")

	_, err = s.Begin(t.Context(), o.ID, "u1")
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), o.ID, "u1", first, "c1")
	require.NoError(t, err)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{ClearOwed: true})
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "u1", Outcome: node.Succeeded}, nil)
	require.NoError(t, err)
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Empty(t, got.Owed)
	require.Equal(t, "no disk", got.LastError, "of the work that left the debt")
	require.Equal(t, node.Active, got.TargetProvisionState)
	require.NoError(t, s.StopConductor(t.Context(), "c1", incarnation))
}

func TestUndosThatFailAreTriedAtGrowingPauses(t *testing.T) {
	s, url := openURL(t)
	n := owing(t, s)
	serving(t, s)
	for _, pause := range []time.Duration{0, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		if pause > 0 {
			passed := func(d time.Duration) {
				raw(t, url, "UPDATE nodes SET owed_tried_at = clock_timestamp() - $1 * interval '1 millisecond' WHERE uuid = $2", d.Milliseconds(), n.UUID)
			}
			passed(pause - time.Second)
			ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 10)
			require.NoError(t, err)
			require.Empty(t, ops, "before %s", pause)
			passed(pause + time.Second)
		}
		ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 10)
		require.NoError(t, err)
		require.Len(t, ops, 1, "after %s", pause)
		_, err = s.CloseOperation(t.Context(), node.End{Operation: ops[0].ID, Outcome: node.Failed, Error: "no BMC"}, nil)
		require.NoError(t, err)
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, []node.Undo{node.UndoPowerOff}, got.Owed)
	}
}

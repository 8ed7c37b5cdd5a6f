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
	t.Parallel()
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

// A clean step that fails puts the node into maintenance itself: that says nothing
// about what it left half done. A person's maintenance does.
func TestWhatACleaningOwesIsUndoneInTheMaintenanceOfItsFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after func(t *testing.T, s *store.Store, uuid string)
		undone        bool
	}{
		"of the failure alone": {nil, nil, true},
		"a person's from before": {func(t *testing.T, s *store.Store, uuid string) {
			require.NoError(t, maintain(t, s, uuid, true, "", "ann"))
		}, nil, false},
		"a person's since": {nil, func(t *testing.T, s *store.Store, uuid string) {
			require.NoError(t, maintain(t, s, uuid, true, "", "ann"))
		}, false},
		"a person's reason since": {nil, func(t *testing.T, s *store.Store, uuid string) {
			_, err := s.UpdateNode(t.Context(), uuid, "ann", func(n *node.Node) (node.Secrets, error) { n.MaintenanceReason = "mine"; return nil, nil })
			require.NoError(t, err)
		}, false},
		"a name since": {nil, func(t *testing.T, s *store.Store, uuid string) {
			_, err := s.UpdateNode(t.Context(), uuid, "ann", func(n *node.Node) (node.Secrets, error) { n.Description = "x"; return nil, nil })
			require.NoError(t, err)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			serving(t, s)
			n := create(t, s, node.Manageable)
			o, err := s.Request(t.Context(), n.UUID, func(n *node.Node) (*node.Request, error) {
				began := time.Now()
				return &node.Request{Move: node.EventClean, Open: &node.Operation{
					Kind: node.KindClean, Target: node.Manageable,
					Steps: []node.Step{{Interface: "deploy", Step: "erase_devices", Source: node.SourceAgent, State: node.StepRunning, StartedAt: &began}},
				}}, nil
			})
			require.NoError(t, err)
			_, err = s.Begin(t.Context(), o.ID, "r1")
			require.NoError(t, err)
			_, err = s.Claim(t.Context(), o.ID, "r1", first, "c1")
			require.NoError(t, err)
			_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{Undo: []node.Undo{node.UndoEjectMedia}})
			require.NoError(t, err)
			if c.before != nil {
				c.before(t, s, n.UUID)
			}
			_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "its workflow was terminated"}, nil)
			require.NoError(t, err)
			got, err := s.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, node.CleanFailed, got.ProvisionState)
			require.True(t, got.Maintenance)
			require.Equal(t, node.FaultClean, got.Fault)
			if c.after != nil {
				c.after(t, s, n.UUID)
			}
			ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 10)
			require.NoError(t, err)
			require.Equal(t, c.undone, len(ops) == 1)
			if !c.undone {
				return
			}
			require.False(t, ops[0].Paused)
			require.NoError(t, maintain(t, s, n.UUID, true, "now me", "ann"))
			open, err := s.Operation(t.Context(), ops[0].ID)
			require.NoError(t, err)
			require.True(t, open.Paused, "a person's maintenance stops it")
		})
	}
}

func TestUndosThatFailAreTriedAtGrowingPauses(t *testing.T) {
	t.Parallel()
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

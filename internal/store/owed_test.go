package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	planning "go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/store"
)

var undoSteps = []node.Step{{Interface: "management", Step: "undo", State: node.StepPending}}

// owing is a node whose failed deploy left its server on.
func owing(t *testing.T, s *store.Store) *node.Node {
	t.Helper()
	n, o := running(t, s)
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Undo: []node.Undo{node.UndoPowerOff}})
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "no disk"})
	require.NoError(t, err)
	return n
}

func serving(t *testing.T, s *store.Store) int64 {
	t.Helper()
	incarnation, err := s.RegisterConductor(t.Context(), coverage.Conductor{
		Hostname: "c1", Interfaces: map[string]map[string][]string{"fake-hardware": {"power": {"fake"}}},
	})
	require.NoError(t, err)
	return incarnation
}

// plan.FollowUp builds all operations that follow by themselves. Undos that are due are inserted by
// one statement for many nodes, and are the same.
func TestAnUndoThatIsDueIsTheOneThatFollowUpBuilds(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := owing(t, s)
	serving(t, s)
	raw(t, url, `UPDATE nodes SET name = 'x1', owner = 'o', conductor_group = '', instance_info = '{"image_source": "http://images/x.qcow2"}', properties = '{"vendor": "ACME"}'`)
	planned, err := planning.FollowUp(&node.Node{}, nil, node.KindUndo, "reconciliation", node.Defaults{}) // as reconciliation plans it
	require.NoError(t, err)
	due, err := s.OpenUndos(t.Context(), planned.Steps, planned.RequestedBy, 0, 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: due[0].ID, Outcome: node.Cancelled})
	require.NoError(t, err)
	o, err := s.Request(t.Context(), n.UUID, func(n *node.Node) (*node.Request, error) {
		open, err := planning.FollowUp(n, nil, node.KindUndo, "reconciliation", node.Defaults{OnFailure: node.HoldOnFailure})
		return &node.Request{Open: open}, err
	})
	require.NoError(t, err)
	row := func(id int64) string {
		return ask[string](t, url, `SELECT jsonb_pretty(to_jsonb(o) - 'id' - 'accepted_at' - 'late_at' - 'phase' - 'state' - 'version' - 'outcome' - 'error' - 'cause' - 'ended_at' - 'workflow_suffix') FROM operations o WHERE id = $1`, id)
	}
	require.Equal(t, node.Accepted, due[0].Phase)
	require.Equal(t, node.Accepted, o.Phase)
	require.Equal(t, row(o.ID), row(due[0].ID))
}

func TestWhatIsOwedIsUndoneAsSoonAsSomebodyCoversTheNode(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := owing(t, s)
	ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
	require.NoError(t, err)
	require.Empty(t, ops, "nobody covers it")

	incarnation := serving(t, s)
	require.NoError(t, maintain(t, s, n.UUID, true, "", "admin"))
	ops, err = s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
	require.NoError(t, err)
	require.Empty(t, ops, "it is in maintenance")
	require.NoError(t, maintain(t, s, n.UUID, false, "", "admin"))

	ops, err = s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
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
	ops, err = s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
	require.NoError(t, err)
	require.Empty(t, ops, "one at a time")

	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "u1")
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), o.ID, "u1", first, time.Time{}, "c1")
	require.NoError(t, err)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{OwedDone: []node.Undo{node.UndoPowerOff}})
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "u1", Outcome: node.Succeeded})
	require.NoError(t, err)
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Empty(t, got.Owed)
	require.Equal(t, "no disk", got.LastError, "of the work that left the debt")
	require.Equal(t, node.Active, got.TargetProvisionState)
	require.NoError(t, s.StopConductor(t.Context(), "c1", incarnation))
}

// A clean step that fails puts the node into maintenance itself. What it left half done is
// undone in that maintenance, but not in a person's.
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
				return &node.Request{Move: []node.Event{node.EventClean}, Open: &node.Operation{
					Kind: node.KindClean, Target: node.Manageable,
					Steps: []node.Step{{Interface: "deploy", Step: "erase_devices", Source: node.SourceAgent, State: node.StepRunning, StartedAt: &began}},
				}}, nil
			})
			require.NoError(t, err)
			_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
			require.NoError(t, err)
			_, err = s.Claim(t.Context(), o.ID, "r1", first, time.Time{}, "c1")
			require.NoError(t, err)
			_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{Undo: []node.Undo{node.UndoEjectMedia}})
			require.NoError(t, err)
			if c.before != nil {
				c.before(t, s, n.UUID)
			}
			_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "its workflow was terminated"})
			require.NoError(t, err)
			got, err := s.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, node.CleanFailed, got.ProvisionState)
			require.True(t, got.Maintenance)
			require.Equal(t, node.FaultClean, got.Fault)
			if c.after != nil {
				c.after(t, s, n.UUID)
			}
			ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
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
			ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
			require.NoError(t, err)
			require.Empty(t, ops, "before %s", pause)
			passed(pause + time.Second)
		}
		ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
		require.NoError(t, err)
		require.Len(t, ops, 1, "after %s", pause)
		_, err = s.CloseOperation(t.Context(), node.End{Operation: ops[0].ID, Outcome: node.Failed, Error: "no BMC"})
		require.NoError(t, err)
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, []node.Undo{node.UndoPowerOff}, got.Owed)
	}
}

// tried opens the due undo and ends it as given.
func tried(t *testing.T, s *store.Store, p node.Progress, end node.End) *node.Operation {
	t.Helper()
	ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
	require.NoError(t, err)
	require.Len(t, ops, 1)
	end.Operation = ops[0].ID
	_, err = s.Begin(t.Context(), end.Operation, ops[0].WorkflowID, "u")
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), end.Operation, "u", first, time.Time{}, "c1")
	require.NoError(t, err)
	_, err = s.SaveSteps(t.Context(), end.Operation, first, p)
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), end)
	require.NoError(t, err)
	return &ops[0]
}

func historyOf(t *testing.T, s *store.Store, uuid string) (out []string) {
	t.Helper()
	list, err := s.History(t.Context(), uuid, node.Page{Limit: 100})
	require.NoError(t, err)
	for _, e := range list {
		out = append(out, e.Event)
	}
	return out
}

func TestWhatTheHardwareRefusesForGoodRestsUntilSomethingChanges(t *testing.T) {
	t.Parallel()
	refused := node.End{Outcome: node.Failed, Error: "400: no"}
	for name, change := range map[string]func(t *testing.T, s *store.Store, n *node.Node){
		"driver_info": func(t *testing.T, s *store.Store, n *node.Node) {
			_, err := s.UpdateNode(t.Context(), n.UUID, "ann", func(n *node.Node) (node.Secrets, error) {
				n.DriverInfo = map[string]any{"redfish_address": "https://10.0.0.2"}
				return nil, nil
			})
			require.NoError(t, err)
		},
		"a password": func(t *testing.T, s *store.Store, n *node.Node) {
			_, err := s.UpdateNode(t.Context(), n.UUID, "ann", func(n *node.Node) (node.Secrets, error) {
				return node.Secrets{"driver_info/redfish_password": "new"}, nil
			})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			n := owing(t, s)
			serving(t, s)
			tried(t, s, node.Progress{Refused: true}, refused)
			got, err := s.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, "400: no", got.OwedError)
			require.True(t, got.OwedRefused)
			_, err = s.UpdateNode(t.Context(), n.UUID, "ann", func(n *node.Node) (node.Secrets, error) { n.Description = "x"; return nil, nil })
			require.NoError(t, err)
			ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
			require.NoError(t, err)
			require.Empty(t, ops)
			change(t, s, n)
			tried(t, s, node.Progress{OwedDone: []node.Undo{node.UndoPowerOff}}, node.End{Outcome: node.Succeeded})
		})
	}
}

func TestAnUndoThatFailsAgainAndAgainIsToldOnce(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := owing(t, s)
	serving(t, s)
	before := len(historyOf(t, s, n.UUID))
	for _, words := range []string{"no BMC", "no BMC", "503", "503"} {
		raw(t, url, "UPDATE nodes SET owed_tried_at = NULL WHERE uuid = $1", n.UUID)
		tried(t, s, node.Progress{}, node.End{Outcome: node.Failed, Error: words})
	}
	require.Equal(t, []string{"undo accepted", "undo failed: stays deploy failed: no BMC", "undo failed: stays deploy failed: 503"}, historyOf(t, s, n.UUID)[before:])
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "no disk", got.LastError)
}

func TestWhatIsOwedCanBeWaived(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Undo: []node.Undo{node.UndoPowerOff, node.UndoEjectMedia}})
	require.NoError(t, err)
	_, _, err = s.Waive(t.Context(), n.UUID, "ann", "x")
	require.Equal(t, fault.Conflict, fault.KindOf(err), "an operation has it")
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "no disk" + node.UndoLeft + "400"})
	require.NoError(t, err)
	serving(t, s)
	ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
	require.NoError(t, err)
	require.Len(t, ops, 1)

	waived, undo, err := s.Waive(t.Context(), n.UUID, "ann", "the drive is broken.")
	require.NoError(t, err)
	require.Equal(t, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia}, waived)
	require.Equal(t, ops[0].ID, undo.ID)
	require.Equal(t, node.AskCancel, undo.Asked)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Empty(t, got.Owed)
	require.Empty(t, got.OwedError)
	const now = "no disk; what it left was waived by ann: the drive is broken"
	require.Equal(t, now, got.LastError)
	old, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, now, old.Error)
	list, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "waived what was to be undone (power off, eject media): the drive is broken.", list[0].Event)
	require.Equal(t, "ann", list[0].User)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: undo.ID, Outcome: node.Cancelled})
	require.NoError(t, err)
	_, _, err = s.Waive(t.Context(), n.UUID, "ann", "again")
	require.Equal(t, fault.Conflict, fault.KindOf(err))
	_, _, err = s.Waive(t.Context(), "nobody", "ann", "again")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

// The error of the operation that left the undo must not say any more that it is owed, whichever operation has done it.
func TestAnOldErrorSaysWhenWhatWasLeftIsUndone(t *testing.T) {
	t.Parallel()
	left := func(t *testing.T, s *store.Store) (*node.Node, int64) {
		n, o := running(t, s)
		_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Undo: []node.Undo{node.UndoPowerOff}})
		require.NoError(t, err)
		_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "no disk" + node.UndoLeft + "400"})
		require.NoError(t, err)
		serving(t, s)
		return n, o.ID
	}
	t.Run("by an undo", func(t *testing.T) {
		s := open(t)
		n, id := left(t, s)
		u := tried(t, s, node.Progress{OwedDone: []node.Undo{node.UndoPowerOff}}, node.End{Outcome: node.Succeeded})
		old, err := s.Operation(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "no disk"+node.UndoneBy(u.ID), old.Error)
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, old.Error, got.LastError)
	})
	t.Run("not by one that failed", func(t *testing.T) {
		s := open(t)
		_, id := left(t, s)
		tried(t, s, node.Progress{}, node.End{Outcome: node.Failed, Error: "503"})
		old, err := s.Operation(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "no disk"+node.UndoLeft+"400", old.Error)
	})
	t.Run("by an operation that took it over", func(t *testing.T) {
		s := open(t)
		n, id := left(t, s)
		again, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
			return &node.Request{Move: []node.Event{node.EventDelete}, Open: &node.Operation{Kind: node.KindUndeploy, Target: node.Available, Steps: undoSteps}}, nil
		})
		require.NoError(t, err)
		_, err = s.Begin(t.Context(), again.ID, again.WorkflowID, "r2")
		require.NoError(t, err)
		_, err = s.Claim(t.Context(), again.ID, "r2", first, time.Time{}, "c1")
		require.NoError(t, err)
		_, err = s.SaveSteps(t.Context(), again.ID, first, node.Progress{Undo: []node.Undo{node.UndoPowerOff}, OwedDone: []node.Undo{node.UndoPowerOff}})
		require.NoError(t, err)
		old, err := s.Operation(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "no disk"+node.UndoLeft+"400", old.Error, "not yet")
		_, err = s.SaveSteps(t.Context(), again.ID, first, node.Progress{})
		require.NoError(t, err)
		_, err = s.CloseOperation(t.Context(), node.End{Operation: again.ID, Outcome: node.Succeeded})
		require.NoError(t, err)
		old, err = s.Operation(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "no disk"+node.UndoneBy(again.ID), old.Error)
	})
}

// A BMC that downloads an image before it inserts it shows an empty drive
// meanwhile. An undo at that time would find nothing to eject, and the image would
// appear later.
func TestAnUndoWaitsForAMediumThatMayStillAppear(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent  time.Duration
		state node.StepState
		due   bool
	}{
		"it was sent just now":       {0, node.StepRunning, false},
		"it was sent long ago":       {3 * time.Minute, node.StepRunning, true},
		"its step has seen it since": {0, node.StepDone, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			_, o := running(t, s)
			o.Steps[0].State = c.state
			o.Steps[0].Issued = &node.Issued{At: time.Now().Add(-c.sent), Command: node.InsertMedia}
			_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Steps: o.Steps, Undo: []node.Undo{node.UndoEjectMedia}})
			require.NoError(t, err)
			_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "its workflow was terminated"})
			require.NoError(t, err)
			serving(t, s)
			ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 2*time.Minute, 10)
			require.NoError(t, err)
			require.Equal(t, c.due, len(ops) == 1)
		})
	}
}

// The node's history grows while the statement that looks for undos is under way, before it
// has locked the node.
func TestAnUndoIsToldBehindWhatTheHistoryHasByThen(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := owing(t, s)
	serving(t, s)
	raw(t, url, `CREATE OR REPLACE FUNCTION covered_needs(timeout bigint) RETURNS TABLE (id bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(1);
	RETURN QUERY SELECT d.id FROM needs d;
END $$`)
	raw(t, url, `SELECT pg_advisory_lock(1)`)
	opened := make(chan error, 1)
	go func() {
		ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
		if err == nil && len(ops) != 1 {
			err = fmt.Errorf("%d undos were opened", len(ops))
		}
		opened <- err
	}()
	require.Eventually(t, func() bool {
		return ask[bool](t, url, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`)
	}, time.Minute, time.Millisecond)
	require.NoError(t, s.AddHistory(t.Context(), node.HistoryEvent{NodeUUID: n.UUID, Event: "meanwhile", EventType: node.HistoryState}))
	raw(t, url, `SELECT pg_advisory_unlock(1)`)
	require.NoError(t, <-opened)
	events, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 2})
	require.NoError(t, err)
	require.Equal(t, []string{"undo accepted", "meanwhile"}, []string{events[0].Event, events[1].Event})
}

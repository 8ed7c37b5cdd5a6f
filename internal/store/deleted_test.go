package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func always(*node.Node) error { return nil }

func TestWhatIsKnownOfADeletedNodeStays(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, o := running(t, s)
	require.NoError(t, s.AddHistory(t.Context(), node.HistoryEvent{NodeUUID: n.UUID, Event: "smoke", EventType: "error", Operation: o.ID}))
	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "ann", always))

	_, err := s.History(t.Context(), n.UUID, node.Page{})
	kind(t, fault.NotFound, err)
	for _, ident := range []string{n.UUID, n.Name} {
		events, err := s.WholeHistory(t.Context(), ident, "", 0)
		require.NoError(t, err)
		var said []string
		for _, e := range events {
			said = append(said, e.User+": "+e.Event)
			require.Equal(t, n.UUID, e.NodeUUID)
			require.NotNil(t, e.DeletedAt)
		}
		require.Contains(t, said, ": smoke")
		require.Equal(t, "ann: deleted in deploying", said[len(said)-1])
		page, err := s.WholeHistory(t.Context(), ident, events[0].UUID, 1)
		require.NoError(t, err)
		require.Equal(t, events[1:2], page)

		ops, err := s.Operations(t.Context(), node.OperationFilter{Node: ident})
		require.NoError(t, err)
		require.Len(t, ops, 1)
		require.Equal(t, "the node was deleted", ops[0].Error)

		gone, err := s.DeletedNodes(t.Context(), node.DeletedFilter{Node: ident})
		require.NoError(t, err)
		require.Len(t, gone, 1)
		require.WithinDuration(t, time.Now(), gone[0].DeletedAt, time.Minute)
		require.Equal(t, node.Deleted{
			ID: gone[0].ID, UUID: n.UUID, Name: n.Name, Driver: n.Driver, ProvisionState: node.Deploying, CreatedAt: gone[0].CreatedAt,
			DeletedAt: gone[0].DeletedAt, DeletedBy: "ann",
		}, gone[0])
	}
	_, err = s.WholeHistory(t.Context(), someUUID(), "", 0)
	kind(t, fault.NotFound, err)
	// A trigger of the database records a node that somebody deletes by SQL.
	other := create(t, s, node.Available)
	raw(t, url, `DELETE FROM nodes WHERE uuid = $1`, other.UUID)
	gone, err := s.DeletedNodes(t.Context(), node.DeletedFilter{})
	require.NoError(t, err)
	require.Len(t, gone, 2)
	require.Equal(t, other.UUID, gone[0].UUID, "newest first")
	next, err := s.DeletedNodes(t.Context(), node.DeletedFilter{Marker: gone[0].ID})
	require.NoError(t, err)
	require.Equal(t, gone[1:], next)
}

func TestANodeThatIsEnrolledAgainIsAnotherOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "ann", always))
	again := &node.Node{UUID: n.UUID, Name: n.Name, Driver: "fake-hardware", ProvisionState: node.Available}
	require.NoError(t, s.CreateNode(t.Context(), again, nil, "bob"))

	events, err := s.History(t.Context(), n.Name, node.Page{})
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, "bob", events[0].User)
	ops, err := s.Operations(t.Context(), node.OperationFilter{Node: n.Name})
	require.NoError(t, err)
	require.Empty(t, ops, "an operation of the first is none of the second")
	ops, err = s.Operations(t.Context(), node.OperationFilter{Node: n.Name, Deleted: true})
	require.NoError(t, err)
	require.Len(t, ops, 1)
	_, err = s.Retry(t.Context(), o.ID, func(*node.Node, *node.Operation, bool) (*node.Request, error) {
		t.Error("the second is not to go on where the first was")
		return nil, nil
	})
	kind(t, fault.NotAllowed, err)

	whole, err := s.WholeHistory(t.Context(), n.Name, "", 0)
	require.NoError(t, err)
	require.Equal(t, events[0].UUID, whole[len(whole)-1].UUID, "one after the other")
	require.Nil(t, whole[len(whole)-1].DeletedAt)
	require.Contains(t, whole[len(whole)-2].Event, "deleted in")
	page, err := s.WholeHistory(t.Context(), n.Name, whole[len(whole)-2].UUID, 10)
	require.NoError(t, err)
	require.Equal(t, whole[len(whole)-1:], page, "a page begins where the last one ended, whichever node that was")

	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "cy", always))
	gone, err := s.DeletedNodes(t.Context(), node.DeletedFilter{Node: n.UUID})
	require.NoError(t, err)
	require.Len(t, gone, 2)
	require.Equal(t, []string{"cy", "ann"}, []string{gone[0].DeletedBy, gone[1].DeletedBy})
}

// A second node with the same uuid owes an undo and does it. That changes nothing in what is
// recorded of the first node.
func TestWhatADeletedNodeLeftStaysLeft(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Undo: []node.Undo{node.UndoPowerOff}})
	require.NoError(t, err)
	const left = "no disk" + node.UndoLeft + "400"
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: left})
	require.NoError(t, err)
	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "ann", always))
	again := &node.Node{UUID: n.UUID, Name: n.Name, Driver: "fake-hardware", ProvisionState: node.Available}
	require.NoError(t, s.CreateNode(t.Context(), again, nil, "bob"))
	second, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), second.ID, second.WorkflowID, "r2")
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: second.ID, Outcome: node.Failed, Error: "no disk"})
	require.NoError(t, err)
	old, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, left, old.Error)
}

func TestRecordsOfDeletedNodesAreDroppedAfterAWhile(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, _ := running(t, s)
	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "ann", always))
	raw(t, url, `UPDATE deleted_nodes SET deleted_at = deleted_at - interval '2 hours'`)
	raw(t, url, `UPDATE operations SET accepted_at = accepted_at - interval '3 hours'`)
	again := &node.Node{UUID: n.UUID, Driver: "fake-hardware", ProvisionState: node.Available}
	require.NoError(t, s.CreateNode(t.Context(), again, nil, "bob"))
	_, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "bob", always))
	living, _ := running(t, s)

	forgotten, err := s.ForgetDeleted(t.Context(), 3*time.Hour)
	require.NoError(t, err)
	require.Zero(t, forgotten)
	forgotten, err = s.ForgetDeleted(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, forgotten)
	gone, err := s.DeletedNodes(t.Context(), node.DeletedFilter{})
	require.NoError(t, err)
	require.Len(t, gone, 1)
	require.Equal(t, "bob", gone[0].DeletedBy)
	ops, err := s.Operations(t.Context(), node.OperationFilter{Node: n.UUID})
	require.NoError(t, err)
	require.Len(t, ops, 1, "that of the second stays as long as its own record")

	forgotten, err = s.ForgetDeleted(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, forgotten)
	_, err = s.ForgetEvents(t.Context(), 0, 1_000_000)
	require.NoError(t, err)
	require.Zero(t, ask[int](t, url, `SELECT count(*) FROM events h WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.id = h.node_id)`))
	require.Equal(t, 1, ask[int](t, url, `SELECT count(*) FROM operations`))
	events, err := s.History(t.Context(), living.UUID, node.Page{})
	require.NoError(t, err)
	require.NotEmpty(t, events)
}

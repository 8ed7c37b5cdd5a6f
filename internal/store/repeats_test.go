package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// Undos that fail in a row with the same cause share a line, which has how many they are and since when.
func TestRepeatedUndosFold(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, first := running(t, s)
	end := func(id int64, outcome node.Outcome) {
		t.Helper()
		_, err := s.CloseOperation(t.Context(), node.End{Operation: id, RunID: "r1", Outcome: outcome, Error: "x"})
		require.NoError(t, err)
	}
	end(first.ID, node.Failed)
	// again makes an undo of the node that is open, and was accepted a minute after the one before.
	again := func() int64 {
		t.Helper()
		return ask[int64](t, url, `INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, origin, target, conductor_group, driver, begun_at, run_id)
			SELECT node_id, node_uuid, node_name, 'undo', 'running', origin, target, conductor_group, driver, now(), 'r1' FROM operations WHERE id = $1 RETURNING id`, first.ID)
	}
	list := func(f node.OperationFilter) (ids []int64, repeats []int64) {
		t.Helper()
		ops, err := s.Operations(t.Context(), f)
		require.NoError(t, err)
		for i := range ops {
			ids, repeats = append(ids, ops[i].ID), append(repeats, ops[i].Repeats)
		}
		return ids, repeats
	}
	var undos []int64
	for range 3 {
		id := again()
		end(id, node.Failed)
		undos = append(undos, id)
	}
	open := again()
	ids, repeats := list(node.OperationFilter{Fold: true})
	require.Equal(t, []int64{open, undos[2], first.ID}, ids, "the open one is not one of the failures")
	require.Equal(t, []int64{0, 2, 0}, repeats)
	ops, err := s.Operations(t.Context(), node.OperationFilter{Fold: true, Outcome: node.Failed})
	require.NoError(t, err)
	o, err := s.Operation(t.Context(), undos[0])
	require.NoError(t, err)
	require.True(t, o.AcceptedAt.Equal(*ops[0].RepeatsSince), "since the first of them")
	ids, _ = list(node.OperationFilter{})
	require.Len(t, ids, 5, "each is still there")

	end(open, node.Succeeded)
	id := again()
	end(id, node.Failed)
	_, repeats = list(node.OperationFilter{Fold: true, Limit: 1})
	require.Equal(t, []int64{0}, repeats, "another one lies between")
	raw(t, url, `UPDATE operations SET cause = 'busy' WHERE id = $1`, id)
	end(again(), node.Failed)
	_, repeats = list(node.OperationFilter{Fold: true, Limit: 1})
	require.Equal(t, []int64{0}, repeats, "the cause is another one")
}

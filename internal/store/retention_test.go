package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestANodeKeepsItsLatestOperations(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, deployed := running(t, s)
	busy := n.UUID
	_, err := s.CloseOperation(t.Context(), node.End{Operation: deployed.ID, Outcome: node.Succeeded})
	require.NoError(t, err)
	failed, err := s.Request(t.Context(), busy, func(*node.Node) (*node.Request, error) {
		return &node.Request{Open: &node.Operation{Kind: node.KindPower}, Apply: func(*node.Node) {}}, nil
	})
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: failed.ID, Outcome: node.Failed, Error: "smoke", Cause: fault.BMCSilent})
	require.NoError(t, err)
	quiet := server(t, s, "small", "http://i/a")
	took(t, s, quiet, node.Step{Step: node.StepDeploy}, time.Second)
	const more = 5
	for range store.OperationsKept + more {
		took(t, s, busy, node.Step{Step: node.StepDeploy}, time.Second)
	}
	ids := func(uuid string) (ids []int64) {
		ops, err := s.Operations(t.Context(), node.OperationFilter{Node: uuid})
		require.NoError(t, err)
		for _, o := range ops {
			ids = append(ids, o.ID)
		}
		return ids
	}
	before := ids(busy) // the newest come first
	keyed := before[store.OperationsKept]
	raw(t, url, `INSERT INTO idempotency_keys (node_id, key, operation_id, seal, digest) SELECT node_id, 'k', id, 1, '' FROM operations WHERE id = $1`, keyed)
	_, err = s.ForgetEvents(t.Context(), 0, 1_000_000)
	require.NoError(t, err)

	forget := func(want int) {
		t.Helper()
		_, nodes, err := s.LearnTimes(t.Context())
		require.NoError(t, err)
		gone, err := s.ForgetOperations(t.Context(), nodes)
		require.NoError(t, err)
		require.Equal(t, want, gone)
	}
	forget(more - 1)
	require.Equal(t, append(append([]int64{}, before[:store.OperationsKept+1]...), failed.ID, deployed.ID), ids(busy), "the latest, the one with a key, the one that has failed and the only deploy")
	require.Len(t, ids(quiet), 1)
	require.Zero(t, ask[int](t, url, `SELECT count(*) FROM events e WHERE e.operation_seq > 0 AND e.event_type = '' AND NOT EXISTS (SELECT FROM operations o WHERE o.id = e.operation_id)`))
	require.NotZero(t, ask[int](t, url, `SELECT count(*) FROM events e WHERE e.operation_seq > 0 AND e.operation_id = $1`, deployed.ID))

	raw(t, url, `DELETE FROM idempotency_keys`)
	forget(0) // no operation of the node has ended since
	took(t, s, busy, node.Step{Step: node.StepDeploy}, time.Second)
	forget(2)
}

package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestNumbersThatWereGivenBeforeARestoreAreNotGivenAgain(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	o, err := s.Request(t.Context(), create(t, s, node.Available).UUID, deploy)
	require.NoError(t, err)
	event := ask[int64](t, url, `SELECT max(seq) FROM events`)
	restored(t, url)
	require.Greater(t, ask[int64](t, url, `SELECT deleted_through FROM event_feed`), event+999_999, "who has seen one of the lost events gets a reset")
	next, err := s.Request(t.Context(), create(t, s, node.Available).UUID, deploy)
	require.NoError(t, err)
	require.Greater(t, next.ID, o.ID+999_999)
	require.Greater(t, ask[int64](t, url, `SELECT max(seq) FROM events`), ask[int64](t, url, `SELECT deleted_through FROM event_feed`))
}

// restored says that the database was restored, and returns how many nodes had unfinished work.
func restored(t *testing.T, url string) int {
	t.Helper()
	nodes, err := store.Restored(t.Context(), url)
	require.NoError(t, err)
	return nodes
}

// The servers of nodes with unfinished work may have been deployed again since the backup. Nothing is undone before a person has looked.
func TestUnfinishedWorkRestsAfterARestore(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	serving(t, s)
	owes := owing(t, s)
	open, err := s.Request(t.Context(), create(t, s, node.Available).UUID, deploy)
	require.NoError(t, err)
	idle := create(t, s, node.Available)
	kept := create(t, s, node.Available)
	_, err = s.SetMaintenance(t.Context(), kept.UUID, true, "rack 7", "ann")
	require.NoError(t, err)
	require.Equal(t, 2, restored(t, url))
	for uuid, reason := range map[string]string{owes.UUID: "was restored", open.NodeUUID: "was restored", idle.UUID: "", kept.UUID: "rack 7"} {
		n, err := s.Node(t.Context(), uuid)
		require.NoError(t, err)
		require.Equal(t, reason != "", n.Maintenance)
		require.Contains(t, n.MaintenanceReason, reason)
	}
	o, err := s.Operation(t.Context(), open.ID)
	require.NoError(t, err)
	require.True(t, o.Paused)
	due, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", time.Hour, 10)
	require.NoError(t, err)
	require.Empty(t, due)
	_, err = s.SetMaintenance(t.Context(), owes.UUID, false, "", "ann")
	require.NoError(t, err)
	due, err = s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, 1, restored(t, url), "run again, it finds what began since")
}

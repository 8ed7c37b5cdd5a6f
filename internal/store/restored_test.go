package store_test

import (
	"testing"

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
	require.NoError(t, store.SkipNumbers(t.Context(), url))
	require.Greater(t, ask[int64](t, url, `SELECT deleted_through FROM event_feed`), event+999_999, "who has seen one of the lost events gets a reset")
	next, err := s.Request(t.Context(), create(t, s, node.Available).UUID, deploy)
	require.NoError(t, err)
	require.Greater(t, next.ID, o.ID+999_999)
	require.Greater(t, ask[int64](t, url, `SELECT max(seq) FROM events`), ask[int64](t, url, `SELECT deleted_through FROM event_feed`))
}

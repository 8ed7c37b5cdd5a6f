package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func hears(t *testing.T, ended <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		require.FailNow(t, "the end was not heard", what)
	}
}

const listeners = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '% events'`

func TestTheEndOfAnOperationIsHeardInEveryProcess(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	other := connect(t, store.Config{URL: url, Keyset: keyset})
	n, o := running(t, s)
	m, _ := running(t, s)
	unheard, stop, err := s.HearEnds(t.Context(), m.UUID)
	require.NoError(t, err)
	defer stop()
	var all []<-chan struct{}
	for _, process := range []*store.Store{s, s, other} {
		ended, stop, err := process.HearEnds(t.Context(), n.UUID)
		require.NoError(t, err)
		defer stop()
		all = append(all, ended)
	}
	_, stream := followed(t, s, events.Filter{Types: []string{"operation.ended"}}, nil)
	require.Equal(t, 2, ask[int](t, url, listeners), "one connection for each process, whatever it listens for")

	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Succeeded})
	require.NoError(t, err)
	for _, ended := range all {
		hears(t, ended, "close")
	}
	require.Len(t, collected(t, stream, 1), 1)
	require.NoError(t, s.DeleteNode(t.Context(), m.UUID, "bob", func(*node.Node) error { return nil }))
	hears(t, unheard, "delete")
}

// Transactions with a notification commit one after the other, so there is none while nobody waits.
func TestNobodyIsNotifiedOfEndsWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, stream := followed(t, s, events.Filter{}, nil)
	n, o := running(t, s)
	_, err := s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Succeeded})
	require.NoError(t, err)
	require.NotEmpty(t, collected(t, stream, 1))
	require.True(t, ask[bool](t, url, `SELECT ends_heard_until IS NULL FROM event_feed`))
	_, stop, err := s.HearEnds(t.Context(), n.UUID)
	require.NoError(t, err)
	stop()
	require.True(t, ask[bool](t, url, `SELECT ends_heard_until > clock_timestamp() FROM event_feed`))
}

func TestWhoeverWaitsNextListensOverANewConnection(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, o := running(t, s)
	lost, stopLost, err := s.HearEnds(t.Context(), n.UUID)
	require.NoError(t, err)
	defer stopLost()
	require.Equal(t, 1, ask[int](t, url, `SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '% events') x`))
	require.Eventually(t, func() bool { return ask[int](t, url, listeners) == 0 }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { // this process notices a little later
		_, stop, err := s.HearEnds(t.Context(), n.UUID)
		require.NoError(t, err)
		defer stop()
		return ask[int](t, url, listeners) == 1
	}, time.Minute, 10*time.Millisecond)
	ended, stop, err := s.HearEnds(t.Context(), n.UUID)
	require.NoError(t, err)
	defer stop()
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Succeeded})
	require.NoError(t, err)
	hears(t, ended, "over the new connection")
	require.Empty(t, lost)
}

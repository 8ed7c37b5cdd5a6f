package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
)

func TestTheSubscriptionsOfADeadConductorAreLeft(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	register := func(name string) int64 {
		incarnation, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name})
		require.NoError(t, err)
		return incarnation
	}
	open := func(conductor, address, id string) {
		require.NoError(t, s.OpenBMCSubscription(t.Context(), conductor, address, id))
	}
	left := func(address string) []string {
		ids, err := s.LeftBMCSubscriptions(t.Context(), address)
		require.NoError(t, err)
		return ids
	}
	first := register("c1")
	register("c2")
	open("c1", "https://bmc", "one")
	open("c2", "https://bmc", "two")
	require.Empty(t, left("https://bmc"), "both conductors are alive")
	require.NoError(t, s.StopConductor(t.Context(), "c1", first))
	require.Equal(t, []string{"one"}, left("https://bmc"))
	require.Empty(t, left("https://other"))
	require.NoError(t, s.AbandonBMCSubscription(t.Context(), "two"))
	require.Equal(t, []string{"one", "two"}, left("https://bmc"))
	require.NoError(t, s.EndedBMCSubscriptions(t.Context(), []string{"one", "two"}))
	require.Empty(t, left("https://bmc"))

	open("c2", "https://bmc", "old")
	raw(t, url, `UPDATE bmc_subscriptions SET opened_at = now() - interval '31 days'`)
	open("c2", "https://bmc", "new")
	require.Equal(t, 1, ask[int](t, url, `SELECT count(*) FROM bmc_subscriptions`))
}

func TestAnEventOfABMCIsAnnouncedToWhoHears(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.NoError(t, s.OpenBMCSubscription(t.Context(), "c1", "https://bmc", "one"))
	ctx, cancel := context.WithCancel(t.Context())
	ready, heard, ended := make(chan struct{}), make(chan string, 10), make(chan error, 1)
	go func() { ended <- s.HearBMCEvents(ctx, func() { close(ready) }, func(id string) { heard <- id }) }()
	<-ready
	known, err := s.AnnounceBMCEvent(t.Context(), "nobody's")
	require.NoError(t, err)
	require.False(t, known)
	known, err = s.AnnounceBMCEvent(t.Context(), "one")
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, "one", <-heard)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Empty(t, heard)
}

package redfish_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

func TestTheClockOfABMCIsReadAndSet(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	at, err := s.ReadClock(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)
	want := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	require.NoError(t, s.SetClock(t.Context(), want, "+00:00"))
	at, err = s.ReadClock(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, want, at, time.Minute)
}

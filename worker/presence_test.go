package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/worker"
)

// A process is recorded with the difference between its clock and the database's, and deletes its
// record when it stops.
func TestAProcessRecordsItsClock(t *testing.T) {
	keys, err := store.NewKeyset()
	require.NoError(t, err)
	db, err := store.Open(t.Context(), store.Config{URL: testenv.Postgres(t), Keyset: keys, ConductorTimeout: time.Hour})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	wrong := worker.Presence{
		Store: db, Process: coverage.Process{Role: coverage.RoleConductor, Name: "c1", Version: "v1"}, Every: 10 * time.Millisecond,
		Now: func() time.Time { return time.Now().Add(-time.Hour) }, Log: zap.NewNop(),
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); wrong.Run(ctx) }()
	var seen []coverage.Process
	require.Eventually(t, func() bool {
		h, err := db.FleetHealth(t.Context())
		seen = h.Processes
		return err == nil && len(seen) == 1 && seen[0].Ahead != nil
	}, time.Minute, 10*time.Millisecond)
	require.True(t, seen[0].Alive)
	require.Equal(t, "v1", seen[0].Version)
	require.InDelta(t, -time.Hour.Seconds(), seen[0].Ahead.Seconds(), 60)
	stop()
	<-ended
	h, err := db.FleetHealth(t.Context())
	require.NoError(t, err)
	require.Empty(t, h.Processes)
}

// The time since when something does not answer is that of the first question without an answer.
func TestItIsKnownSinceWhenSomethingDoesNotAnswer(t *testing.T) {
	var down error
	answers := func(context.Context) (string, error) { return "17.5", down }
	d := worker.Dependencies{PostgreSQL: answers, Temporal: func(context.Context) (string, error) { return "1.29", nil }}
	now := d.Ask(t.Context())
	require.Equal(t, status.Answer{Version: "17.5"}, now.PostgreSQL, "since when it answers is not known")
	down = fault.Coded(fault.DatabaseUnavailable, "dial 10.0.0.1")
	before := time.Now()
	first := d.Ask(t.Context())
	require.Equal(t, status.PostgreSQLAway, first.PostgreSQL.Trouble)
	require.Empty(t, first.Temporal.Trouble)
	require.WithinRange(t, first.PostgreSQL.Since, before, time.Now())
	require.Equal(t, first.PostgreSQL.Since, d.Ask(t.Context()).PostgreSQL.Since)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	down = errors.New("nobody waits for the answer")
	d.Ask(gone)
	down = fault.Coded(fault.DatabaseUnavailable, "dial 10.0.0.1")
	require.Equal(t, first.PostgreSQL.Since, d.Ask(t.Context()).PostgreSQL.Since)
	down = nil
	require.True(t, d.Ask(t.Context()).PostgreSQL.Since.After(first.PostgreSQL.Since), "since when it answers again")
}

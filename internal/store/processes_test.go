package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// Only a live orchestrator that has started later takes the lead from another one.
func TestWhichOrchestratorHasStartedLast(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	s := connect(t, store.Config{URL: url, Keyset: keyset, ConductorTimeout: 15 * time.Second})
	_, err := s.Witness(t.Context(), time.Time{}, true)
	require.NoError(t, err)
	last := func(name string) bool {
		is, err := s.StartedLast(t.Context(), name)
		require.NoError(t, err)
		return is
	}
	see := func(role coverage.Role, name string, first bool) {
		_, err := s.SeeProcess(t.Context(), coverage.Process{Role: role, Name: name, Version: "1"}, first)
		require.NoError(t, err)
	}
	see(coverage.RoleOrchestrator, "a", true)
	see(coverage.RoleAPI, "z", true)
	require.True(t, last("a"))
	see(coverage.RoleOrchestrator, "b", true)
	require.False(t, last("a"))
	require.True(t, last("b"))
	see(coverage.RoleOrchestrator, "a", false)
	require.False(t, last("a"), "a sign of life is no start")
	raw(t, url, `UPDATE processes SET seen_at = seen_at - interval '1 hour' WHERE name = 'b'`)
	require.True(t, last("a"), "b has died")
}

func TestAnEventAboutNothingInTheDatabaseIsInTheStream(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.NoError(t, s.AddEvent(t.Context(), events.Event{Type: events.TemporalChanged, Data: map[string]any{"field": "spec.interval"}}))
	list, _, err := s.Events(t.Context(), events.Query{Through: 1 << 40, Limit: 10, Filter: events.Filter{Types: []string{"temporal"}}})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "spec.interval", list[0].Data["field"])
	require.Empty(t, list[0].NodeUUID)
}

package dev_test

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/testenv"
)

// restarts returns how often a stack is started again, each time with one of its ports taken.
func restarts() int {
	if testenv.All() {
		return 10
	}
	return 2
}

func TestStartedAgainItAlwaysRuns(t *testing.T) {
	data := folder(t)
	args := []string{"--nodes", "2", "--conductors", "2"}
	s := start(t, data, args...)
	for range restarts() {
		s.forgotten()
		require.Zero(t, s.terminate())
		had := addresses(t, data)
		other := takeOne(t, had)
		s = start(t, data, args...)
		names, err := s.nodes()
		require.NoError(t, err)
		require.Equal(t, []string{"sim-0001", "sim-0002"}, names)
		require.NotContains(t, s.out.String(), "panic")
		require.NotContains(t, slices.Collect(maps.Values(addresses(t, data))), other.Addr().String())
		require.NoError(t, other.Close())
	}
	require.Zero(t, s.terminate())
}

// forgotten makes all contacts with Temporal old, as after a night in which nothing ran, so that no process has a newer one.
func (s *stack) forgotten() {
	s.t.Helper()
	for _, name := range []string{"conductor-1", "conductor-2", "orchestrator"} {
		s.kill(name)
	}
	require.Eventually(s.t, func() bool {
		_, runs := s.processes()["orchestrator"]
		return !runs
	}, seenWithin, look)
	db, err := pgx.Connect(s.t.Context(), s.info().DatabaseURL)
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, db.Close(s.t.Context())) }()
	_, err = db.Exec(s.t.Context(), "UPDATE witness SET contact_at = contact_at - interval '8 hours', contact_from = NULL, contact_until = NULL")
	require.NoError(s.t, err)
}

// addresses returns the addresses that the stack keeps for its next start, by what listens there.
func addresses(t *testing.T, data string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(data, "run", "addresses.json"))
	require.NoError(t, err)
	var list map[string]string
	require.NoError(t, json.Unmarshal(b, &list))
	return list
}

// takeOne listens on one of the addresses of metrics. The other addresses can't be taken, because enrolled nodes expect
// servers there.
func takeOne(t *testing.T, of map[string]string) net.Listener {
	t.Helper()
	for what, address := range of {
		if strings.HasSuffix(what, "metrics") || strings.HasPrefix(what, "temporal") || what == "postgres" || what == "api" {
			l, err := net.Listen("tcp", address)
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() }) // closed already, unless the test failed
			return l
		}
	}
	require.Fail(t, "nothing is kept")
	return nil
}

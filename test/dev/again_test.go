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
	"go.temper.dev/temper/test/stack"
)

// restarts returns how often a stack is started again, each time with one of its ports taken.
func restarts() int {
	if testenv.All() {
		return 10
	}
	return 2
}

func TestStartedAgainItAlwaysRuns(t *testing.T) {
	dir := stack.Folder(t)
	args := []string{"--nodes", "2", "--conductors", "2"}
	s := start(t, dir, args...)
	for range restarts() {
		s.forgotten()
		s.terminate("nothing is wrong")
		had := addresses(t, dir)
		other := takeOne(t, had)
		s = start(t, dir, args...)
		names, err := s.nodes()
		require.NoError(t, err)
		require.Equal(t, []string{"sim-0001", "sim-0002"}, names)
		require.NotContains(t, s.said(), "panic")
		require.NotContains(t, slices.Collect(maps.Values(addresses(t, dir))), other.Addr().String())
		require.NoError(t, other.Close())
	}
	s.terminate("nothing is wrong")
}

// forgotten makes all contacts with Temporal old, as after a night in which nothing ran, so that no process has a newer one.
func (w *world) forgotten() {
	w.t.Helper()
	for _, name := range []string{"conductor-1", "conductor-2", "orchestrator"} {
		w.kill(name)
	}
	require.Eventually(w.t, func() bool {
		_, runs := w.processes()["orchestrator"]
		return !runs
	}, seenWithin, look)
	db, err := pgx.Connect(w.t.Context(), w.DatabaseURL)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, db.Close(w.t.Context())) }()
	_, err = db.Exec(w.t.Context(), "UPDATE witness SET contact_at = contact_at - interval '8 hours', contact_from = NULL, contact_until = NULL")
	require.NoError(w.t, err)
}

// addresses returns the addresses that the stack keeps for its next start, by what listens there.
func addresses(t *testing.T, dir string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "data", "run", "addresses.json"))
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

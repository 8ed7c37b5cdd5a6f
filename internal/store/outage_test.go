package store_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/pgserver"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// ownServer is a cluster that this test may stop.
func ownServer(t testing.TB, settings map[string]string) (*pgserver.Server, pgserver.Options) {
	t.Helper()
	if _, err := pgserver.Find(); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "store-test-pg-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := pgserver.Options{Dir: filepath.Join(dir, "pg"), EndWithStarter: true, Settings: settings}
	server, err := pgserver.Start(t.Context(), o)
	require.NoError(t, err)
	o.Port = server.Port
	t.Cleanup(func() { stop(t, server) })
	return server, o
}

func stop(t testing.TB, s *pgserver.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(t, s.Stop(ctx))
}

func TestAStoppedDatabaseIsSaidToBeAwayAndComesBack(t *testing.T) {
	t.Parallel()
	server, options := ownServer(t, nil)
	url := server.URL("postgres")
	s := connect(t, store.Config{URL: url, Keyset: keyset})
	require.NoError(t, s.Migrate(t.Context()))
	n := create(t, s, node.Available)
	stop(t, server)

	calls := map[string]func() error{
		"ready":   func() error { return s.Ready(t.Context()) },
		"read":    func() error { _, err := s.Node(t.Context(), n.UUID); return err },
		"list":    func() error { _, err := s.Nodes(t.Context(), node.Filter{}, node.Page{}); return err },
		"request": func() error { _, err := s.Request(t.Context(), n.UUID, deploy); return err },
		"begin":   func() error { _, err := s.Begin(t.Context(), 1, "", "r"); return err },
		"close":   func() error { return closeErr(s.CloseOperation(t.Context(), node.End{Operation: 1})) },
		"migrate": func() error { return s.Migrate(t.Context()) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			kind(t, fault.Unavailable, call())
			require.Less(t, time.Since(start), 20*time.Second)
		})
	}
	again, err := pgserver.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, again) })
	o, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	require.NotZero(t, o.ID)
	require.NoError(t, s.Ready(t.Context()))
}

func TestADatabaseThatDoesNotAnswerIsAwayWithinTheDeadline(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s := connect(t, store.Config{URL: "postgres://u:hunter2@" + l.Addr().String() + "/db?sslmode=disable"})
	start := time.Now()
	_, err = s.Node(t.Context(), "n1")
	kind(t, fault.Unavailable, err)
	require.Less(t, time.Since(start), 20*time.Second)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestARowThatIsHeldForLongIsUnavailable(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	s := connect(t, store.Config{URL: url, LockTimeout: 200 * time.Millisecond})
	n := create(t, s, node.Available)
	conn := beside(t, url)
	_, err := conn.Exec(t.Context(), "BEGIN")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "SELECT 1 FROM nodes WHERE id = $1 FOR UPDATE", n.ID)
	require.NoError(t, err)
	kind(t, fault.Unavailable, maintain(t, s, n.UUID, true, "", ""))
	_, err = conn.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, maintain(t, s, n.UUID, true, "", ""))
}

func TestACallerThatGoesAwayIsNoFault(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.UpdateNode(ctx, n.UUID, "", func(*node.Node) (node.Secrets, error) {
		cancel()
		return nil, nil
	})
	require.ErrorIs(t, err, context.Canceled)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Nil(t, got.UpdatedAt)
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	require.NoError(t, s.Migrate(t.Context()), "again is fine")
	raw(t, url, "INSERT INTO schema_versions (version_id, is_applied) VALUES (99999, true)")
	for _, err := range []error{s.Migrate(t.Context()), s.Ready(t.Context())} {
		kind(t, fault.Invalid, err)
		require.ErrorContains(t, err, "schema 99999, newer than")
	}
}

func TestAnEmptyDatabaseIsNotReady(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	raw(t, url, "DELETE FROM schema_versions WHERE version_id > 0")
	s := connect(t, store.Config{URL: url})
	kind(t, fault.Unavailable, s.Ready(t.Context()))
	raw(t, url, "DROP TABLE schema_versions")
	kind(t, fault.Unavailable, s.Ready(t.Context()))
}

// A database of an unreleased version is refused, and nothing is written to it.
func TestADatabaseOfAnUnreleasedVersionIsRefused(t *testing.T) {
	t.Parallel()
	later, err := os.ReadFile("testdata/bf1a55d7.sql")
	require.NoError(t, err)
	for name, old := range map[string]string{
		"the first migrations": "CREATE TABLE goose_db_version (version_id bigint)",
		"bf1a55d7":             string(later),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := testenv.Postgres(t)
			raw(t, url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"+old)
			const relations = "SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
			before := ask[string](t, url, relations)
			s := connect(t, store.Config{URL: url, Keyset: keyset})
			for _, err := range []error{s.Migrate(t.Context()), s.Ready(t.Context())} {
				kind(t, fault.Invalid, err)
				require.ErrorContains(t, err, "create a new database (createdb NAME)")
			}
			require.Equal(t, before, ask[string](t, url, relations))
		})
	}
}

func TestProcessesThatMigrateAtOnceAgree(t *testing.T) {
	t.Parallel()
	base := testenv.Postgres(t)
	raw(t, base, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	errs := make(chan error, 5)
	for range 5 {
		go func() { errs <- store.Migrate(t.Context(), base) }()
	}
	for range 5 {
		require.NoError(t, <-errs)
	}
	require.NoError(t, connect(t, store.Config{URL: base}).Ready(t.Context()))
}

package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// locked locks the tables until the test ends.
func locked(t *testing.T, url, tables string) {
	t.Helper()
	conn := beside(t, url)
	_, err := conn.Exec(t.Context(), "BEGIN")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "LOCK TABLE "+tables+" IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
}

func calls(s *store.Store, n *node.Node) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"read":    func(ctx context.Context) error { _, err := s.Node(ctx, n.UUID); return err },
		"list":    func(ctx context.Context) error { _, err := s.Nodes(ctx, node.Filter{}, node.Page{}); return err },
		"request": func(ctx context.Context) error { _, err := s.Request(ctx, n.UUID, deploy); return err },
		"write":   func(ctx context.Context) error { _, err := s.ForgetRequests(ctx); return err },
		"shares":  func(ctx context.Context) error { _, err := s.ShareState(ctx); return err },
		"counts":  func(ctx context.Context) error { _, err := s.AddUpNodeCounts(ctx); return err },
	}
}

func TestAStatementThatTakesTooLongIsNoOutage(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	n := create(t, connect(t, store.Config{URL: url}), node.Available)
	locked(t, url, "nodes, idempotency_keys, node_counts, compute_services")
	for limit, c := range map[string]store.Config{
		"a statement may take 50ms":            {URL: url, StatementTimeout: 50 * time.Millisecond, LockTimeout: time.Hour},
		"it waits for a lock for at most 50ms": {URL: url, StatementTimeout: time.Hour, LockTimeout: 50 * time.Millisecond},
	} {
		for name, call := range calls(connect(t, c), n) {
			err := call(t.Context())
			require.Equal(t, fault.DatabaseTimeout, fault.CodeOf(err), "%s: %v", name, err)
			require.ErrorContains(t, err, limit, name)
			require.True(t, fault.Is(err, fault.Unavailable), name)
		}
	}
	for name, call := range calls(connect(t, store.Config{URL: url, LockTimeout: time.Hour}), n) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := call(ctx)
		cancel()
		require.Equal(t, fault.DatabaseTimeout, fault.CodeOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "(after ", name)
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, call(ctx), context.Canceled, name)
	}
}

func TestWhatPostgreSQLHasUndoneIsNotInDoubt(t *testing.T) {
	t.Parallel()
	other, url := openURL(t)
	for want, c := range map[fault.Code]struct {
		config store.Config
		within time.Duration
	}{
		fault.DatabaseTimeout: {store.Config{URL: url, Keyset: keyset, StatementTimeout: 500 * time.Millisecond}, time.Hour},
		fault.RequestInDoubt:  {store.Config{URL: url, Keyset: keyset, LockTimeout: time.Hour}, 3 * time.Second},
	} {
		s := connect(t, c.config)
		n := create(t, other, node.Available)
		ctx, cancel := context.WithTimeout(t.Context(), c.within)
		conn := beside(t, url)
		_, err := s.Request(ctx, n.UUID, func(n *node.Node) (*node.Request, error) {
			_, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE events IN EXCLUSIVE MODE")
			require.NoError(t, err)
			return deploy(n)
		})
		cancel()
		require.Equal(t, want, fault.CodeOf(err), "%v", err)
		_, err = conn.Exec(t.Context(), "ROLLBACK")
		require.NoError(t, err)
	}
}

func TestALargeValueHasMoreTime(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	s := connect(t, store.Config{URL: url, Keyset: keyset, StatementTimeout: 10 * time.Second})
	n := create(t, s, node.Available)
	raw(t, url, `CREATE TABLE had (timeout text)`)
	raw(t, url, `CREATE FUNCTION note_timeout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO had VALUES (current_setting('statement_timeout')); RETURN NEW; END $$`)
	raw(t, url, `CREATE TRIGGER note_timeout BEFORE INSERT OR UPDATE ON secrets FOR EACH ROW EXECUTE FUNCTION note_timeout()`)
	for size, want := range map[int]string{100: "10s", 8 << 20: "14s"} {
		raw(t, url, `TRUNCATE had`)
		_, err := s.UpdateNode(t.Context(), n.UUID, "", func(*node.Node) (node.Secrets, error) {
			return node.Secrets{"instance_info/configdrive": strings.Repeat("x", size)}, nil
		})
		require.NoError(t, err)
		require.Equal(t, want, ask[string](t, url, `SELECT min(timeout) FROM had`))
	}
}

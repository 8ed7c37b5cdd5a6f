package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var keyset = func() string {
	k, err := store.NewKeyset()
	if err != nil {
		panic(err)
	}
	return k
}()

func open(t testing.TB) *store.Store {
	t.Helper()
	s, _ := openURL(t)
	return s
}

// openURL is a store in which a conductor that registers stays alive, however busy the machine is.
func openURL(t testing.TB) (*store.Store, string) {
	t.Helper()
	url := testenv.Postgres(t)
	return connect(t, store.Config{URL: url, Keyset: keyset, MaxConns: 30, ConductorTimeout: time.Hour}), url
}

// expiring is a store in which a conductor is dead after the usual time.
func expiring(t testing.TB) (*store.Store, string) {
	t.Helper()
	url := testenv.Postgres(t)
	return connect(t, store.Config{URL: url, Keyset: keyset, MaxConns: 30}), url
}

func connect(t testing.TB, c store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

var besides sync.Map // url -> *pgx.Conn, closed when its database is dropped

func beside(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	if c, ok := besides.Load(url); ok {
		return c.(*pgx.Conn)
	}
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	besides.Store(url, c)
	t.Cleanup(func() { besides.Delete(url); _ = c.Close(context.Background()) })
	return c
}

// raw runs a statement on a connection that is not the store's.
func raw(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	_, err := beside(t, url).Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// ask reads one value on a connection that is not the store's.
func ask[T any](t testing.TB, url, sql string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, beside(t, url).QueryRow(t.Context(), sql, args...).Scan(&v))
	return v
}

var names atomic.Int64

// create makes a node in the given state.
func create(t testing.TB, s *store.Store, state node.State) *node.Node {
	t.Helper()
	n := &node.Node{
		Name: fmt.Sprintf("n%d", names.Add(1)), Driver: "fake-hardware", ProvisionState: state,
		Interfaces: map[string]string{"power": "fake"}, DriverInfo: map[string]any{"a": "b"},
	}
	require.NoError(t, s.CreateNode(t.Context(), n, nil, "admin"))
	return n
}

// credentials returns the decrypted secrets of the node as it is now.
func credentials(t testing.TB, s *store.Store, uuid string) (node.Secrets, error) {
	t.Helper()
	n, err := s.Node(t.Context(), uuid)
	require.NoError(t, err)
	return s.Credentials(t.Context(), n)
}

// deploy is a request that deploys a node without any check.
func deploy(*node.Node) (*node.Request, error) {
	return &node.Request{Move: []node.Event{node.EventDeploy}, Open: &node.Operation{
		Kind: node.KindDeploy, Target: node.Active, RequestedBy: "admin",
		Steps: []node.Step{{Interface: "deploy", Step: "deploy", State: node.StepPending}},
	}}, nil
}

// running returns a node whose deploy has begun as run "r1", with the claim 1.1.
func running(t testing.TB, s *store.Store) (*node.Node, *node.Operation) {
	t.Helper()
	n := create(t, s, node.Available)
	o, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	n, err = s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 1, Attempt: 1}, time.Time{}, "c1")
	require.NoError(t, err)
	return n, n.Operation
}

var first = node.Claim{Seq: 1, Attempt: 1}

// booting is running, with a boot of the agent that has begun.
func booting(t testing.TB, s *store.Store) (*node.Node, *node.Operation) {
	t.Helper()
	n, o := running(t, s)
	_, err := s.BeginBoot(t.Context(), o.ID, first, nil)
	require.NoError(t, err)
	return n, o
}

func kind(t testing.TB, want fault.Kind, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, fault.KindOf(err), err.Error())
}

func ptr[T any](v T) *T { return &v }

func someUUID() string { return uuid.NewString() }

func maintain(t testing.TB, s *store.Store, ident string, on bool, reason, user string) error {
	_, err := s.SetMaintenance(t.Context(), ident, on, reason, user)
	return err
}

package apitest

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/internal/webhook"
)

// alive is how long conductors and compute services live after their heartbeat:
// longer than any test, also on a busy machine.
const alive = 10 * time.Minute

// Bench is one API with a database of its own.
type Bench struct {
	T          testing.TB // fails where an assertion does not hold; a subtest puts its own here
	Store      *store.Store
	Operations *Operations
	Handler    http.Handler
	Server     *api.Server
	Last       *Answer // of the last request, those of Serve aside
	User       string  // name:password of every request; "" = none

	headers     http.Header // of every request
	url, keyset string      // of the database
	read        *reading
	others      *others
}

// others is the connection for what others write and read. There is one, because it costs PostgreSQL more than most statements.
type others struct {
	mu   sync.Mutex
	conn *pgx.Conn // nil = there is none yet
}

// New starts an API without conductors. An orchestrator counts as alive. change may alter its configuration.
func New(t testing.TB, change ...func(*api.Config)) *Bench {
	t.Helper()
	keyset, err := store.NewKeyset()
	require.NoError(t, err)
	b := serve(t, testenv.Postgres(t), keyset, change)
	_, err = b.Store.SeeProcess(t.Context(), coverage.Process{Role: coverage.RoleOrchestrator, Name: "o1"}, true)
	require.NoError(t, err)
	return b
}

// Another starts another API process over the same database.
func (b *Bench) Another(change ...func(*api.Config)) *Bench {
	b.T.Helper()
	return serve(b.T, b.url, b.keyset, change)
}

func serve(t testing.TB, url, keyset string, change []func(*api.Config)) *Bench {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{URL: url, Keyset: keyset, MaxConns: 4, ConductorTimeout: alive, ComputeLease: alive})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	read := &reading{}
	t.Cleanup(read.close)
	b := &Bench{T: t, read: read, url: url, keyset: keyset, Store: st, Operations: &Operations{}, others: &others{}}
	t.Cleanup(b.others.close)
	c := api.Config{
		Webhooks: webhook.NewSender(dial.Reach{Loopback: true}),
		Store:    st, Operations: b.Operations, Drivers: Drivers{}, PublicURL: "http://temper.test:6385", AutomatedClean: true, OwnNodes: true,
		Agent: api.AgentSettings{Callback: agent.CallbackPolicy{AllowHTTP: true, AllowLoopback: true}},
	}
	for _, f := range change {
		f(&c)
	}
	server, err := api.New(c)
	require.NoError(t, err)
	t.Cleanup(server.EndStreams)
	b.Server, b.Handler = server, server.Handler()
	return b
}

// WithConductors registers conductors c1 and c2 with fake-hardware and redfish,
// again if they were killed.
func (b *Bench) WithConductors() *Bench {
	b.Conductor("c1", "", "fake-hardware", "redfish")
	b.Conductor("c2", "", "fake-hardware", "redfish")
	return b
}

// Conductor registers a conductor with all interfaces of some hardware types,
// and returns its incarnation.
func (b *Bench) Conductor(name, group string, types ...string) int64 {
	b.T.Helper()
	interfaces := map[string]map[string][]string{}
	for _, driver := range types {
		hw, ok := node.Hardware(driver)
		require.True(b.T, ok, driver)
		interfaces[driver] = hw.Supports()
	}
	incarnation, err := b.Store.RegisterConductor(b.T.Context(), coverage.Conductor{Hostname: name, Group: group, Interfaces: interfaces})
	require.NoError(b.T, err)
	return incarnation
}

// Kill makes the last heartbeats of conductors an hour old.
func (b *Bench) Kill(names ...string) {
	b.T.Helper()
	for _, name := range names {
		b.SQL(`UPDATE conductors SET heartbeat_at = heartbeat_at - interval '1 hour', polled_at = polled_at - interval '1 hour' WHERE hostname = $1`, name)
	}
}

// SQL changes rows behind the API's back, to bring a node where a test begins.
func (b *Bench) SQL(statement string, args ...any) {
	b.T.Helper()
	b.aside(func(c *pgx.Conn) error {
		_, err := c.Exec(b.T.Context(), statement, args...)
		return err
	}, statement)
}

// Text reads one value behind the API's back.
func (b *Bench) Text(query string) (out string) {
	b.T.Helper()
	b.aside(func(c *pgx.Conn) error { return c.QueryRow(b.T.Context(), query).Scan(&out) }, query)
	return out
}

// aside calls f with the connection for what others write and read.
func (b *Bench) aside(f func(*pgx.Conn) error, statement string) {
	b.T.Helper()
	b.others.mu.Lock()
	defer b.others.mu.Unlock()
	if b.others.conn == nil || b.others.conn.IsClosed() {
		c, err := pgx.Connect(b.T.Context(), b.url)
		require.NoError(b.T, err)
		b.others.conn = c
	}
	require.NoError(b.T, f(b.others.conn), statement)
}

func (o *others) close() {
	if o.conn != nil {
		_ = o.conn.Close(context.Background()) // its database is dropped next
	}
}

package api_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

func TestTheDatabaseAway(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close()) // now nothing listens on the port
	keyset, err := store.NewKeyset()
	require.NoError(t, err)
	st, err := store.Open(t.Context(), store.Config{URL: "postgres://temper:swordfish@" + l.Addr().String() + "/temper", Keyset: keyset})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	core, lines := observer.New(zap.InfoLevel)
	b := apitest.New(t, func(c *api.Config) { c.Store, c.Log = st, zap.New(core) })
	require.Equal(t, "Resource temporarily unavailable, please retry. PostgreSQL is away or busy.", b.Get("/v1/nodes").Fails(503))
	require.Equal(t, fault.DatabaseUnavailable, b.Last.Refused(503).Code)
	logged := told(t, lines, b.Last)
	require.Contains(t, logged, ": the database is away: dial tcp")
	require.Contains(t, logged, "refused")
	require.NotContains(t, logged, "swordfish")
}

func TestNoConductorIsToldFromTheDatabaseAway(t *testing.T) {
	t.Parallel()
	core, lines := observer.New(zap.InfoLevel)
	b := apitest.New(t, func(c *api.Config) { c.Log = zap.New(core) })
	require.Equal(t, "Resource temporarily unavailable, please retry. "+fault.NoConductorAlive.Meaning(), b.Post("/v1/nodes", map[string]any{"driver": "redfish"}).Fails(503))
	require.Equal(t, fault.NoConductorAlive, b.Last.Refused(503).Code)
	require.Contains(t, told(t, lines, b.Last), `no conductor is alive and takes work, so there is none with driver redfish in the default conductor group`)
}

// told returns the error that was logged with the request id of an answer.
func told(t *testing.T, lines *observer.ObservedLogs, a *apitest.Answer) string {
	t.Helper()
	mine := lines.FilterField(zap.String("request_id", a.Header.Get("OpenStack-Request-Id"))).FilterMessage("request failed").All()
	require.Len(t, mine, 1)
	return fmt.Sprint(mine[0].ContextMap()["error"])
}

func TestADeadlineIsToldFromTheDatabaseAway(t *testing.T) {
	url := testenv.Postgres(t)
	st, err := store.Open(t.Context(), store.Config{URL: url, StatementTimeout: 50 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	b := apitest.New(t, func(c *api.Config) { c.Store = st })
	holder, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = holder.Close(context.Background()) })
	_, err = holder.Exec(t.Context(), "BEGIN; LOCK TABLE nodes")
	require.NoError(t, err)
	words := b.Get("/v1/nodes").Fails(503)
	require.Equal(t, fault.DatabaseTimeout, b.Last.Refused(503).Code)
	require.Contains(t, words, fault.DatabaseTimeout.Meaning())
	require.Contains(t, words, "a statement may take 50ms")
}

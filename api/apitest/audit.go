package apitest

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/audit"
)

// unaudited are the requests of programs that report, by method and path of openapi.yaml. Those of compute services have a row when they
// register a service.
var unaudited = []string{
	"POST /v1/heartbeat/{node}", "POST /v1/continue_inspection", "POST /temper/v1/bmc-events/{secret}", "PUT /temper/v1/compute-services/{host}",
}

// checkAudit holds the audit against a request of a bench: who asks for a change has exactly one row.
func (b *Bench) checkAudit(r *http.Request, a *Answer) {
	b.T.Helper()
	if r.Method == http.MethodGet || r.Method == http.MethodHead || a.Status >= 500 || a.Status == http.StatusNotAcceptable { // the database may be away; nobody was asked who he is
		return
	}
	find, err := router()
	require.NoError(b.T, err)
	like := r.Clone(b.T.Context())
	like.URL.Path, like.URL.RawPath = tidied(like.URL.Path), ""
	route, _, err := find.FindRoute(like)
	if err != nil || slices.Contains(unaudited, r.Method+" "+route.Path) {
		return
	}
	rows := b.Audited(a)
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusTooManyRequests || a.Status == http.StatusMisdirectedRequest || a.Status == http.StatusForbidden {
		require.LessOrEqual(b.T, len(rows), 1, a.what)
		return
	}
	require.Len(b.T, rows, 1, "%s: %d has no row in the audit, or several", a.what, a.Status)
	row := rows[0]
	if row.Status == 0 { // the change was committed
		require.Equal(b.T, audit.Accepted, row.Outcome, a.what)
		return
	}
	require.Equal(b.T, audit.OutcomeOf(a.Status), row.Outcome, a.what)
	require.Equal(b.T, a.Status, row.Status, a.what)
}

// reader returns a connection to the database that reads behind the API's back.
func (b *Bench) reader() *pgxpool.Pool {
	b.T.Helper()
	b.read.once.Do(func() {
		config, err := pgxpool.ParseConfig(b.url)
		require.NoError(b.T, err)
		config.MaxConns = 1
		b.read.pool, err = pgxpool.NewWithConfig(context.Background(), config)
		require.NoError(b.T, err)
	})
	return b.read.pool
}

// reading is a pool that is opened when it is first needed. The benches of one API share it.
type reading struct {
	once sync.Once
	pool *pgxpool.Pool
}

func (r *reading) close() {
	if r.pool != nil {
		r.pool.Close()
	}
}

// Audited returns the rows that the audit has of a request.
func (b *Bench) Audited(a *Answer) []audit.Entry {
	b.T.Helper()
	rows, err := b.reader().Query(b.T.Context(), `
SELECT a.username, a.method, a.source, a.rule, a.route, coalesce(a.node_uuid::text, ''), a.node_name, a.kind, a.target, coalesce(a.operation_id, 0), a.what, a.reason, a.outcome, a.status
  FROM audit a WHERE a.request_id = $1`, a.Header.Get("OpenStack-Request-Id"))
	require.NoError(b.T, err)
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (e audit.Entry, err error) {
		return e, r.Scan(&e.User, &e.Method, &e.From, &e.Rule, &e.Route, &e.NodeUUID, &e.NodeName, &e.Kind, &e.Target, &e.Operation, &e.What, &e.Reason, &e.Outcome, &e.Status)
	})
	require.NoError(b.T, err)
	return out
}

package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// asked is the context of a request of ann's.
func asked(t testing.TB) (context.Context, *audit.Record) {
	return audit.Begin(t.Context(), audit.Entry{User: "ann", Method: access.HTTPBasic, From: "192.0.2.1", RequestID: "req-1", Rule: "baremetal:node:delete", Route: "DELETE /v1/nodes/:node"})
}

func entries(t testing.TB, s *store.Store, f audit.Filter) []audit.Entry {
	t.Helper()
	out, err := s.AuditEntries(t.Context(), f)
	require.NoError(t, err)
	return out
}

func TestTheAuditIsWrittenWithTheChange(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	require.Empty(t, entries(t, s, audit.Filter{}), "nobody has asked for it")

	ctx, r := asked(t)
	refusal := fault.New(fault.Conflict, "no")
	require.ErrorIs(t, s.DeleteNode(ctx, n.UUID, "ann", func(*node.Node) error { return refusal }), refusal)
	require.Empty(t, entries(t, s, audit.Filter{}), "nothing has changed")
	require.NoError(t, s.DeleteNode(ctx, n.UUID, "ann", func(*node.Node) error { return nil }))
	_, left := r.Take()
	require.False(t, left)

	rows := entries(t, s, audit.Filter{})
	require.Len(t, rows, 1, "it outlives the node")
	e := rows[0]
	require.WithinDuration(t, time.Now(), e.At, time.Minute)
	e.Seq, e.At = 0, time.Time{}
	require.Equal(t, audit.Entry{
		User: "ann", Method: access.HTTPBasic, From: "192.0.2.1", RequestID: "req-1", Rule: "baremetal:node:delete", Route: "DELETE /v1/nodes/:node",
		NodeUUID: n.UUID, NodeName: n.Name, What: []string{}, Outcome: audit.Accepted, Count: 1,
	}, e)
}

func TestARequestHasOneRowForAllItsTransactions(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	ctx, _ := asked(t)
	o, err := s.Request(ctx, n.UUID, deploy)
	require.NoError(t, err)
	_, err = s.SetMaintenance(ctx, n.UUID, true, "x", "ann")
	require.NoError(t, err)
	rows := entries(t, s, audit.Filter{})
	require.Len(t, rows, 1)
	require.Equal(t, o.ID, rows[0].Operation)
}

// After a COMMIT without an answer the row may be there or not.
func TestARowInDoubtIsNotWrittenTwice(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := audit.Entry{RequestID: "req-1", Outcome: audit.Failed, Status: 503}
	require.NoError(t, s.Audit(t.Context(), e, false))
	require.NoError(t, s.Audit(t.Context(), e, true))
	require.Len(t, entries(t, s, audit.Filter{}), 1)
	e.RequestID, e.NodeName = "req-2", "n1"
	require.NoError(t, s.Audit(t.Context(), e, true))
	e.RequestID, e.NodeName, e.NodeUUID = "req-3", "", "00000000-0000-0000-0000-000000000001"
	require.NoError(t, s.Audit(t.Context(), e, true))
	require.Len(t, entries(t, s, audit.Filter{}), 3)
}

func TestTheAuditIsFiltered(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	for i, e := range []audit.Entry{
		{User: "ann", Rule: "r1", Outcome: audit.Accepted, NodeName: n.Name},
		{User: "bob", Rule: "r1", Outcome: audit.Refused, NodeName: n.UUID},
		{User: "bob", Rule: "r2", Outcome: audit.Failed, NodeName: "nobody"},
	} {
		e.Status = i
		require.NoError(t, s.Audit(t.Context(), e, false))
	}
	of := func(f audit.Filter) (statuses []int) {
		for _, e := range entries(t, s, f) {
			statuses = append(statuses, e.Status)
		}
		return statuses
	}
	all := entries(t, s, audit.Filter{})
	require.Equal(t, []int{2, 1, 0}, of(audit.Filter{}))
	require.Equal(t, []int{2, 1}, of(audit.Filter{User: "bob"}))
	require.Equal(t, []int{1, 0}, of(audit.Filter{Node: n.UUID}), "whichever way the request named it")
	require.Equal(t, []int{1, 0}, of(audit.Filter{Node: n.Name}))
	require.Equal(t, []int{2}, of(audit.Filter{Node: "nobody"}))
	require.Equal(t, []int{1, 0}, of(audit.Filter{Rule: "r1"}))
	require.Equal(t, []int{2}, of(audit.Filter{Outcome: audit.Failed}))
	require.Equal(t, []int{1, 0}, of(audit.Filter{Marker: all[0].Seq}))
	require.Equal(t, []int{2}, of(audit.Filter{Limit: 1}))
	require.Equal(t, []int{2}, of(audit.Filter{Since: all[0].At}))
	require.Equal(t, []int{1, 0}, of(audit.Filter{Until: all[0].At}))
}

func TestNobodyChangesTheAudit(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	require.NoError(t, s.Audit(t.Context(), audit.Entry{Outcome: audit.Accepted}, false))
	c := beside(t, url) // a superuser
	for _, sql := range []string{`UPDATE audit SET username = 'bob'`, `DELETE FROM audit`, `TRUNCATE audit`, `TRUNCATE audit_newest`, `DELETE FROM audit_newest`} {
		_, err := c.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "the audit is append-only", sql)
	}
	_, err := s.KeepAudit(t.Context(), time.Hour, 0) // ends the partition, and drops it
	require.NoError(t, err)
	require.Empty(t, entries(t, s, audit.Filter{}))
	require.NoError(t, s.Audit(t.Context(), audit.Entry{Outcome: audit.Accepted}, false))
	for _, sql := range []string{`UPDATE audit SET username = 'bob'`, `TRUNCATE audit_newest`} {
		_, err := c.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "the audit is append-only", "the next partition, too: "+sql)
	}
}

// old makes the rows of the audit older, which only a superuser can.
func old(t testing.TB, url, by string) {
	t.Helper()
	c := beside(t, url)
	for _, sql := range []string{"SET session_replication_role = replica", "UPDATE audit SET at = at - interval '" + by + "'", "RESET session_replication_role", "UPDATE audit_parts SET newest = newest - interval '" + by + "'"} {
		_, err := c.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
}

func TestOldPartitionsOfTheAuditAreDropped(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	write := func(n int) {
		for range n {
			require.NoError(t, s.Audit(t.Context(), audit.Entry{Outcome: audit.Accepted}, false))
		}
	}
	keep := func(most int) int {
		dropped, err := s.KeepAudit(t.Context(), 12*time.Hour, most)
		require.NoError(t, err)
		return dropped
	}
	parts := func() int {
		return ask[int](t, url, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit'::regclass`)
	}
	write(2)
	require.Zero(t, keep(1000))
	require.Equal(t, 1, parts())
	old(t, url, "2 hours") // more than a twelfth of the age
	require.Zero(t, keep(1000))
	require.Equal(t, 2, parts(), "the partition has ended")
	write(3)
	require.Len(t, entries(t, s, audit.Filter{}), 5)
	old(t, url, "11 hours")
	require.Equal(t, 2, keep(1000), "they are too old now")
	require.Len(t, entries(t, s, audit.Filter{}), 3)

	for range 12 {
		write(10)
		keep(100)
	}
	n := len(entries(t, s, audit.Filter{Limit: 1000}))
	require.LessOrEqual(t, n, 100)
	require.GreaterOrEqual(t, n, 80)
	require.Equal(t, ask[int](t, url, `SELECT count(*) FROM audit`), n)
}

func TestRefusedLogInsAreFolded(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	minute := time.Now().UTC().Truncate(time.Minute)
	guesses := []audit.LogIns{{From: "192.0.2.1", Minute: minute, Status: 401, Route: "GET /v1/nodes", Count: 3}, {From: "192.0.2.2", Minute: minute, Status: 429, Count: 1}}
	require.NoError(t, s.FoldLogIns(t.Context(), guesses))
	require.NoError(t, s.FoldLogIns(t.Context(), guesses[:1]))
	_, err := s.KeepAudit(t.Context(), time.Hour, 1000)
	require.NoError(t, err)
	require.Empty(t, entries(t, s, audit.Filter{}), "the minute goes on")
	raw(t, url, `UPDATE audit_logins SET minute = minute - interval '5 minutes'`)
	_, err = s.KeepAudit(t.Context(), time.Hour, 1000)
	require.NoError(t, err)
	rows := entries(t, s, audit.Filter{Rule: audit.LogIn})
	require.Len(t, rows, 2, "one for each address and minute")
	first := rows[1]
	require.Equal(t, minute.Add(-5*time.Minute), first.At)
	require.Equal(t, []any{6, 401, "192.0.2.1", audit.Refused, "GET /v1/nodes"}, []any{first.Count, first.Status, first.From, first.Outcome, first.Route})
	require.Zero(t, ask[int](t, url, `SELECT count(*) FROM audit_logins`))
}

// Each filter has an index, in each partition.
func TestNoListOfTheAuditReadsTheWholeTable(t *testing.T) {
	t.Parallel()
	testenv.OnlyInAll(t, "it writes 100,000 rows")
	s, url := openURL(t)
	for range 2 {
		raw(t, url, `
INSERT INTO audit (at, username, method, source, request_id, rule, route, node_uuid, node_name, kind, target, what, reason, outcome, status)
SELECT now() - (100000 - i) * interval '1 s', 'user-' || i % 1000, 'http_basic', '192.0.2.1', 'req-' || i, 'rule-' || i % 100, '', ('00000000-0000-0000-0000-' || lpad((i % 5000)::text, 12, '0'))::uuid,
	'node-' || i % 5000, '', '', '{}', '', CASE WHEN i % 5000 = 7 THEN 'failed' ELSE 'accepted' END, 0 FROM generate_series(1, 50000) i`)
		raw(t, url, `SELECT audit_rotate(86400000000 * 90, 400000)`)
	}
	require.Equal(t, 3, ask[int](t, url, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit'::regclass`))
	raw(t, url, `ANALYZE audit`)
	for name, f := range map[string]audit.Filter{
		"the first page": {}, "a later page": {Marker: 60_000}, "by user": {User: "user-7"}, "by an unknown user": {User: "nobody"}, "by node": {Node: "00000000-0000-0000-0000-000000000007"},
		"by the name of a node": {Node: "node-7"}, "by rule": {Rule: "rule-7"}, "by outcome": {Outcome: audit.Failed}, "refused": {Outcome: audit.Refused},
		"since": {Since: time.Now().Add(-50_100 * time.Second)}, "until": {Until: time.Now().Add(-99_900 * time.Second)}, "by node and user": {Node: "node-7", User: "user-7"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, scan := range explain(t, url, s, store.AuditStatement(f)) {
				require.NotContains(t, scan, "Seq Scan on audit_through")
			}
			_, err := s.AuditEntries(t.Context(), f)
			require.NoError(t, err)
		})
	}
}

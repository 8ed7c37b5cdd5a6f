package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/node"
)

const auditSQL = `
SELECT a.seq, a.at, a.username, a.method, a.source, a.request_id, a.rule, a.route, coalesce(a.node_uuid::text, ''), a.node_name, a.kind, a.target,
	coalesce(a.operation_id, 0), a.what, a.reason, a.outcome, a.status, a.count FROM audit a`

func scanAudit(r pgx.Row) (e audit.Entry, err error) {
	return e, r.Scan(&e.Seq, &e.At, &e.User, &e.Method, &e.From, &e.RequestID, &e.Rule, &e.Route, &e.NodeUUID, &e.NodeName, &e.Kind, &e.Target,
		&e.Operation, &e.What, &e.Reason, &e.Outcome, &e.Status, &e.Count)
}

func auditQuery(f audit.Filter) *query {
	q := &query{args: args{"limit": pageLimit(f.Limit)}, tail: " ORDER BY a.seq DESC LIMIT @limit"}
	only := func(condition, name string, value any) {
		q.and(condition)
		q.args[name] = value
	}
	if !f.Since.IsZero() {
		only("a.at >= @since", "since", f.Since)
	}
	if !f.Until.IsZero() {
		only("a.at < @until", "until", f.Until)
	}
	if f.User != "" {
		only("a.username = @user", "user", f.User)
	}
	switch {
	case node.IsHyphenatedUUID(f.Node):
		only("a.node_uuid = @node", "node", f.Node)
	case f.Node != "":
		only("a.node_name = @node", "node", f.Node)
	}
	if f.Rule != "" {
		only("a.rule = @rule", "rule", f.Rule)
	}
	if f.Outcome != "" {
		only("a.outcome = @outcome", "outcome", f.Outcome)
	}
	if f.Marker > 0 {
		only("a.seq < @marker", "marker", f.Marker)
	}
	return q
}

// AuditEntries is a page of the audit, the newest first.
func (s *Store) AuditEntries(ctx context.Context, f audit.Filter) ([]audit.Entry, error) {
	q := auditQuery(f)
	return list(ctx, s, "list the audit", auditSQL+q.String(), q.args, scanAudit)
}

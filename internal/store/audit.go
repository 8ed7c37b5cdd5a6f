package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/node"
)

// Where the change itself does not know the node, the row has the node that the path of the request names.
const (
	auditColumns = `
INSERT INTO audit (username, method, source, request_id, rule, route, kind, target, operation_id, what, reason, outcome, status, node_uuid, node_name)
SELECT @user, @method, @from, @request, @rule, @route, @kind, @target, nullif(@operation::bigint, 0), @what::text[], @reason, @outcome, @status::integer, `

	auditKnownSQL  = auditColumns + `nullif(@node_uuid::text, '')::uuid, @node_name`
	auditByUUIDSQL = auditColumns + `@node_uuid::uuid, coalesce(n.name, '') FROM (SELECT) one LEFT JOIN nodes n ON n.uuid = @node_uuid`
	// auditOnNodeSQL belongs to a change that writes nothing if there is no such node.
	auditOnNodeSQL = auditColumns + `n.uuid, coalesce(n.name, '') FROM nodes n WHERE n.uuid = @node_uuid`
	auditByNameSQL = auditColumns + `n.uuid, @node_name FROM (SELECT) one LEFT JOIN nodes n ON n.name = @node_name`

	// auditNotTwiceSQL ends the statement of a row that may be there already, because a COMMIT got no answer.
	auditNotTwiceSQL = ` WHERE NOT EXISTS (SELECT FROM audit a WHERE a.request_id = @request AND a.at > clock_timestamp() - interval '10 minutes')`
)

// auditStatement is the INSERT of an entry.
func auditStatement(e *audit.Entry) (string, args) {
	if e.NodeName != "" && e.NodeUUID == "" && node.IsHyphenatedUUID(e.NodeName) {
		e.NodeUUID, e.NodeName = e.NodeName, ""
	}
	sql := auditKnownSQL
	switch {
	case e.NodeUUID != "" && e.NodeName == "":
		sql = auditByUUIDSQL
	case e.NodeUUID == "" && e.NodeName != "":
		sql = auditByNameSQL
	}
	a := args{
		"user": words(e.User, 255), "method": e.Method, "from": words(e.From, 64), "request": e.RequestID, "rule": e.Rule, "route": words(e.Route, 255),
		"kind": e.Kind, "target": words(e.Target, 255), "operation": e.Operation, "what": orNone(e.What), "reason": words(e.Reason, maxError),
		"outcome": e.Outcome, "status": e.Status,
	}
	if sql != auditByNameSQL {
		a["node_uuid"] = e.NodeUUID
	}
	if sql != auditByUUIDSQL {
		a["node_name"] = words(e.NodeName, 255)
	}
	return sql, a
}

// queueAudit queues the row of the request that ctx belongs to, unless an earlier transaction has written it. The caller gives the error of
// the COMMIT to the function that queueAudit returns.
func queueAudit(ctx context.Context, b *pgx.Batch) (done func(error)) {
	r := audit.Of(ctx)
	e, ok := r.Take()
	if !ok {
		return func(error) {}
	}
	e.Outcome, e.Status = audit.Accepted, 0
	sql, a := auditStatement(&e)
	if sql == auditByUUIDSQL {
		sql = auditOnNodeSQL
	}
	written := 0
	b.Queue(sql, a).Exec(countInto(&written))
	return func(err error) {
		var by *pgconn.PgError
		if err != nil || written == 0 {
			r.GiveBack(!errors.As(err, &by)) // only PostgreSQL's own error says that the COMMIT that was sent undoes the transaction
		}
	}
}

// changeOne runs a statement that changes something for a client, if it returns a row. found is false if it returns none.
func (s *Store) changeOne(ctx context.Context, what, sql string, a args, scan func(pgx.Row) error) (found bool, err error) {
	if audit.Of(ctx) == nil {
		return s.one(ctx, what, sql, a, scan)
	}
	err = s.changing(ctx, what, func(b *pgx.Batch) { b.Queue(sql, a).QueryRow(maybe(&found, scan)) }, func() bool { return found })
	return found && err == nil, err
}

// changeRows is changeOne for a statement that returns no rows. It returns how many rows the statement has written.
func (s *Store) changeRows(ctx context.Context, what, sql string, a args) (rows int64, err error) {
	if audit.Of(ctx) == nil {
		return s.exec(ctx, what, sql, a)
	}
	var n int
	err = s.changing(ctx, what, func(b *pgx.Batch) { b.Queue(sql, a).Exec(countInto(&n)) }, func() bool { return n > 0 })
	return int64(n), err
}

// changing runs the statement that write queues, and the audit's if changed returns true then.
func (s *Store) changing(ctx context.Context, what string, write func(*pgx.Batch), changed func() bool) error {
	done := func(error) {}
	err := s.inTx(ctx, what, write, func(b *pgx.Batch) error {
		if !changed() {
			return errLeave
		}
		done = queueAudit(ctx, b)
		return nil
	})
	done(err)
	return err
}

// Audit writes the row of a request that changed nothing, or was refused. inDoubt means that a transaction may have written it.
func (s *Store) Audit(ctx context.Context, e audit.Entry, inDoubt bool) error {
	sql, a := auditStatement(&e)
	if inDoubt {
		sql += auditNotTwiceSQL
	}
	_, err := s.exec(ctx, "write the audit", sql, a)
	return err
}

const (
	foldLogInsSQL = `
INSERT INTO audit_logins AS l (source, minute, status, route, count)
SELECT * FROM unnest(@sources::text[], @minutes::timestamptz[], @statuses::integer[], @routes::text[], @counts::integer[]) ORDER BY 1, 2
ON CONFLICT (source, minute) DO UPDATE SET count = l.count + excluded.count, status = excluded.status, route = excluded.route`

	// A process writes what it has counted within seconds.
	moveLogInsSQL = `
WITH ended AS (
	DELETE FROM audit_logins l USING (
		SELECT o.source, o.minute FROM audit_logins o WHERE o.minute < clock_timestamp() - interval '75 seconds'
		 ORDER BY o.minute, o.source LIMIT @limit FOR UPDATE SKIP LOCKED) o
	 WHERE l.source = o.source AND l.minute = o.minute RETURNING l.*)
INSERT INTO audit (at, username, method, source, request_id, rule, route, node_name, kind, target, what, reason, outcome, status, count)
SELECT e.minute, '', '', e.source, '', @rule, e.route, '', '', '', '{}', '', 'refused', e.status, e.count FROM ended e ORDER BY e.minute, e.source`

	moveLogInsAtOnce = 10_000
)

// FoldLogIns adds refused log-ins to those that were counted before.
func (s *Store) FoldLogIns(ctx context.Context, all []audit.LogIns) error {
	var sources, routes []string
	var minutes []time.Time
	var statuses, counts []int
	for _, l := range all {
		sources, minutes, routes = append(sources, words(l.From, 64)), append(minutes, l.Minute), append(routes, words(l.Route, 255))
		statuses, counts = append(statuses, l.Status), append(counts, l.Count)
	}
	_, err := s.exec(ctx, "count refused log-ins", foldLogInsSQL, args{"sources": sources, "minutes": minutes, "statuses": statuses, "routes": routes, "counts": counts})
	return err
}

const auditRotateSQL = `SELECT audit_rotate(@age, @most)`

// KeepAudit moves the refused log-ins of minutes that are over to the audit, and drops partitions of the audit so that it has no row much
// older than age and no more than most rows. It returns how many rows it has dropped.
func (s *Store) KeepAudit(ctx context.Context, age time.Duration, most int) (dropped int, err error) {
	if _, err := s.exec(ctx, "move refused log-ins", moveLogInsSQL, args{"rule": audit.LogIn, "limit": moveLogInsAtOnce}); err != nil {
		return 0, err
	}
	_, err = s.one(ctx, "rotate the audit", auditRotateSQL, args{"age": micros(age), "most": most}, func(r pgx.Row) error { return r.Scan(&dropped) })
	return dropped, err
}

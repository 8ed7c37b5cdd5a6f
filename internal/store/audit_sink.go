package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/events"
)

const (
	leaseSinkSQL = `
INSERT INTO audit_sinks AS k (name, holder, held_until) VALUES (@name, @holder, clock_timestamp() + @lease * interval '1 microsecond')
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
 WHERE k.holder = excluded.holder OR k.held_until NOT BETWEEN clock_timestamp() AND excluded.held_until + interval '1 second'
RETURNING sent_through`

	auditSentSQL = `UPDATE audit_sinks SET sent_through = greatest(sent_through, @through) WHERE name = @name AND holder = @holder`

	// As of events (writtenEventsSQL): the first is asked before the second, and rows are read after both.
	writtenAuditSQL = `SELECT coalesce(pg_sequence_last_value('audit_seq'), 0)`
	auditWritersSQL = `
SELECT DISTINCT l.virtualtransaction FROM pg_locks l
 WHERE l.locktype = 'relation' AND l.relation = 'audit'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())`

	auditAfterSQL = auditSQL + ` WHERE a.seq > @after AND a.seq <= @through ORDER BY a.seq LIMIT @limit`
)

// LeaseAuditSink is of sink.Store.
func (s *Store) LeaseAuditSink(ctx context.Context, name, holder string, lease time.Duration) (through int64, mine bool, err error) {
	mine, err = s.one(ctx, "lease a sink of the audit", leaseSinkSQL, args{"name": name, "holder": holder, "lease": micros(lease)}, func(r pgx.Row) error { return r.Scan(&through) })
	return through, mine, err
}

// LookAudit is of sink.Store.
func (s *Store) LookAudit(ctx context.Context) (l events.Look, err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	b := &pgx.Batch{}
	b.Queue(writtenAuditSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&l.Written) })
	b.Queue(auditWritersSQL).Query(collect(&l.Writers, func(r pgx.Row) (w string, err error) { return w, r.Scan(&w) }))
	return l, mapError("look who writes the audit", s.pool.SendBatch(ctx, b).Close())
}

// AuditAfter is of sink.Store.
func (s *Store) AuditAfter(ctx context.Context, after, through int64, limit int) ([]audit.Entry, error) {
	return list(ctx, s, "read the audit", auditAfterSQL, args{"after": after, "through": through, "limit": limit}, scanAudit)
}

// AuditSent is of sink.Store.
func (s *Store) AuditSent(ctx context.Context, name, holder string, through int64) (mine bool, err error) {
	rows, err := s.exec(ctx, "record what was sent of the audit", auditSentSQL, args{"name": name, "holder": holder, "through": through})
	return rows == 1, err
}

package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// HistoryKept is how many lines the history of a node keeps, and OperationsKept how many of its operations stay.
const (
	HistoryKept    = 300
	OperationsKept = 50
)

// forgetEventsSQL takes the oldest events that streams no longer need and that no statement before has judged, at most @limit. It
// also takes what exceeds the bounds of their histories and timelines. It deletes what neither a history nor a timeline keeps. An event that
// only a timeline keeps leaves the history. An older event is judged again when a later one of its node or operation is, so that
// no statement reads them all. OFFSET 0 has PostgreSQL use the indexes also where it has no statistics, as after a restore.
const forgetEventsSQL = `
WITH feed AS MATERIALIZED (SELECT f.swept_through FROM event_retention f FOR UPDATE SKIP LOCKED), -- one process judges
batch AS MATERIALIZED (
	SELECT e.seq, e.at, e.node_id, e.operation_id, e.event_type, e.operation_seq
	  FROM events e WHERE e.seq > (SELECT f.swept_through FROM feed f) ORDER BY e.seq LIMIT @limit),
old AS MATERIALIZED (
	SELECT max(b.seq) AS seq FROM batch b
	 WHERE b.at < clock_timestamp() - @age * interval '1 microsecond' OR b.seq <= (SELECT max(e.seq) FROM events e) - @most),
passed AS MATERIALIZED (SELECT b.* FROM batch b JOIN old ON b.seq <= old.seq),
histories AS MATERIALIZED (
	SELECT p.node_id, coalesce((
		SELECT h.seq FROM events h WHERE h.node_id = p.node_id AND h.event_type <> '' ORDER BY h.seq DESC OFFSET @lines - 1 LIMIT 1), 0) AS first
	  FROM (SELECT DISTINCT x.node_id FROM passed x WHERE x.event_type <> '' OR x.operation_seq > 0) p
	 WHERE EXISTS (SELECT FROM nodes n WHERE n.id = p.node_id) OR EXISTS (SELECT FROM deleted_nodes d WHERE d.node_id = p.node_id)),
timelines AS MATERIALIZED (
	SELECT o.id, o.entries - @latest AS middle FROM operations o
	 WHERE o.id IN (SELECT x.operation_id FROM passed x WHERE x.operation_seq > 0)),
judged AS MATERIALIZED (
	SELECT p.seq FROM passed p
	UNION
	SELECT h.seq FROM histories l CROSS JOIN LATERAL (
		SELECT h.seq FROM events h WHERE h.node_id = l.node_id AND h.event_type <> '' AND h.seq < l.first OFFSET 0) h JOIN old ON h.seq <= old.seq
	 WHERE l.first > 0
	UNION
	SELECT h.seq FROM timelines t CROSS JOIN LATERAL (
		SELECT h.seq FROM events h WHERE h.operation_id = t.id AND h.operation_seq > @first AND h.operation_seq <= t.middle OFFSET 0) h JOIN old ON h.seq <= old.seq
	 WHERE t.middle > @first),
verdict AS MATERIALIZED (
	SELECT e.seq, coalesce(e.event_type <> '' AND e.seq >= l.first, false) AS history,
		coalesce(e.operation_seq BETWEEN 1 AND @first OR e.operation_seq > greatest(o.entries - @latest, 0), false) AND o.id IS NOT NULL AS timeline
	  FROM judged j CROSS JOIN LATERAL (SELECT e.* FROM events e WHERE e.seq = j.seq OFFSET 0) e LEFT JOIN histories l ON l.node_id = e.node_id LEFT JOIN operations o ON o.id = e.operation_id),
deleted AS (DELETE FROM events e USING verdict v WHERE e.seq = v.seq AND NOT v.history AND NOT v.timeline RETURNING e.seq),
left_history AS (UPDATE events e SET event_type = '' FROM verdict v WHERE e.seq = v.seq AND e.event_type <> '' AND NOT v.history AND v.timeline),
swept AS (UPDATE event_retention f SET swept_through = old.seq FROM old WHERE old.seq IS NOT NULL),
-- Streams write the same row, so that it is locked last.
feed_written AS (
	UPDATE event_feed f SET deleted_through = greatest(f.deleted_through, old.seq) FROM old, (SELECT count(*) FROM deleted) AS d WHERE old.seq IS NOT NULL)
SELECT (SELECT count(*) FROM passed), (SELECT count(*) FROM deleted)`

// The bounds of one reconciliation: events judged by a statement, and the time after which no further statement begins.
const (
	forgetEventsAtOnce = 2_000
	forgetEventsTime   = 10 * time.Second
)

// ForgetEvents deletes events that are older than age, and all but the newest of the number most, a bounded number at a time. It keeps the
// latest 300 of the history of each node, also of a deleted one that is not forgotten, and of each operation the first 50 and the latest 150
// of its timeline. It returns how many it has deleted.
func (s *Store) ForgetEvents(ctx context.Context, age time.Duration, most int) (total int, err error) {
	a := args{
		"age": micros(age), "most": most, "limit": forgetEventsAtOnce, "lines": HistoryKept, "first": timelineFirst, "latest": timelineLatest,
	}
	for began := time.Now(); time.Since(began) < forgetEventsTime; {
		var passed, deleted int
		_, err := s.one(ctx, "delete old events", forgetEventsSQL, a, func(r pgx.Row) error { return r.Scan(&passed, &deleted) })
		if total += deleted; err != nil || passed < forgetEventsAtOnce {
			return total, err
		}
	}
	return total, nil
}

const (
	// The newest operation of each kind stays, and the newest that has failed: they say why the node is as it is, also after many undos
	// that failed. An operation that answered a request with an idempotency key stays as long as the key.
	oldOperationsSQL = `
SELECT old.id FROM unnest(@nodes::bigint[]) AS n (id) CROSS JOIN LATERAL (
	SELECT o.id, o.kind FROM operations o WHERE o.node_id = n.id ORDER BY o.id DESC OFFSET @kept) old
 WHERE EXISTS (SELECT FROM operations e WHERE e.node_id = n.id AND e.kind = old.kind AND e.id > old.id)
   AND old.id <> coalesce((SELECT f.operation_id FROM last_failure(n.id) f), 0)
   AND NOT EXISTS (SELECT FROM idempotency_keys k WHERE k.operation_id = old.id)
 LIMIT @limit`

	forgetOperationsSQL = `
WITH done AS (DELETE FROM operations o WHERE o.id = ANY(@ids) AND o.ended_at IS NOT NULL RETURNING o.id)` + forgetTimelinesSQL

	// forgetTimelinesSQL deletes the timelines of the operations done, but for events that a history keeps, or streams: ForgetEvents deletes
	// those later.
	forgetTimelinesSQL = `
DELETE FROM events e WHERE e.seq IN (SELECT t.seq FROM event_retention f CROSS JOIN done d CROSS JOIN LATERAL (
	SELECT t.seq FROM events t WHERE t.operation_id = d.id AND t.operation_seq > 0 AND t.event_type = '' AND t.seq <= f.swept_through OFFSET 0) t)`

	lockRetentionSQL = `SELECT FROM event_retention FOR UPDATE`

	forgetOperationsAtOnce = 2_000
)

// ForgetOperations deletes operations of these nodes, with their timelines. It keeps the latest OperationsKept of each node, the newest of
// each kind and the newest that has failed. It deletes a bounded number of operations, and returns that number.
func (s *Store) ForgetOperations(ctx context.Context, nodes []int64) (int, error) {
	return s.forget(ctx, "delete old operations", oldOperationsSQL, args{"nodes": nodes, "kept": OperationsKept, "limit": forgetOperationsAtOnce}, forgetOperationsSQL)
}

// forget deletes rows with their events: find selects their ids, and remove deletes those with @ids. It returns how many find has selected.
func (s *Store) forget(ctx context.Context, what, find string, a args, remove string) (int, error) {
	var ids []int64
	err := s.inTx(ctx, what, func(b *pgx.Batch) {
		b.Queue(lockRetentionSQL) // ForgetEvents does not run meanwhile
		b.Queue(find, a).Query(collect(&ids, func(r pgx.Row) (id int64, err error) { return id, r.Scan(&id) }))
	}, func(b *pgx.Batch) error {
		if len(ids) == 0 {
			return errLeave
		}
		b.Queue(remove, args{"ids": ids})
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(ids), nil
}

package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

const notBegunSQL = `SELECT o.* FROM operations o
 WHERE o.begun_at IS NULL
   AND o.ended_at IS NULL AND o.accepted_at < clock_timestamp() - @age * interval '1 microsecond'
 ORDER BY o.id LIMIT @limit`

// NotBegun returns open operations that were accepted longer ago than olderThan and that no
// workflow has begun, the oldest first. Their workflows have to be started: the row is the outbox.
func (s *Store) NotBegun(ctx context.Context, olderThan time.Duration, limit int) ([]node.Operation, error) {
	return list(ctx, s, "list operations not begun", notBegunSQL, args{"age": micros(olderThan), "limit": pageLimit(limit)}, eachOperation())
}

const (
	openRunsSQL = `SELECT o.id, o.run_id, o.temporal_pause IS NOT NULL FROM operations o
 WHERE o.ended_at IS NULL AND o.begun_at IS NOT NULL AND o.id > @after
 ORDER BY o.id LIMIT @limit`

	openOperationsSQL = `SELECT o.* FROM operations o
 WHERE o.id = ANY (@ids) AND o.ended_at IS NULL
 ORDER BY o.id`
)

// OpenRuns returns a page of the runs of open operations that a workflow has begun, in the order of
// the operations' ids.
func (s *Store) OpenRuns(ctx context.Context, limit int, after int64) ([]node.OpenRun, error) {
	return list(ctx, s, "list runs of open operations", openRunsSQL, args{"after": after, "limit": pageLimit(limit)}, func(r pgx.Row) (o node.OpenRun, err error) {
		return o, r.Scan(&o.Operation, &o.RunID, &o.Paused)
	})
}

// OpenOperations returns those of these operations that are open, in the order of their ids.
func (s *Store) OpenOperations(ctx context.Context, ids []int64) ([]node.Operation, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return list(ctx, s, "read open operations", openOperationsSQL, args{"ids": ids}, eachOperation())
}

// askedFor is the age from which on an ask is repeated to the workflow.
const askedFor = 3 * time.Second

const askedSQL = `
SELECT o.*, n.need_id IN (SELECT k.id FROM covered_needs(@timeout) k)
  FROM operations o JOIN nodes n ON n.id = o.node_id
 WHERE o.ended_at IS NULL AND o.temporal_pause IS NULL AND o.asked <> '' AND o.asked_at < clock_timestamp() - @age * interval '1 microsecond'
   AND (o.asked_at, o.id) > (coalesce(@after::timestamptz, '-infinity'), @after_id)
 ORDER BY o.asked_at, o.id LIMIT @limit`

// Asked returns the open operations that were asked for something more than askedFor ago, and that
// can act on it now (node.Operation.CanTakeUp). Others are left out, because each signal makes a workflow's history longer.
func (s *Store) Asked(ctx context.Context) (out []node.Operation, err error) {
	covered := false
	scan := eachOperation(&covered)
	a := args{"age": micros(askedFor), "limit": node.MaxLimit, "timeout": micros(s.conductorTimeout), "after": nil, "after_id": int64(0)}
	for {
		read := 0
		page, err := list(ctx, s, "list operations asked", askedSQL, a, func(r pgx.Row) (*node.Operation, error) {
			o, err := scan(r)
			read++
			a["after"], a["after_id"] = o.AskedAt, o.ID
			if err != nil || !o.CanTakeUp(covered) {
				return nil, err
			}
			return &o, nil
		})
		for _, o := range page {
			if o != nil {
				out = append(out, *o)
			}
		}
		if err != nil || read < node.MaxLimit || len(out) >= node.MaxLimit {
			return out, err
		}
	}
}

const missedCallbacksSQL = `SELECT o.* FROM operations o JOIN agents a ON a.node_id = o.node_id
 WHERE o.ended_at IS NULL AND o.phase = 'waiting' AND o.stalled = '' AND o.temporal_pause IS NULL
   AND CASE WHEN o.kind = ANY(@inspections) THEN a.inspected_at ELSE a.first_heartbeat_at END < clock_timestamp() - @age * interval '1 microsecond'
 ORDER BY o.id LIMIT @limit`

// MissedCallbacks returns the open operations that wait for an agent whose heartbeat or inventory came more
// than askedFor ago: the signal to their workflow was lost.
func (s *Store) MissedCallbacks(ctx context.Context) ([]node.Operation, error) {
	return list(ctx, s, "list missed callbacks", missedCallbacksSQL, args{"age": micros(askedFor), "limit": node.MaxLimit, "inspections": inspections}, eachOperation())
}

const (
	// Rows of many operations are locked in one order.
	markMissingSQL = `
WITH held AS MATERIALIZED (SELECT x.id FROM operations x WHERE x.id = ANY(@ids) AND x.ended_at IS NULL ORDER BY x.id FOR NO KEY UPDATE)
UPDATE operations o SET missing_since = CASE WHEN e.reconciled_at < clock_timestamp() - @gap * interval '1 microsecond'
	THEN clock_timestamp() ELSE coalesce(o.missing_since, clock_timestamp()) END
  FROM ring_epoch e, held
 WHERE o.id = held.id AND o.ended_at IS NULL
RETURNING o.*, (extract(epoch FROM clock_timestamp() - o.missing_since) * 1000000)::bigint`

	clearMissingSQL = `
WITH held AS MATERIALIZED (SELECT x.id FROM operations x WHERE x.id = ANY(@ids) AND x.missing_since IS NOT NULL ORDER BY x.id FOR NO KEY UPDATE)
UPDATE operations o SET missing_since = NULL FROM held WHERE o.id = held.id`

	forgetMissingSQL = `
WITH held AS MATERIALIZED (SELECT x.id FROM operations x WHERE x.ended_at IS NULL AND x.missing_since IS NOT NULL ORDER BY x.id FOR NO KEY UPDATE)
UPDATE operations o SET missing_since = NULL FROM held WHERE o.id = held.id`
)

// MarkMissing records that Temporal does not know the workflows of these open operations, and
// returns for how long that has been so for each. If no reconciliation has ended for longer than
// gap, nobody has looked meanwhile, and the time begins anew.
func (s *Store) MarkMissing(ctx context.Context, ids []int64, gap time.Duration) ([]node.MissingWorkflow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var age int64
	scan := eachOperation(&age)
	return list(ctx, s, "mark operations missing", markMissingSQL, args{"ids": ids, "gap": micros(gap)}, func(r pgx.Row) (m node.MissingWorkflow, err error) {
		m.Operation, err = scan(r)
		m.For = time.Duration(age) * time.Microsecond
		return m, err
	})
}

// ClearMissing undoes MarkMissing for operations whose workflows were found.
func (s *Store) ClearMissing(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := s.exec(ctx, "clear missing operations", clearMissingSQL, args{"ids": ids})
	return err
}

// ForgetMissing undoes MarkMissing for all operations. It is called while Temporal does not answer.
func (s *Store) ForgetMissing(ctx context.Context) error {
	_, err := s.exec(ctx, "forget missing operations", forgetMissingSQL, nil)
	return err
}

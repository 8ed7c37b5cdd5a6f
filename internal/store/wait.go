package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

var watchSQL = `
SELECT n.*, o.*, a.*, ` + relationsSQL + `, (SELECT v.covered FROM need_coverage(n.need_id, @timeout) v),
	c.id IS NOT NULL, coalesce(conductor_alive(c, w, @timeout), false), coalesce(c.draining, false),
	clock_timestamp(), CASE WHEN c.stopped_at IS NULL THEN 0 ELSE greatest(1, extract(epoch FROM clock_timestamp() - c.stopped_at) * 1000000) END::bigint
  FROM operations o JOIN nodes n ON n.id = o.node_id LEFT JOIN agents a ON a.node_id = n.id
  LEFT JOIN conductors c ON c.hostname = o.conductor CROSS JOIN witness w
 WHERE o.id = @id`

// Watch returns the node of an operation, with the operation, which may have ended, and who could
// work on it. It returns fault.Lost if the node was deleted.
func (s *Store) Watch(ctx context.Context, id int64) (*node.Node, node.Coverage, error) {
	var n node.Node
	var c node.Coverage
	found, err := s.one(ctx, "watch an operation", watchSQL, args{"id": id, "timeout": micros(s.conductorTimeout)}, func(r pgx.Row) (err error) {
		var stopped int64
		var now time.Time
		n, err = scanNode(r, &c.Covered, &c.Last.Known, &c.Last.Alive, &c.Last.Draining, &now, &stopped)
		c.Last.StoppedFor = time.Duration(stopped) * time.Microsecond
		if err == nil && n.Operation != nil {
			c.PutOff = n.Operation.PutOff(now)
		}
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.Lost, "operation %d has lost its node", id)
	}
	if err != nil {
		return nil, c, err
	}
	return &n, c, nil
}

// Block records why the operation can't go on, or (node.NotBlocked) that it can again, as
// node.Operation.Block does. within is how long it may wait, nil = no limit. If seq is not 0, the
// claim is raised to it, so that no earlier step can write any more. Block returns fault.Lost if
// the operation belongs to another run of the workflow or has ended.
func (s *Store) Block(ctx context.Context, id int64, runID string, seq int64, reason node.BlockReason, waitingFor string, within *time.Duration) (*node.Operation, error) {
	return s.change(ctx, "block an operation", id, runID, func(o *node.Operation, now time.Time) error {
		if o.Claim.Seq < seq {
			o.Claim = node.Claim{Seq: seq}
		}
		return o.Block(reason, waitingFor, within, now)
	})
}

// GoOn records that what the operation waited for has come.
func (s *Store) GoOn(ctx context.Context, id int64, runID string) error {
	_, err := s.change(ctx, "let an operation go on", id, runID, func(o *node.Operation, _ time.Time) error {
		if !o.Arrive() {
			return errLeave
		}
		return nil
	})
	if fault.Is(err, fault.Lost) {
		return nil // it has ended, or another run has it: nothing is to go on
	}
	return err
}

// queueLockOpen locks the row of the node's open operation and reads it into held; ID 0 =
// there is none. The node is locked before.
func queueLockOpen(b *pgx.Batch, ident string, held *node.Operation) {
	b.Queue(byIdent(ident, lockOpenByUUIDSQL, lockOpenByNameSQL), args{"ident": ident}).QueryRow(maybe(new(bool), func(r pgx.Row) (err error) {
		*held, err = scanOperation(r)
		return err
	}))
}

// queueHeld writes into the node's open operation what has changed with its node: steps go
// where the node is now and, if maintained, maintenance pauses it or lets it go on.
func (l *lockedNode) queueHeld(b *pgx.Batch, held *node.Operation, maintained bool) error {
	if held.ID == 0 {
		return nil
	}
	before := held.Snapshot()
	moved := held.Redirect(l.ConductorGroup, l.Driver)
	if maintained {
		if err := held.Maintain(l.Maintenance, l.now); err != nil {
			return err
		}
	}
	if !moved && !maintained {
		return nil
	}
	return queueWrite(b, &before, held, false)
}

// staleWaitsSQL selects operations whose workflow waits for something else than it should. A test compares it with the same
// rule in Go. The first alternative is an operation
// that waits, or does not wait, for a conductor or for the end of maintenance, and should not. The
// second is one that is paused and whose conductor has died in the middle of the work: its
// workflow has to end that. If the conductor has stopped in good order, the operation just waits.
const staleWaitsSQL = `
WITH covered AS MATERIALIZED (SELECT * FROM covered_needs(@timeout))
SELECT o.* FROM operations o JOIN nodes n ON n.id = o.node_id
 WHERE o.ended_at IS NULL AND o.begun_at IS NOT NULL AND o.phase = 'waiting' AND o.temporal_pause IS NULL AND NOT o.asked = ANY (@interrupting)
   AND (o.stalled <> CASE WHEN o.paused THEN 'maintenance' WHEN NOT n.need_id IN (SELECT k.id FROM covered k) THEN 'conductor' WHEN o.stalled = 'deaths' THEN 'deaths' ELSE '' END
	OR o.paused AND o.conductor <> ''
	   AND EXISTS (SELECT FROM jsonb_array_elements(o.steps) AS s WHERE s ? 'started_at')
	   AND (o.orphaned OR NOT EXISTS (SELECT FROM conductors c CROSS JOIN witness w
		WHERE c.hostname = o.conductor AND (c.stopped_at IS NOT NULL OR conductor_alive(c, w, @timeout)))))
 ORDER BY o.id LIMIT @limit`

// StaleWaits returns the open operations whose waiting_for is out of date: their
// conductor is back or gone, maintenance has ended, or the conductor has died during maintenance.
func (s *Store) StaleWaits(ctx context.Context) ([]node.Operation, error) {
	return list(ctx, s, "list operations whose wait is over", staleWaitsSQL,
		args{"timeout": micros(s.conductorTimeout), "limit": node.MaxLimit, "interrupting": node.Interrupting}, eachOperation())
}

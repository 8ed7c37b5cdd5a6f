package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// undosDueSQL locks the nodes whose undo is due. The pause after the nth try is 15 s doubled n
// times, at most ten minutes. What the hardware refuses for good rests. A node that somebody
// else holds right now is left for the next time, and so is one whose BMC may still be
// downloading an image: its drive is empty until the download is over, and an undo would take
// that for done.
const undosDueSQL = `
WITH covered AS MATERIALIZED (SELECT * FROM covered_needs(@timeout))
SELECT n.id FROM nodes n
 WHERE n.owed <> '[]' AND NOT n.owed_refused AND (NOT n.maintenance OR n.maintenance_by_fault)
   AND (n.owed_tried_at IS NULL OR n.owed_tried_at < clock_timestamp() - least(600, 15 * 2 ^ least(n.owed_tries, 10)) * interval '1 second')
   AND NOT EXISTS (SELECT FROM operations x WHERE x.node_id = n.id AND x.ended_at IS NULL)
   AND NOT EXISTS (SELECT FROM operations e CROSS JOIN LATERAL jsonb_array_elements(e.steps) AS s (step)
	WHERE e.node_id = n.id AND e.ended_at > clock_timestamp() - @media * interval '1 microsecond'
	  AND s.step -> 'issued' ->> 'command' = @insert AND s.step ->> 'state' NOT IN ('done', 'skipped')
	  AND (s.step -> 'issued' ->> 'at')::timestamptz > clock_timestamp() - @media * interval '1 microsecond')
   AND n.need_id IN (SELECT k.id FROM covered k)
 ORDER BY n.id LIMIT @limit FOR NO KEY UPDATE OF n SKIP LOCKED`

// OpenUndos opens an operation of kind undo, with these steps, on nodes that owe
// something, are free, not in a person's maintenance, covered by a live conductor, and whose
// last try is long enough ago; at most limit of them. A node whose last operation sent a
// request to insert a medium, and did not see the medium, waits until mediaTimeout after
// that request.
//
// The nodes are locked in a statement before the one that writes, which so sees their
// histories and operations as they are then.
func (s *Store) OpenUndos(ctx context.Context, steps []node.Step, by string, mediaTimeout time.Duration, limit int) (opened []node.Operation, err error) {
	var d dicts
	a := args{"steps": d.steps(steps), "by": by, "type": node.HistoryAccepted, "kind": node.KindUndo, "take_up_limit": micros(node.TakeUpLimit)}
	if d.err != nil {
		return nil, d.err
	}
	var ids []int64
	err = s.inTx(ctx, "open undos", func(b *pgx.Batch) {
		b.Queue(undosDueSQL, args{
			"timeout": micros(s.conductorTimeout), "media": micros(mediaTimeout), "insert": node.InsertMedia, "limit": pageLimit(limit),
		}).Query(collect(&ids, scanID))
	}, func(b *pgx.Batch) error {
		if len(ids) == 0 {
			return errLeave
		}
		a["ids"] = ids
		b.Queue(openUndosSQL, a).Query(collect(&opened, eachOperation()))
		return nil
	})
	return opened, err
}

const (
	// mendLeftSQL must have exactly the pattern of the index operations_left.
	// An earlier node of the same uuid, which was deleted, is another one.
	mendLeftSQL = `
UPDATE operations o SET error = split_part(o.error, @left, 1) || @now
 WHERE o.node_uuid = @node AND o.node_id IS NOT NULL AND o.ended_at IS NOT NULL AND o.error LIKE '%; what it left is still to be undone: %' AND o.id <> @except`
)

// queueMendLeft writes into the errors of the node's operations what has become of
// the undo that they left, except for the operation that ends in this transaction.
func (l *lockedNode) queueMendLeft(b *pgx.Batch, what string, except int64) {
	b.Queue(mendLeftSQL, args{"node": l.UUID, "left": node.UndoLeft, "now": what, "except": except})
}

// Waive waives what the node owes, and returns what that was. If an undo is running,
// it is asked to end and returned, else undo is nil. Waive returns fault.Conflict if
// the node owes nothing.
func (s *Store) Waive(ctx context.Context, ident, user, reason string) (waived []node.Undo, undo *node.Operation, err error) {
	var held node.Operation
	err = s.inNodeTxAfter(ctx, ident, "waive what node "+words(ident, 64)+" owes", func(b *pgx.Batch) { queueLockOpen(b, ident, &held) }, func(l *lockedNode, b *pgx.Batch) (err error) {
		if waived, err = node.Waive(&l.Node, user, reason); err != nil {
			return err
		}
		if err := l.queueState(b); err != nil {
			return err
		}
		l.queueMendLeft(b, node.WaivedBy(user, reason), 0)
		if held.ID != 0 && held.Kind.Spec().Undoes {
			undo = &node.Operation{}
			if err := queueAsk(b, held, node.Steer{Ask: node.AskCancel, By: user, Reason: reason}, undo); err != nil {
				return err
			}
		}
		queueHistory(b, l.ID, node.HistoryEvent{Event: "waived what was to be undone (" + node.UndoList(waived) + "): " + reason, EventType: node.HistorySteering, User: user})
		return nil
	})
	return waived, undo, err
}

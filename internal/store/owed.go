package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// OpenUndos opens an operation of kind undo, with these steps, on nodes that owe
// something, are free, not in a person's maintenance, covered by a live conductor, and whose
// last try is long enough ago; at most limit of them. A node whose last operation sent a
// request to insert a medium, and did not see the medium, waits until mediaTimeout after
// that request.
func (s *Store) OpenUndos(ctx context.Context, steps []node.Step, by string, mediaTimeout time.Duration, limit int) ([]node.Operation, error) {
	var d dicts
	a := args{
		"steps": d.steps(steps), "by": by, "type": node.HistoryAccepted, "limit": pageLimit(limit), "timeout": micros(s.conductorTimeout),
		"media": micros(mediaTimeout), "insert": node.InsertMedia, "kind": node.KindUndo,
	}
	if d.err != nil {
		return nil, d.err
	}
	return list(ctx, s, "open undos", openUndosSQL, a, eachOperation())
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
	err = s.inNodeTx(ctx, ident, "waive what node "+words(ident, 64)+" owes", func(l *lockedNode, b *pgx.Batch) (err error) {
		if waived, err = node.Waive(&l.Node, user, reason); err != nil {
			return err
		}
		if err := l.queueState(b); err != nil {
			return err
		}
		l.queueMendLeft(b, node.WaivedBy(user, reason), 0)
		if o := l.Operation; o != nil && o.Kind.Spec().Undoes {
			undo = &node.Operation{}
			queueAsk(b, o.ID, node.Steer{Ask: node.AskCancel, By: user, Reason: reason}, undo)
		}
		queueHistory(b, l.ID, node.HistoryEvent{Event: "waived what was to be undone (" + node.UndoList(waived) + "): " + reason, EventType: node.HistorySteering, User: user})
		return nil
	})
	return waived, undo, err
}

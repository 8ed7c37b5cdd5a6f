package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Direct changes an open operation for the workflow that runs it, or for a
// person: edit sees the node under its row's lock, with this operation, and
// changes it in place, by the methods of node.Operation (also RunID, Claim, Steps and Undo;
// of the node LastError). Whose operation it is, edit has to check. fault.Lost when it has
// ended.
func (s *Store) Direct(ctx context.Context, id int64, edit func(*node.Node) (node.OperationChange, error)) (*node.Operation, error) {
	var f fenced
	err := s.inTx(ctx, "direct an operation", func(b *pgx.Batch) { f.queueLock(b, id) }, func(b *pgx.Batch) error {
		switch {
		case !f.ok:
			return noOperation(id)
		case !f.found() || f.op.EndedAt != nil:
			return fault.New(fault.Lost, "operation %d has ended", id)
		}
		audit.Of(ctx).OnNode(f.UUID, f.Name)
		audit.Of(ctx).Opens(id)
		f.Operation = &f.op
		before := f.op.Snapshot()
		lastError := f.LastError
		d, err := edit(&f.Node)
		if err != nil {
			return err
		}
		if d.Leave {
			return errLeave
		}
		if d.Move != "" {
			t, err := node.Move(&f.Node, d.Move)
			if err != nil {
				return err
			}
			f.apply(t)
		}
		if d.Move != "" || f.LastError != lastError {
			if err := f.queueState(b); err != nil {
				return err
			}
		}
		if d.Event.Event != "" {
			d.Event.Operation = id
			queueHistory(b, f.ID, f.timed(d.Event))
		}
		return queueWrite(b, &before, &f.op, d.Came)
	})
	if err != nil {
		return nil, err
	}
	return &f.op, nil
}

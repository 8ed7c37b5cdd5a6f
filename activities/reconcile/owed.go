package reconcile

import (
	"context"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// undoLimit bounds how many undos one tick opens.
const undoLimit = 200

// undoOwed opens an undo operation on each node that has owed undos and a conductor that covers it.
func (r *Reconciler) undoOwed(ctx context.Context, out *TickResult) error {
	undo, err := plan.FollowUp(&node.Node{}, nil, node.KindUndo, activities.ByReconciliation, node.Defaults{})
	if err != nil {
		return err
	}
	ops, err := r.Store.OpenUndos(ctx, undo.Steps, undo.RequestedBy, r.MediaTimeout, undoLimit)
	if err != nil {
		return err
	}
	out.Undone += len(ops)
	return each(ctx, ops, func(o *node.Operation) error { return r.Starter.Start(ctx, o) }) // the rows are the outbox
}

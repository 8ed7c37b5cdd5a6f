package activities

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// undoLimit bounds how many undos one tick opens.
const undoLimit = 200

// byReconciliation is who did what nobody asked for.
const byReconciliation = "reconciliation"

// pay opens an undo on every node that owes something and that somebody covers.
func (r *Reconcile) pay(ctx context.Context, out *TickResult) error {
	undo, err := node.FollowUp(&node.Node{}, nil, node.KindUndo, byReconciliation, node.Defaults{})
	if err != nil {
		return err
	}
	ops, err := r.Reconciler.OpenUndos(ctx, undo.Steps, undo.RequestedBy, r.MediaTimeout, undoLimit)
	if err != nil {
		return err
	}
	out.Undone += len(ops)
	return each(ctx, ops, func(o *node.Operation) error { return r.Starter.Start(ctx, o) }) // the rows are the outbox
}

// payOwed does what earlier operations owe the node's hardware. What is done is
// owed no more, also where the rest fails.
func payOwed(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	return over, t.undo(ctx, step, t.node.Owed)
}

package activities

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/node"
)

// undoLimit bounds how many undos one tick opens.
const undoLimit = 200

// undoWait is how long an undo waits for a conductor: where the last one of the
// node has just died, its node is not held for longer.
const undoWait = 30 * time.Second

// byReconciliation is who did what nobody asked for.
const byReconciliation = "reconciliation"

// pay opens an undo on every node that owes something and that somebody covers.
func (r *Reconcile) pay(ctx context.Context, out *TickResult) error {
	steps, err := node.Plan(node.KindUndo, &node.Node{}, nil, node.PlanOptions{})
	if err != nil {
		return err
	}
	ops, err := r.Reconciler.OpenUndos(ctx, steps, byReconciliation, undoLimit)
	if err != nil {
		return err
	}
	out.Undone += len(ops)
	return each(ctx, ops, func(o *node.Operation) error { return r.Starter.Start(ctx, o) }) // the rows are the outbox
}

// payOwed does what earlier operations owe the node's hardware.
func payOwed(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := t.undo(ctx, step, t.node.Owed); err != nil {
		return 0, err
	}
	t.node.Owed = nil
	t.pending.ClearOwed = true
	return over, nil
}

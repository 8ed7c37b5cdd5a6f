package conductor

import (
	"context"
	"slices"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// undo puts right what is listed, in an order that leaves the server off before
// its media are taken. Each may run twice; what is sent is noted on step, so that
// whoever goes on after a crash looks for its effect first.
func (t *task) undo(ctx context.Context, step *node.Step, list []node.Undo) error {
	if slices.Contains(list, node.UndoPowerOff) && !t.node.DisablePowerOff {
		if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
			return err
		}
		t.undone(node.UndoPowerOff)
	}
	if !slices.Contains(list, node.UndoEjectMedia) && !slices.Contains(list, node.UndoClearBoot) {
		return nil
	}
	err := t.fromDisk(ctx)
	if err == nil || !isPermanent(err) || !slices.Contains(t.op.Undo, node.UndoEjectMedia) && !slices.Contains(t.node.Owed, node.UndoEjectMedia) {
		return err
	}
	if b, failed := t.boot(); failed == nil {
		b.giveUpRamdisk(ctx, t)
	}
	return err
}

// undoOwed does what earlier operations owe the node's hardware. What is done is
// owed no more, also where the rest fails.
func undoOwed(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	return done, t.undo(ctx, step, t.node.Owed)
}

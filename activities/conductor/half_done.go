package conductor

import (
	"context"
	"slices"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// undo does the undos in list. It settles the BMC's password before it asks for anything else, and switches the server off before it ejects media. Each may
// run twice. Requests are recorded on step, so that after a crash the next attempt looks
// for their effect first.
func (t *task) undo(ctx context.Context, step *node.Step, list []node.Undo) error {
	if slices.Contains(list, node.UndoBMCPassword) {
		if _, err := t.settlePassword(ctx, nil); err != nil {
			return err
		}
		t.undone(node.UndoBMCPassword)
	}
	if slices.Contains(list, node.UndoBootInstance) {
		return t.bootBack(ctx, step)
	}
	if slices.Contains(list, node.UndoPowerOff) {
		if !t.node.DisablePowerOff { // else nobody may switch it off any more, and nothing is left to do
			if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
				return err
			}
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

// bootBack boots the instance of a node whose server runs the agent, or may do so.
func (t *task) bootBack(ctx context.Context, step *node.Step) error {
	if t.node.DisablePowerOff { // since the service began; nobody may switch it off any more
		t.undone(node.UndoBootInstance)
		return t.fromDisk(ctx)
	}
	if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
		return err
	}
	if err := t.toInstance(ctx, step); err != nil {
		return err
	}
	return t.powerInstance(ctx, step)
}

// undoOwed does the undos that earlier operations left. An undo that succeeds is no longer
// owed, even if another one fails.
func undoOwed(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	return done, t.undo(ctx, step, t.node.Owed)
}

package conductor

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// leaveOff leaves the server off, without media and without an agent.
func leaveOff(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if t.node.DisablePowerOff {
		t.pending.ClearAgent = true
		return done, nil
	}
	if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
		return 0, err
	}
	t.pending.ClearAgent = true
	t.node.Agent = nil
	t.undone(node.UndoPowerOff, node.UndoBootInstance) // no instance is to be booted on a server that is left off
	return done, t.fromDisk(ctx)
}

// tearDown switches the instance's server off and removes its media. The save at its end moves
// the node out of the state "deleting" and clears the instance in the same transaction.
func tearDown(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if t.node.ProvisionState != node.Deleting {
		return done, nil
	}
	if o, err := leaveOff(ctx, t, step); err != nil {
		return o, err
	}
	if err := t.secureInstance(ctx, false); err != nil {
		return 0, err
	}
	t.move(node.EventClean)
	return done, nil
}

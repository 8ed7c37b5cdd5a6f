package wrap

import (
	"context"
	"time"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
)

// ConductorStore wraps the store of steps so that an attempt stops around what it reads and writes of its operation.
func ConductorStore(r conductor.OperationStore) conductor.OperationStore { return &conductorStore{r} }

type conductorStore struct{ conductor.OperationStore }

// Claim stores the position that the attempt begins at.
func (r *conductorStore) Claim(ctx context.Context, operation int64, runID string, c node.Claim, started time.Time, conductor string) (*node.Node, error) {
	n, err := r.OperationStore.Claim(ctx, operation, runID, c, started, conductor)
	if p := positionIn(ctx); p != nil && err == nil {
		p.operation, p.node, p.step = n.Operation.ID, n.UUID, currentOf(n.Operation.Steps)
	}
	return n, err
}

// Credentials is what an attempt reads last before its work. It stops here and not after the claim, so that an attempt that
// is killed here leaves an operation that has begun.
func (r *conductorStore) Credentials(ctx context.Context, n *node.Node) (node.Secrets, error) {
	s, err := r.OperationStore.Credentials(ctx, n)
	if p := positionIn(ctx); p != nil && err == nil {
		left := p.step.Phase
		if p.isUndo {
			left = ""
		}
		p.stop(ctx, chaos.Claimed, left)
	}
	return s, err
}

// SaveSteps updates the position from what is written.
func (r *conductorStore) SaveSteps(ctx context.Context, operation int64, c node.Claim, done node.Progress) (node.Ask, error) {
	p := positionIn(ctx)
	if p == nil {
		return r.OperationStore.SaveSteps(ctx, operation, c, done)
	}
	if p.endsStep(done) {
		p.stop(ctx, chaos.Over, "")
	}
	ask, err := r.OperationStore.SaveSteps(ctx, operation, c, done)
	if err != nil || p.isUndo {
		return ask, err
	}
	was := p.step
	p.step = currentOf(done.Steps)
	switch {
	case p.step.State == node.StepRunning && began(was, p.step):
		p.stop(ctx, chaos.Begun, p.step.Phase)
	case p.step.Step == "", p.step.State == node.StepWaiting && was.State == node.StepRunning:
		p.stop(ctx, chaos.Recorded, "")
	}
	return ask, err
}

// endsStep reports whether the step that ran, or the undo, ends with what is written. An undo that has not ended writes
// what it waits for.
func (p *position) endsStep(done node.Progress) bool {
	if p.isUndo {
		return done.WaitingFor == ""
	}
	at := p.step.Index
	return p.step.State == node.StepRunning && at < len(done.Steps) && done.Steps[at].Name() == p.step.Name() && done.Steps[at].State == node.StepDone
}

// began reports whether the step now, which runs, did not run before, or ran for an earlier attempt.
func began(was, now node.Step) bool {
	return was.Index != now.Index || was.Name() != now.Name() || was.State != node.StepRunning || was.Attempts < now.Attempts
}

// HandOver records that the attempt gives its step to another one.
func (r *conductorStore) HandOver(ctx context.Context, operation int64, c node.Claim, p *node.Pause, known node.Progress) error {
	chaos.Trace(chaos.Point{Name: chaos.HandedOver, Operation: operation})
	return r.OperationStore.HandOver(ctx, operation, c, p, known)
}

// Inventory reads what the agent found.
func (r *conductorStore) Inventory(ctx context.Context, nodeUUID string) (inventory, plugin map[string]any, err error) {
	inventory, plugin, err = r.OperationStore.Inventory(ctx, nodeUUID)
	if err == nil {
		positionIn(ctx).stop(ctx, chaos.Looked, "inventory")
	}
	return inventory, plugin, err
}

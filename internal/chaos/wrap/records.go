package wrap

import (
	"context"
	"time"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
)

// ConductorStore stops around what an attempt reads and writes of its operation.
func ConductorStore(r conductor.OperationStore) conductor.OperationStore { return &conductorStore{r} }

type conductorStore struct{ conductor.OperationStore }

// Claim notes the place that the attempt has from here on.
func (r *conductorStore) Claim(ctx context.Context, operation int64, runID string, c node.Claim, started time.Time, conductor string) (*node.Node, error) {
	n, err := r.OperationStore.Claim(ctx, operation, runID, c, started, conductor)
	if p := placeIn(ctx); p != nil && err == nil {
		p.operation, p.node, p.step = n.Operation.ID, n.UUID, currentOf(n.Operation.Steps)
	}
	return n, err
}

// Credentials are the last that an attempt reads before its work. It stops after that, and not after its claim, so that
// an attempt that is ended there leaves the operation as one that has begun.
func (r *conductorStore) Credentials(ctx context.Context, n *node.Node) (node.Secrets, error) {
	s, err := r.OperationStore.Credentials(ctx, n)
	if p := placeIn(ctx); p != nil && err == nil {
		left := p.step.Phase
		if p.undoes {
			left = ""
		}
		p.stop(ctx, chaos.Claimed, left)
	}
	return s, err
}

// SaveSteps tells from what is written where the steps are.
func (r *conductorStore) SaveSteps(ctx context.Context, operation int64, c node.Claim, done node.Progress) (node.Ask, error) {
	p := placeIn(ctx)
	if p == nil {
		return r.OperationStore.SaveSteps(ctx, operation, c, done)
	}
	if p.ends(done) {
		p.stop(ctx, chaos.Over, "")
	}
	ask, err := r.OperationStore.SaveSteps(ctx, operation, c, done)
	if err != nil || p.undoes {
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

// ends reports whether the step that ran, or the undo, is over with what is written. An undo says what it waits for
// until it is over.
func (p *place) ends(done node.Progress) bool {
	if p.undoes {
		return done.WaitingFor == ""
	}
	at := p.step.Index
	return p.step.State == node.StepRunning && at < len(done.Steps) && done.Steps[at].Name() == p.step.Name() && done.Steps[at].State == node.StepDone
}

// began reports whether now, which runs, was not running before, or only for an attempt before this one.
func began(was, now node.Step) bool {
	return was.Index != now.Index || was.Name() != now.Name() || was.State != node.StepRunning || was.Attempts < now.Attempts
}

// Inventory is what the agent found.
func (r *conductorStore) Inventory(ctx context.Context, nodeUUID string) (inventory, plugin map[string]any, err error) {
	inventory, plugin, err = r.OperationStore.Inventory(ctx, nodeUUID)
	if err == nil {
		placeIn(ctx).stop(ctx, chaos.Looked, "inventory")
	}
	return inventory, plugin, err
}

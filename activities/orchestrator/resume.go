package orchestrator

import (
	"context"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/node"
)

// recordResumed records that the operation is no longer paused in Temporal, if the row says
// that it is: its workflow has called an activity, so it runs.
func (a *Operations) recordResumed(ctx context.Context, o *node.Operation) (*node.Operation, error) {
	if o.TemporalPause == nil {
		return o, nil
	}
	return a.Store.Direct(ctx, o.ID, func(n *node.Node) (node.OperationChange, error) {
		if n.Operation.RunID != o.RunID {
			return node.OperationChange{}, otherRun(o.ID)
		}
		return activities.Resume(n), nil
	})
}

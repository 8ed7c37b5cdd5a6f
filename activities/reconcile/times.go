package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// learnTimes counts how long steps took, so that people are told when one takes unusually long. It also deletes the oldest operations of the
// nodes whose operations have just ended: only these nodes have got more.
func (r *Reconciler) learnTimes(ctx context.Context, _ *TickResult) error {
	operations, nodes, err := r.Store.LearnTimes(ctx)
	if err != nil || operations == 0 {
		return err
	}
	gone, err := r.Store.ForgetOperations(ctx, nodes)
	r.Log.Debug("the times of steps were counted", zap.Int("operations", operations), zap.Int("old_operations_deleted", gone))
	return err
}

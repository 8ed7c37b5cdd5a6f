package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// learnTimes counts how long steps took, so that people are told when one takes unusually long.
func (r *Reconciler) learnTimes(ctx context.Context, _ *TickResult) error {
	operations, err := r.Store.LearnTimes(ctx)
	if operations > 0 {
		r.Log.Debug("the times of steps were counted", zap.Int("operations", operations))
	}
	return err
}

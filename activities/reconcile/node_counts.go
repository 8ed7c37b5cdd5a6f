package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// addUpNodeCounts keeps the table small from which nodes are counted.
func (r *Reconciler) addUpNodeCounts(ctx context.Context, _ *TickResult) error {
	rows, err := r.Store.AddUpNodeCounts(ctx)
	if rows > 0 {
		r.Log.Debug("counts of nodes were added up", zap.Int("rows", rows))
	}
	return err
}

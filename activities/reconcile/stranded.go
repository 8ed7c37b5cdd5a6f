package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// stranded moves nodes in a transient state without an operation to the failed state.
func (r *Reconciler) stranded(ctx context.Context, out *TickResult) error {
	settled, err := r.Store.FailStranded(ctx, r.Safe)
	out.Recovered += settled
	if settled > 0 {
		r.Log.Warn("nodes in a transient state without an operation were moved to their failed state", zap.Int("settled", settled))
	}
	return err
}

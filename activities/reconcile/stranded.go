package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// stranded ends the transient states that no operation is behind.
func (r *Reconciler) stranded(ctx context.Context, out *TickResult) error {
	settled, err := r.Store.SettleStranded(ctx, r.Safe)
	out.Recovered += settled
	if settled > 0 {
		r.Log.Warn("nodes in a transient state without an operation", zap.Int("settled", settled))
	}
	return err
}

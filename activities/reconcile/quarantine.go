package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// quarantine writes down whom nobody covers any more and who is covered again.
// What is offered does not wait for it.
func (r *Reconciler) quarantine(ctx context.Context, out *TickResult) error {
	did, err := r.Store.Quarantine(ctx)
	out.Quarantined, out.Released = did.Quarantined, did.Released
	if did.Quarantined > 0 || did.Released > 0 {
		r.Log.Info("quarantine", zap.Int("quarantined", did.Quarantined), zap.Int("released", did.Released))
	}
	return err
}

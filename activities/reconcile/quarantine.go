package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// quarantine records which nodes have lost their coverage and which have it again. Whether a
// node is offered to schedulers does not depend on this record.
func (r *Reconciler) quarantine(ctx context.Context, out *TickResult) error {
	did, err := r.Store.Quarantine(ctx)
	out.Quarantined, out.Released = did.Quarantined, did.Released
	if did.Quarantined > 0 || did.Released > 0 {
		r.Log.Info("nodes entered or left quarantine", zap.Int("quarantined", did.Quarantined), zap.Int("released", did.Released))
	}
	return err
}

package reconcile

import (
	"context"
	"errors"

	"go.uber.org/zap"
)

// keepAudit drops old partitions of the audit, and deletes tokens that ended as long ago.
func (r *Reconciler) keepAudit(ctx context.Context, _ *TickResult) error {
	dropped, err := r.Store.KeepAudit(ctx, r.Audit.Age, r.Audit.Most)
	if dropped > 0 {
		r.Log.Info("old partitions of the audit were dropped", zap.Int("rows", dropped), zap.Duration("older_than", r.Audit.Age), zap.Int("limit", r.Audit.Most))
	}
	return errors.Join(err, r.Store.ForgetTokens(ctx, r.Audit.Age))
}

package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// forgetDeleted deletes the histories and operations of nodes that were deleted long ago.
func (r *Reconciler) forgetDeleted(ctx context.Context, out *TickResult) error {
	gone, err := r.Store.ForgetDeleted(ctx, r.Retention)
	out.Forgotten = gone
	if gone > 0 {
		r.Log.Info("the records of nodes that were deleted long ago were removed", zap.Int("nodes", gone), zap.Duration("older_than", r.Retention))
	}
	return err
}

// forgetEvents deletes events that nobody can ask for any more.
func (r *Reconciler) forgetEvents(ctx context.Context, _ *TickResult) error {
	gone, err := r.Store.ForgetEvents(ctx, r.Events.Age, r.Events.Most)
	if gone > 0 {
		r.Log.Debug("old events were deleted", zap.Int("events", gone))
	}
	return err
}

// forgetRequests deletes idempotency keys that are no longer honoured.
func (r *Reconciler) forgetRequests(ctx context.Context, _ *TickResult) error {
	gone, err := r.Store.ForgetRequests(ctx)
	if gone > 0 {
		r.Log.Debug("old idempotency keys were deleted", zap.Int("keys", gone))
	}
	return err
}

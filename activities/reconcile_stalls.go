package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
)

// tellMisfits tells workflows whose wait is not what it should be: a conductor
// is back, or gone, or maintenance was lifted. Each reads its row and writes
// there what it waits for now; until it has, it is told again.
func (r *Reconcile) tellMisfits(ctx context.Context, out *TickResult) error {
	ops, err := r.Reconciler.Misfits(ctx)
	if err != nil {
		return err
	}
	for i := range ops {
		if err := r.Teller.Nudge(ctx, &ops[i]); err != nil {
			return err
		}
		out.Nudged++
		activity.RecordHeartbeat(ctx)
	}
	return nil
}

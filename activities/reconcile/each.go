package reconcile

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"

	"go.temper.dev/temper/internal/node"
)

// maxErrors is after how many failures a part of a tick gives up: it is no single
// operation then, but Temporal or the database.
const maxErrors = 5

// each does something about each operation. One that can't be helped keeps none of
// the others from it.
func each[T any](ctx context.Context, list []T, do func(*T) error) error {
	var errs []error
	for i := range list {
		if err := do(&list[i]); err != nil {
			errs = append(errs, err)
		}
		if len(errs) == maxErrors {
			break
		}
		activity.RecordHeartbeat(ctx)
	}
	return errors.Join(errs...)
}

func (r *Reconciler) nudge(ctx context.Context, o *node.Operation, out *TickResult) error {
	err := r.Controller.Nudge(ctx, o)
	if err == nil {
		out.Nudged++
	}
	return err
}

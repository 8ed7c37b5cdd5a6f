package reconcile

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"

	"go.temper.dev/temper/internal/node"
)

// maxErrors is after how many errors a part of a tick ends. So many mean that Temporal or the
// database fails, and no single operation.
const maxErrors = 5

// each calls do for each item of list. An error does not keep it from the next ones, up to
// maxErrors.
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

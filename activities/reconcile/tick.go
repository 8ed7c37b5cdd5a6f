package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/internal/fault"
)

// part is one part of a reconciliation, in a file of its own. It counts in the result what it
// has done, and may run twice.
type part struct {
	name string
	run  func(context.Context, *TickResult) error
}

// parts are the parts of a tick, in their order: ownership and coverage come before what depends
// on them.
func (r *Reconciler) parts() []part {
	return []part{
		{"epoch", r.epoch},
		{"quarantine", r.quarantine},
		{"node counts", r.addUpNodeCounts},
		{"operations", r.operations},
		{"stranded", r.stranded},
		{"shares", r.shares},
		{"instances", r.instances},
		{"owed", r.undoOwed},
		{"deleted nodes", r.forgetDeleted},
		{"idempotency keys", r.forgetRequests},
		{"step times", r.learnTimes},
		{"events", r.forgetEvents},
		{"audit", r.keepAudit},
	}
}

// Tick runs all parts. One that fails does not keep the others from running;
// the error at the end names each, and carries the result.
func (r *Reconciler) Tick(ctx context.Context) (TickResult, error) {
	var out TickResult
	var errs []error
	began := time.Now()
	for _, p := range r.parts() {
		if err := p.run(ctx, &out); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
			out.Failed = append(out.Failed, fault.Text(errs[len(errs)-1]))
		}
		activity.RecordHeartbeat(ctx)
	}
	if err := r.Ring.Reconciled(ctx); err != nil {
		errs = append(errs, err)
	}
	out.Took = time.Since(began).Round(time.Millisecond).String()
	if err := errors.Join(errs...); err != nil {
		return out, temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Second, Details: []any{out}})
	}
	return out, nil
}

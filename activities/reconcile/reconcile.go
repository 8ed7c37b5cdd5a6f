package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Reconciler is what reconciliation reads and writes, in sets.
type Store interface {
	NotBegun(ctx context.Context, olderThan time.Duration, limit int) ([]node.Operation, error)
	Begun(ctx context.Context, limit int, after int64) ([]node.Operation, error)
	MarkMissing(ctx context.Context, ids []int64, gap time.Duration) ([]node.Missing, error)
	ClearMissing(ctx context.Context, ids []int64) error
	ForgetMissing(ctx context.Context) error
	Asked(ctx context.Context) ([]node.Operation, error)
	Called(ctx context.Context) ([]node.Operation, error)
	Quarantine(ctx context.Context) (node.QuarantineTick, error)
	SettleStranded(ctx context.Context, safe time.Duration) (int, error)
	// SaidLostTemporal is who said within that time that Temporal has lost its
	// data; "" = nobody.
	SaidLostTemporal(ctx context.Context, within time.Duration) (by string, err error)
	OpenUndos(ctx context.Context, steps []node.Step, by string, mediaTimeout time.Duration, limit int) ([]node.Operation, error)
	Misfits(ctx context.Context) ([]node.Operation, error)
	// ForgetDeleted deletes the records of nodes that were deleted longer ago.
	ForgetDeleted(ctx context.Context, olderThan time.Duration) (int, error)
	// ForgetRequests deletes idempotency keys that are no longer honoured.
	ForgetRequests(ctx context.Context) (int, error)
}

// OperationStore changes one operation at a time.
type OperationStore interface {
	CloseOperation(ctx context.Context, end node.End) (*node.Operation, error)
	// Direct changes an open operation in place, under the locks of its rows.
	Direct(ctx context.Context, operation int64, edit func(*node.Node) (node.Direction, error)) (*node.Operation, error)
}

// Teller speaks to a workflow about its operation.
type Teller interface {
	Cancel(ctx context.Context, o *node.Operation, reason string) error
	Nudge(ctx context.Context, o *node.Operation) error
	// Unpause unpauses the operation's workflow or its activity in Temporal. It does
	// nothing if neither is paused.
	Unpause(ctx context.Context, o *node.Operation, by, reason string) error
}

// Reconcile is the activity of the scheduled reconciliation.
type Reconciler struct {
	Reconciler Store
	Ring       RingBook
	Ledger     OperationStore
	Starter    activities.Starter
	Teller     Teller
	Workflows  activities.Workflows
	Defaults   node.Defaults // of the operations that it opens
	Shares     Shares
	Instances  Instances
	Reaping    Reaping
	Safe       time.Duration // after a workflow has closed, until nothing of it can act
	// MediaTimeout is how long after an insertion was sent the medium may still appear.
	MediaTimeout time.Duration
	Interval     time.Duration // between two ticks
	Retention    time.Duration // of the records of deleted nodes
	Log          *zap.Logger
}

// part is one thing that a reconciliation puts right, in a file of its own. It
// counts in the result what it did, and may run twice.
type part struct {
	name string
	run  func(context.Context, *TickResult) error
}

// parts are what a tick does, in this order: who owns and who can serve comes
// before what depends on it.
func (r *Reconciler) parts() []part {
	return []part{
		{"epoch", r.epoch},
		{"quarantine", r.quarantine},
		{"operations", r.operations},
		{"stranded", r.stranded},
		{"shares", r.shares},
		{"instances", r.instances},
		{"owed", r.pay},
		{"deleted nodes", r.forget},
		{"idempotency keys", r.forgetRequests},
	}
}

// TickResult is what a reconciliation did, for its details in Temporal's UI.
type TickResult struct {
	Started     int      `json:"started"`     // operations that nobody had started
	Recovered   int      `json:"recovered"`   // operations that had lost their workflow, ended
	Cancelled   int      `json:"cancelled"`   // cancellations repeated
	Nudged      int      `json:"nudged"`      // workflows told of news in their rows
	Paused      int      `json:"paused"`      // operations that are paused in Temporal
	Epoch       int64    `json:"epoch"`       // of the ring, after the tick
	Moved       int      `json:"moved"`       // nodes with another owner than before
	Quarantined int      `json:"quarantined"` // nodes that nobody covers any more
	Released    int      `json:"released"`    // nodes that are covered again
	Undone      int      `json:"undone"`      // operations opened to do what is owed
	Expired     int      `json:"expired"`     // compute services that went silent
	Reaped      int      `json:"reaped"`      // nodes whose instance is gone, undeployed
	Forgotten   int      `json:"forgotten"`   // deleted nodes whose records were dropped
	Took        string   `json:"took"`
	Alarm       string   `json:"alarm,omitempty"`
	Failed      []string `json:"failed,omitempty"` // parts that did not end, and why
}

// Details are the result for people.
func (t TickResult) Details() string {
	lines := []string{
		fmt.Sprintf("epoch %d, moved %d, quarantined %d, released %d", t.Epoch, t.Moved, t.Quarantined, t.Released),
		fmt.Sprintf("operations: started %d, cancelled %d, nudged %d, recovered %d, undoing %d, paused in Temporal %d",
			t.Started, t.Cancelled, t.Nudged, t.Recovered, t.Undone, t.Paused),
		fmt.Sprintf("compute services: expired %d, reaped %d", t.Expired, t.Reaped),
		"took " + t.Took,
	}
	if t.Alarm != "" {
		lines = append(lines, t.Alarm)
	}
	for _, f := range t.Failed {
		lines = append(lines, "failed: "+f)
	}
	return strings.Join(lines, "\n\n")
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

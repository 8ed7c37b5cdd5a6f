package reconcile

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// RingStore reads and writes who owns which nodes.
type RingStore interface {
	Fleet(ctx context.Context) (*coverage.Fleet, error)
	RingNodes(ctx context.Context, needs []int64) ([]coverage.RingNode, error)
	// WriteEpoch fails with fault.Conflict if e was computed from an epoch that is not the
	// newest one, or the conductors have changed.
	WriteEpoch(ctx context.Context, e coverage.Epoch) (int64, error)
	// Reconciled notes that a tick has ended.
	Reconciled(ctx context.Context) error
}

// ShareStore reads and writes how the nodes are split among compute services.
type ShareStore interface {
	// SharesStale reports whether a new epoch would differ from the published one.
	SharesStale(ctx context.Context) (bool, error)
	// PublishShares makes the next epoch of what decide says; revision 0 = always.
	PublishShares(ctx context.Context, revision int64, decide func(share.State) []share.Row) (share.Published, error)
	// HandOverShares lets nodes enter whose old services have acknowledged.
	HandOverShares(ctx context.Context, least time.Duration) (share.Published, error)
}

// InstanceStore reads which nodes have an instance that is gone, and opens operations on them.
type InstanceStore interface {
	SweepInstances(ctx context.Context) error
	Orphans(ctx context.Context, olderThan time.Duration, limit int) ([]share.Orphan, error)
	Request(ctx context.Context, ident string, decide func(*node.Node) (*node.Request, error)) (*node.Operation, error)
}

// Store is what reconciliation reads and writes of all operations and nodes.
type Store interface {
	NotBegun(ctx context.Context, olderThan time.Duration, limit int) ([]node.Operation, error)
	// RenameWorkflow gives the workflow of an operation that has not begun another id; fault.Lost if it has begun.
	RenameWorkflow(ctx context.Context, o *node.Operation) (*node.Operation, error)
	OpenRuns(ctx context.Context, limit int, after int64) ([]node.OpenRun, error)
	OpenOperations(ctx context.Context, ids []int64) ([]node.Operation, error)
	MarkMissing(ctx context.Context, ids []int64, gap time.Duration) ([]node.MissingWorkflow, error)
	ClearMissing(ctx context.Context, ids []int64) error
	ForgetMissing(ctx context.Context) error
	Asked(ctx context.Context) ([]node.Operation, error)
	MissedCallbacks(ctx context.Context) ([]node.Operation, error)
	Quarantine(ctx context.Context) (coverage.QuarantineTick, error)
	// AddUpNodeCounts adds up the counts of the same kind of nodes, and returns how many there were.
	AddUpNodeCounts(ctx context.Context) (rows int, err error)
	FailStranded(ctx context.Context, safe time.Duration) (int, error)
	// SaidLostTemporal returns who has said within that time that Temporal has lost its
	// data, "" if nobody has.
	SaidLostTemporal(ctx context.Context, within time.Duration) (by string, err error)
	OpenUndos(ctx context.Context, steps []node.Step, by string, mediaTimeout time.Duration, limit int) ([]node.Operation, error)
	StaleWaits(ctx context.Context) ([]node.Operation, error)
	// ForgetDeleted deletes the records of nodes that were deleted longer ago.
	ForgetDeleted(ctx context.Context, olderThan time.Duration) (int, error)
	// ForgetRequests deletes idempotency keys that are no longer honoured.
	ForgetRequests(ctx context.Context) (int, error)
	// LearnTimes counts how long the steps of operations took that have ended since the
	// last tick, and returns the number of these operations and the ids of their nodes.
	LearnTimes(ctx context.Context) (operations int, nodes []int64, err error)
	// ForgetOperations deletes the oldest operations of nodes.
	ForgetOperations(ctx context.Context, nodes []int64) (int, error)
	// ForgetEvents deletes events that are older than age, and all but the newest of the number most.
	ForgetEvents(ctx context.Context, age time.Duration, most int) (int, error)
	// KeepAudit drops what is older than age from the audit, and what is more than most rows.
	KeepAudit(ctx context.Context, age time.Duration, most int) (dropped int, err error)
	// ForgetTokens deletes tokens that were revoked, or have expired, longer ago than age.
	ForgetTokens(ctx context.Context, age time.Duration) error
}

// OperationStore changes one operation at a time.
type OperationStore interface {
	CloseOperation(ctx context.Context, end node.End) (*node.Operation, error)
	// Direct changes an open operation in place, under the locks of its rows.
	Direct(ctx context.Context, operation int64, edit func(*node.Node) (node.OperationChange, error)) (*node.Operation, error)
}

// WorkflowController cancels, signals and unpauses the workflow of an operation.
type WorkflowController interface {
	Cancel(ctx context.Context, o *node.Operation, reason string) error
	Nudge(ctx context.Context, o *node.Operation) error
	// Unpause unpauses the operation's workflow or its activity in Temporal. It does
	// nothing if neither is paused.
	Unpause(ctx context.Context, o *node.Operation, by, reason string) error
}

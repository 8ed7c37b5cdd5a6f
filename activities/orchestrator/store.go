package orchestrator

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/node"
)

// OperationStore reads and changes operations in the database.
type OperationStore interface {
	Begin(ctx context.Context, operation int64, workflowID, runID string) (*node.Operation, error)
	Operation(ctx context.Context, id int64) (*node.Operation, error)
	Node(ctx context.Context, ident string) (*node.Node, error)
	Covering(ctx context.Context, nodeUUID string) ([]node.Host, error)
	Watch(ctx context.Context, operation int64) (*node.Node, node.Coverage, error)
	Block(ctx context.Context, operation int64, runID string, seq int64, blocked node.BlockReason, waitingFor string, within *time.Duration) (*node.Operation, error)
	GoOn(ctx context.Context, operation int64, runID string) error
	CloseOperation(ctx context.Context, end node.End) (*node.Operation, error)
	SetUndo(ctx context.Context, operation int64, runID string, undo []node.Undo, why node.Failure) error
	// Retry opens an operation that retries one that has ended.
	Retry(ctx context.Context, id int64, decide func(n *node.Node, old *node.Operation, newest bool) (*node.Request, error)) (*node.Operation, error)
	// Direct changes an open operation in place, under the locks of its rows.
	Direct(ctx context.Context, operation int64, edit func(*node.Node) (node.OperationChange, error)) (*node.Operation, error)
}

package orchestrator

import (
	"context"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// CountLostClaims returns s, and calls lost with "begin", "undo" or "close" whenever a write of that kind is
// refused because another claim is newer or the operation is another run's.
func CountLostClaims(l OperationStore, lost func(what string)) OperationStore {
	return &lostClaimCounter{OperationStore: l, lost: lost}
}

type lostClaimCounter struct {
	OperationStore
	lost func(what string)
}

func (c *lostClaimCounter) count(what string, err error) {
	if fault.Is(err, fault.Lost) {
		c.lost(what)
	}
}

// Begin implements OperationStore.
func (c *lostClaimCounter) Begin(ctx context.Context, operation int64, workflowID, runID string) (*node.Operation, error) {
	o, err := c.OperationStore.Begin(ctx, operation, workflowID, runID)
	c.count("begin", err)
	return o, err
}

// SetUndo implements OperationStore.
func (c *lostClaimCounter) SetUndo(ctx context.Context, operation int64, runID string, undo []node.Undo, why node.Failure) error {
	err := c.OperationStore.SetUndo(ctx, operation, runID, undo, why)
	c.count("undo", err)
	return err
}

// CloseOperation implements OperationStore.
func (c *lostClaimCounter) CloseOperation(ctx context.Context, end node.End) (*node.Operation, error) {
	o, err := c.OperationStore.CloseOperation(ctx, end)
	c.count("close", err)
	return o, err
}

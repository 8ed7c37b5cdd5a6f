package orchestrator

import (
	"context"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// CountedLedger does the same for what workflows write: "begin", "undo", "close".
func CountedLedger(l Ledger, lost func(what string)) Ledger {
	return &countedLedger{Ledger: l, lost: lost}
}

type countedLedger struct {
	Ledger
	lost func(what string)
}

func (c *countedLedger) count(what string, err error) {
	if fault.Is(err, fault.Lost) {
		c.lost(what)
	}
}

// Begin counts.
func (c *countedLedger) Begin(ctx context.Context, operation int64, runID string) (*node.Operation, error) {
	o, err := c.Ledger.Begin(ctx, operation, runID)
	c.count("begin", err)
	return o, err
}

// SetUndo counts.
func (c *countedLedger) SetUndo(ctx context.Context, operation int64, runID string, undo []node.Undo) error {
	err := c.Ledger.SetUndo(ctx, operation, runID, undo)
	c.count("undo", err)
	return err
}

// CloseOperation counts.
func (c *countedLedger) CloseOperation(ctx context.Context, end node.End) (*node.Operation, error) {
	o, err := c.Ledger.CloseOperation(ctx, end)
	c.count("close", err)
	return o, err
}

package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// CountLostClaims returns r, and calls lost with "claim", "guard" or "save" whenever a call
// of that kind is refused because another attempt has a newer claim.
func CountLostClaims(r OperationStore, lost func(what string)) OperationStore {
	if lost == nil {
		return r
	}
	return &lostClaimCounter{OperationStore: r, lost: lost}
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

// Claim implements OperationStore.
func (c *lostClaimCounter) Claim(ctx context.Context, operation int64, runID string, claim node.Claim, started time.Time, conductor string) (*node.Node, error) {
	n, err := c.OperationStore.Claim(ctx, operation, runID, claim, started, conductor)
	c.count("claim", err)
	return n, err
}

// CheckClaim implements OperationStore.
func (c *lostClaimCounter) CheckClaim(ctx context.Context, operation int64, claim node.Claim) (node.Ask, error) {
	ask, err := c.OperationStore.CheckClaim(ctx, operation, claim)
	c.count("guard", err)
	return ask, err
}

// StartRequest implements OperationStore.
func (c *lostClaimCounter) StartRequest(ctx context.Context, operation int64, claim node.Claim, r node.BMCRequest) (node.Ask, error) {
	ask, err := c.OperationStore.StartRequest(ctx, operation, claim, r)
	c.count("guard", err)
	return ask, err
}

// SaveSteps implements OperationStore.
func (c *lostClaimCounter) SaveSteps(ctx context.Context, operation int64, claim node.Claim, p node.Progress) (node.Ask, error) {
	ask, err := c.OperationStore.SaveSteps(ctx, operation, claim, p)
	c.count("save", err)
	return ask, err
}

// TellWait implements OperationStore.
func (c *lostClaimCounter) TellWait(ctx context.Context, known *node.Operation, claim node.Claim, w *node.Wait) (node.Ask, error) {
	ask, err := c.OperationStore.TellWait(ctx, known, claim, w)
	c.count("guard", err)
	return ask, err
}

// HandOver implements OperationStore.
func (c *lostClaimCounter) HandOver(ctx context.Context, operation int64, claim node.Claim, p *node.Pause, known node.Progress) error {
	err := c.OperationStore.HandOver(ctx, operation, claim, p, known)
	c.count("save", err)
	return err
}

// SaveInspection implements OperationStore.
func (c *lostClaimCounter) SaveInspection(ctx context.Context, operation int64, claim node.Claim, i node.Inspection) (int, error) {
	leftOut, err := c.OperationStore.SaveInspection(ctx, operation, claim, i)
	c.count("save", err)
	return leftOut, err
}

// SaveRAID implements OperationStore.
func (c *lostClaimCounter) SaveRAID(ctx context.Context, operation int64, claim node.Claim, config map[string]any) error {
	err := c.OperationStore.SaveRAID(ctx, operation, claim, config)
	c.count("save", err)
	return err
}

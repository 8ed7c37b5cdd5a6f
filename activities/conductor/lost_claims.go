package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Counted are records whose refusals are told to lost, by what was refused: somebody
// who came back from the dead tried it.
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

// Claim counts.
func (c *lostClaimCounter) Claim(ctx context.Context, operation int64, runID string, claim node.Claim, started time.Time, conductor string) (*node.Node, error) {
	n, err := c.OperationStore.Claim(ctx, operation, runID, claim, started, conductor)
	c.count("claim", err)
	return n, err
}

// CheckClaim counts.
func (c *lostClaimCounter) CheckClaim(ctx context.Context, operation int64, claim node.Claim) (node.Ask, error) {
	ask, err := c.OperationStore.CheckClaim(ctx, operation, claim)
	c.count("guard", err)
	return ask, err
}

// SaveSteps counts.
func (c *lostClaimCounter) SaveSteps(ctx context.Context, operation int64, claim node.Claim, p node.Progress) (node.Ask, error) {
	ask, err := c.OperationStore.SaveSteps(ctx, operation, claim, p)
	c.count("save", err)
	return ask, err
}

// PutDown counts.
func (c *lostClaimCounter) PutDown(ctx context.Context, operation int64, claim node.Claim, p *node.Pause) error {
	err := c.OperationStore.PutDown(ctx, operation, claim, p)
	c.count("save", err)
	return err
}

// SaveInspection counts.
func (c *lostClaimCounter) SaveInspection(ctx context.Context, operation int64, claim node.Claim, i node.Inspection) (int, error) {
	leftOut, err := c.OperationStore.SaveInspection(ctx, operation, claim, i)
	c.count("save", err)
	return leftOut, err
}

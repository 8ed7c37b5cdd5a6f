package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Counted are records whose refusals are told to lost, by what was refused: somebody
// who came back from the dead tried it.
func Counted(r Records, lost func(what string)) Records {
	if lost == nil {
		return r
	}
	return &counted{Records: r, lost: lost}
}

type counted struct {
	Records
	lost func(what string)
}

func (c *counted) count(what string, err error) {
	if fault.Is(err, fault.Lost) {
		c.lost(what)
	}
}

// Claim counts.
func (c *counted) Claim(ctx context.Context, operation int64, runID string, claim node.Claim, started time.Time, conductor string) (*node.Node, error) {
	n, err := c.Records.Claim(ctx, operation, runID, claim, started, conductor)
	c.count("claim", err)
	return n, err
}

// CheckClaim counts.
func (c *counted) CheckClaim(ctx context.Context, operation int64, claim node.Claim) (node.Ask, error) {
	ask, err := c.Records.CheckClaim(ctx, operation, claim)
	c.count("guard", err)
	return ask, err
}

// SaveSteps counts.
func (c *counted) SaveSteps(ctx context.Context, operation int64, claim node.Claim, p node.Progress) (node.Ask, error) {
	ask, err := c.Records.SaveSteps(ctx, operation, claim, p)
	c.count("save", err)
	return ask, err
}

// PutDown counts.
func (c *counted) PutDown(ctx context.Context, operation int64, claim node.Claim, p *node.Pause) error {
	err := c.Records.PutDown(ctx, operation, claim, p)
	c.count("save", err)
	return err
}

// SaveInspection counts.
func (c *counted) SaveInspection(ctx context.Context, operation int64, claim node.Claim, i node.Inspection) (int, error) {
	leftOut, err := c.Records.SaveInspection(ctx, operation, claim, i)
	c.count("save", err)
	return leftOut, err
}

package worker

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"
)

// refreshPower reads the power states of this conductor's nodes at intervals, and asks their BMCs that are silent, until ctx ends.
func (c *Conductor) refreshPower(ctx context.Context) {
	if c.Power == nil || c.Power.Interval <= 0 {
		return
	}
	var asking sync.WaitGroup
	asking.Go(func() { c.Power.AskSilent(ctx) })
	c.refresh(ctx, "power states", c.Power.Interval, c.Power.All)
	asking.Wait()
}

// refreshHealth reads the health of this conductor's nodes at intervals until ctx ends.
func (c *Conductor) refreshHealth(ctx context.Context) {
	if c.Health != nil {
		c.refresh(ctx, "health", c.Health.Interval, c.Health.All)
	}
}

// refresh calls all at intervals until ctx ends; an interval of 0 means never. The first delay is random, so that conductors
// that start together do not read at the same time.
func (c *Conductor) refresh(ctx context.Context, what string, every time.Duration, all func(context.Context) error) {
	if every <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(rand.Float64() * float64(every)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		err := all(ctx)
		took := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.Log.Warn("the refresh failed", zap.String("of", what), zap.Error(err))
		case took > every:
			c.Log.Warn("the refresh takes longer than the time between two of them", zap.String("of", what), zap.Duration("took", took))
		}
		timer.Reset(max(every-took, every/10))
	}
}

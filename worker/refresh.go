package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"
)

// refresh reads the power states of this conductor's nodes at intervals until ctx ends. The first
// delay is random, so that conductors that start together do not read at the same time.
func (c *Conductor) refresh(ctx context.Context) {
	if c.Power == nil || c.Power.Interval <= 0 {
		return
	}
	every := c.Power.Interval
	timer := time.NewTimer(time.Duration(rand.Float64() * float64(every)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		err := c.Power.All(ctx)
		took := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.Log.Warn("the power states could not be refreshed", zap.Error(err))
		case took > every:
			c.Log.Warn("power states take longer to read than the time between two refreshes", zap.Duration("took", took))
		}
		timer.Reset(max(every-took, every/10))
	}
}

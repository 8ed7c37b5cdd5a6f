package worker

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
)

// beat tells the database that this conductor lives, until ctx ends (nil), the
// name belongs to a newer incarnation (an error), or the database has not taken
// a heartbeat for so long that others may soon take this one for dead (nil, ctx
// still open).
func (c *Conductor) beat(ctx context.Context, incarnation int64) error {
	tick := time.NewTicker(c.Interval)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		// Measured from before the request: the database can't have taken it earlier.
		sent := time.Now()
		err := c.heartbeat(ctx, incarnation)
		switch {
		case err == nil:
			last = sent
		case ctx.Err() != nil:
			return nil
		case fault.Is(err, fault.Lost):
			return fmt.Errorf("conductor %s was started again elsewhere under this name, and that one holds it: %w", c.Self.Hostname, err)
		case time.Since(last) > c.Timeout-2*c.Interval:
			c.Log.Error("no heartbeat was taken for too long: steps are given up until the database is back",
				zap.Duration("since", time.Since(last)), zap.Error(err))
			return nil
		default:
			c.Log.Warn("heartbeat", zap.Error(err))
		}
	}
}

func (c *Conductor) heartbeat(ctx context.Context, incarnation int64) error {
	ctx, cancel := context.WithTimeout(ctx, c.Interval)
	defer cancel()
	return c.Registry.HeartbeatConductor(ctx, c.Self.Hostname, incarnation)
}

// awaitDatabase returns when a heartbeat is taken again.
func (c *Conductor) awaitDatabase(ctx context.Context, incarnation int64) error {
	tick := time.NewTicker(c.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			err := c.heartbeat(ctx, incarnation)
			if err == nil {
				c.Log.Info("the database is back")
				return nil
			}
			if fault.Is(err, fault.Lost) {
				return err
			}
		}
	}
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
)

// healthTimeout bounds asking Temporal whether it is there.
const healthTimeout = 2 * time.Second

// contact reports whether Temporal answers on the connection that work comes by.
func contact(c client.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err
	}
}

// errDrained: somebody wants this conductor to take no new work.
var errDrained = errors.New("drained")

// heartbeatLoop tells the database that this conductor lives and reaches Temporal, until
// ctx ends (nil), the name belongs to a newer incarnation (an error), it is to
// drain (errDrained, unless it does), or the database has not taken a heartbeat
// for the patience (nil, ctx still open).
func (c *Conductor) heartbeatLoop(ctx context.Context, incarnation int64, drained bool) error {
	next := time.NewTimer(c.Interval)
	defer next.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		reached := c.reached(ctx)
		// Measured from before the request: the database can't have taken it earlier.
		sent := time.Now()
		draining, err := c.heartbeat(ctx, incarnation, reached, c.databaseTimeout()-sent.Sub(last))
		switch {
		case err == nil && draining && !drained:
			return errDrained
		case err == nil:
			last = sent
			next.Reset(c.Interval - time.Since(sent))
			continue
		case ctx.Err() != nil:
			return nil
		case fault.Is(err, fault.Lost):
			return fmt.Errorf("conductor %s was started again elsewhere under this name, and that one holds it: %w", c.Self.Hostname, err)
		case time.Since(last) >= c.databaseTimeout():
			c.Log.Error("no heartbeat was taken for too long: steps are given up until the database is back",
				zap.Duration("since", time.Since(last)), zap.Error(err))
			return nil
		}
		c.Log.Warn("heartbeat", zap.Error(err))
		next.Reset(c.retryPause())
	}
}

// databaseTimeout is how long the database may take no heartbeat before the steps are
// handed over. Without it a step can't act, and whether the others are without it
// too can't be known from here. At the defaults it is 6 s: a step whose conductor
// alone is cut off goes on elsewhere within ten (measured: 3 to 6.2), and a
// PostgreSQL that is restarted for all (1 to 3 s here) makes nobody stir. Where it
// is away for longer nothing is lost by handing over: the steps wait in Temporal's
// queue instead of failing at each of their writes, and whoever polls first when
// it is back goes on. It stays below the timeout after which others take this
// conductor for dead.
func (c *Conductor) databaseTimeout() time.Duration { return min(2*c.Interval, c.Timeout-2*c.Interval) }

// retryPause is the pause after a heartbeat that was not taken.
func (c *Conductor) retryPause() time.Duration { return min(time.Second, c.Interval/3) }

// reached asks Temporal. Others take a conductor that has not reached it for the
// timeout out of what covers their nodes.
func (c *Conductor) reached(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, min(healthTimeout, c.Interval*2/3))
	defer cancel()
	err := c.contact(ctx)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		c.Log.Warn("temporal is not reached", zap.Error(err))
	}
	return err == nil
}

func (c *Conductor) heartbeat(ctx context.Context, incarnation int64, reached bool, within time.Duration) (draining bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(within, c.Interval))
	defer cancel()
	return c.Registry.HeartbeatConductor(ctx, c.Self.Hostname, incarnation, reached)
}

// awaitDatabase returns when a heartbeat is taken again.
func (c *Conductor) awaitDatabase(ctx context.Context, incarnation int64) error {
	tick := time.NewTicker(c.retryPause())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			_, err := c.heartbeat(ctx, incarnation, c.reached(ctx), c.Interval)
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

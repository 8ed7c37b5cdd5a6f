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

// healthTimeout is how long a health check of Temporal may take.
const healthTimeout = 2 * time.Second

// contact returns a health check of Temporal on the connection that the workers use.
func contact(c client.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err
	}
}

// These mean that somebody has drained this conductor, or has taken that back.
var (
	errDrained   = errors.New("drained")
	errUndrained = errors.New("undrained")
)

// heartbeatLoop writes heartbeats to the database, with whether Temporal is reached. It returns nil
// when ctx ends or the database has accepted no heartbeat for databaseTimeout, errDrained or
// errUndrained when that is no longer as drained says, and another error when a newer conductor
// has the name.
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
		// Taken before the request, because the database can't have accepted it earlier.
		sent := time.Now()
		draining, err := c.heartbeat(ctx, incarnation, reached, c.databaseTimeout()-sent.Sub(last))
		switch {
		case err == nil && draining && !drained:
			return errDrained
		case err == nil && drained && !draining:
			return errUndrained
		case err == nil:
			last = sent
			next.Reset(c.Interval - time.Since(sent))
			continue
		case ctx.Err() != nil:
			return nil
		case fault.Is(err, fault.Lost):
			return fmt.Errorf("conductor %s was started again elsewhere under this name, and that one holds it: %w", c.Self.Hostname, err)
		case time.Since(last) >= c.databaseTimeout():
			c.Log.Error("the database has accepted no heartbeat for too long: steps are handed over until it is available again",
				zap.Duration("since", time.Since(last)), zap.Error(err))
			return nil
		}
		c.Log.Warn("the heartbeat could not be written", zap.Error(err))
		next.Reset(c.retryPause())
	}
}

// databaseTimeout is how long the database may accept no heartbeat before the steps are handed
// over. A step can't do anything without the database, and this conductor can't know whether the
// others reach it. The default is 6 s. So the steps of a conductor that is cut off continue on
// another one within 10 s (measured: 3 to 6.2), and a restart of PostgreSQL (1 to 3 s here)
// moves no steps. If PostgreSQL is unavailable for longer, handing over loses nothing: the
// steps wait in Temporal's queue instead of failing at each write. The result is less than the
// timeout after which this conductor counts as dead.
func (c *Conductor) databaseTimeout() time.Duration { return min(2*c.Interval, c.Timeout-2*c.Interval) }

// retryPause is the pause after a heartbeat that failed.
func (c *Conductor) retryPause() time.Duration { return min(time.Second, c.Interval/3) }

// reached reports whether Temporal answers. A conductor that has not reached it for the timeout
// covers no node.
func (c *Conductor) reached(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, min(healthTimeout, c.Interval*2/3))
	defer cancel()
	err := c.contact(ctx)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		c.Log.Warn("temporal does not answer the health check", zap.Error(err))
	}
	return err == nil
}

func (c *Conductor) heartbeat(ctx context.Context, incarnation int64, reached bool, within time.Duration) (draining bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(within, c.Interval))
	defer cancel()
	return c.Registry.HeartbeatConductor(ctx, c.Self.Hostname, incarnation, reached)
}

// awaitDatabase returns when the database accepts a heartbeat again.
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
				c.Log.Info("the database is available again")
				return nil
			}
			if fault.Is(err, fault.Lost) {
				return err
			}
		}
	}
}

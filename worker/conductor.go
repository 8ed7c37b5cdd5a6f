package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

// Registry records which conductors there are and that they are alive.
type Registry interface {
	RegisterConductor(ctx context.Context, c coverage.Conductor) (incarnation int64, err error)
	HeartbeatConductor(ctx context.Context, hostname string, incarnation int64, contact bool) (draining bool, err error)
	DrainConductor(ctx context.Context, hostname string, incarnation int64) error
	StopConductor(ctx context.Context, hostname string, incarnation int64) error
}

// Conductor runs the activities that touch hardware, for its group and drivers.
type Conductor struct {
	Client client.Client
	// Reconciliation is told that a conductor joined or left.
	Temporal  Setup
	Registry  Registry
	Steps     *conductor.Steps
	Power     *conductor.PowerRefresh  // nil = only operations read power states
	Health    *conductor.HealthRefresh // nil = nobody reads the health
	Consoles  *conductor.Consoles      // nil = it holds no consoles
	Self      coverage.Conductor       // Hostname, Group, Interfaces
	Interval  time.Duration            // between two heartbeats
	Timeout   time.Duration            // how long after its last heartbeat it counts as dead
	StopGrace time.Duration
	AtOnce    int    // steps at a time, each queue. Default 500
	Started   func() // called each time that it begins to poll; may be nil
	Log       *zap.Logger

	contact func(context.Context) error // whether Temporal is reached
}

// pollers is how many polls of each queue a conductor has open. They are few, because each open
// poll of a frozen process can take one attempt of a step, which then has to time out.
const pollers = 2

// throttle returns the interval between the heartbeats of a step for a heartbeat timeout. A
// shorter one would not detect a killed conductor sooner. It leaves time for a request of at
// least a second (the SDK's minimum). If that fails, the SDK stops the step within the timeout,
// before Temporal gives the step to another conductor.
func throttle(timeout time.Duration) time.Duration { return timeout * 3 / 10 }

// Run registers the conductor and runs steps until ctx ends; then it hands its steps over and
// deregisters. It also stops if a newer conductor of the same name registers, or if the database
// does not accept its heartbeats: it must not act when it may count as dead.
func (c *Conductor) Run(ctx context.Context) error {
	incarnation, err := c.register(ctx)
	if err != nil {
		return fmt.Errorf("register conductor %s: %w", c.Self.Hostname, err)
	}
	c.Log.Info("the conductor is registered", zap.String("conductor", c.Self.Hostname), zap.String("group", c.Self.Group),
		zap.Strings("drivers", c.Self.Drivers()), zap.Int64("incarnation", incarnation))
	for {
		again, err := c.serve(ctx, incarnation)
		if !again || err != nil {
			return err
		}
	}
}

// leaveWithin bounds what a conductor that is stopped still asks of the database.
const leaveWithin = 3 * time.Second

// register registers the conductor. The end of ctx does not cut the request off at once: it might have been carried out, and then
// nobody would deregister the conductor.
func (c *Conductor) register(ctx context.Context) (incarnation int64, err error) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(leaveWithin, cancel) })()
	return c.Registry.RegisterConductor(patient, c.Self)
}

// serve runs steps and sends heartbeats. It returns true if it is to be called again: the steps were
// given up because the database was unavailable for too long, and the database is available again, or
// the conductor was drained, and that was taken back.
func (c *Conductor) serve(ctx context.Context, incarnation int64) (bool, error) {
	workers, err := c.start(incarnation)
	if err != nil {
		return false, err
	}
	if c.Started != nil {
		c.Started()
	}
	if c.contact == nil {
		c.contact = contact(c.Client)
	}
	go c.Temporal.triggerUnlessPaused(ctx, c.Log) // the ring has one more member
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	go c.refreshPower(reading)
	go c.refreshHealth(reading)
	consoles := c.keepConsoles(reading, incarnation)
	err = c.heartbeatLoop(ctx, incarnation, false)
	stopReading()
	if errors.Is(err, errDrained) {
		c.Log.Warn("the conductor is drained: it takes no steps until it is undrained or started again")
		stopAll(workers)
		<-consoles
		workers, err = nil, c.serveDrained(ctx, incarnation)
		if errors.Is(err, errUndrained) && ctx.Err() == nil {
			c.Log.Info("the conductor is undrained: it takes steps again")
			return true, nil
		}
	}
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	if ctx.Err() != nil {
		// Drained first, so that nodes which only this conductor covers are no longer offered.
		if err := c.Registry.DrainConductor(leave, c.Self.Hostname, incarnation); err != nil {
			c.Log.Warn("the conductor could not be marked as draining", zap.Error(err))
		}
		told := make(chan struct{})
		go func() { defer close(told); c.Temporal.triggerUnlessPaused(leave, c.Log) }()
		defer func() { <-told }()
	}
	stopAll(workers)
	<-consoles
	if c.Steps.Recordings != nil {
		c.Steps.Recordings.Close(leave)
	}
	if ctx.Err() != nil {
		if err := c.Registry.StopConductor(leave, c.Self.Hostname, incarnation); err != nil {
			c.Log.Warn("the conductor could not be marked as stopped", zap.Error(err))
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, c.awaitDatabase(ctx, incarnation)
}

// serveDrained only sends heartbeats, because the conductor was drained. It returns errUndrained when
// that is taken back.
func (c *Conductor) serveDrained(ctx context.Context, incarnation int64) error {
	for {
		if err := c.heartbeatLoop(ctx, incarnation, true); err != nil || ctx.Err() != nil {
			return err
		}
		if err := c.awaitDatabase(ctx, incarnation); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// start polls the queue of each driver, and the conductor's own.
func (c *Conductor) start(incarnation int64) ([]worker.Worker, error) {
	queues := map[string]int{node.OwnQueue(node.Host{Name: c.Self.Hostname, Incarnation: incarnation}): 1}
	for _, driver := range c.Self.Drivers() {
		queues[node.QueueName(c.Self.Group, driver)] = pollers
	}
	var out []worker.Worker
	for queue, polls := range queues {
		w := worker.New(c.Client, queue, worker.Options{
			DisableWorkflowWorker:              true,
			MaxConcurrentActivityTaskPollers:   polls,
			MaxConcurrentActivityExecutionSize: c.AtOnce,
			MaxHeartbeatThrottleInterval:       throttle(c.Steps.Settings.HeartbeatTimeout),
			DefaultHeartbeatThrottleInterval:   throttle(c.Steps.Settings.HeartbeatTimeout),
			WorkerStopTimeout:                  c.StopGrace,
			Identity:                           c.Self.Hostname,
		})
		w.RegisterActivity(c.Steps)
		if err := w.Start(); err != nil {
			stopAll(out)
			return nil, fmt.Errorf("poll %s: %w", queue, err)
		}
		out = append(out, w)
	}
	return out, nil
}

// keepConsoles holds consoles until ctx ends. The channel is closed when they are given back.
func (c *Conductor) keepConsoles(ctx context.Context, incarnation int64) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		if c.Consoles != nil {
			c.Consoles.Keep(ctx, incarnation)
		}
	}()
	return over
}

// stopAll stops all workers at once: one that waits for its steps must not keep
// the others polling.
func stopAll(workers []worker.Worker) {
	done := make(chan struct{})
	for _, w := range workers {
		go func() { w.Stop(); done <- struct{}{} }()
	}
	for range workers {
		<-done
	}
}

package webhook

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/fault"
)

// The times of a Dispatcher.
const (
	leaseEvery  = 5 * time.Second
	leaseTime   = 4 * leaseEvery
	releaseTime = 5 * time.Second
	saveEvery   = time.Second // progress is written so often, so that webhooks cost the database little
)

// Dispatcher sends events for all webhooks that no other process sends for. Any number of processes may have one.
type Dispatcher struct {
	Store  Store
	Hub    *events.Hub // its streams must be as many as there may be webhooks
	Sender *Sender
	// GiveUp is how old an event becomes before it is a dead letter.
	GiveUp time.Duration
	Log    *zap.Logger
}

// run is the sending for one webhook.
type run struct {
	lease        Lease
	stop         context.CancelFunc
	ended        atomic.Bool
	redelivering atomic.Bool
}

// Run sends until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	holder := uuid.NewString()
	runs := map[int64]*run{}
	var all sync.WaitGroup
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	for leased := time.Now(); ; {
		asked := time.Now()
		mine, err := d.lease(ctx, holder)
		switch {
		case err == nil:
			leased = asked
			d.adjust(ctx, runs, mine, &all)
		case ctx.Err() != nil:
		default:
			d.Log.Warn("webhooks can't be leased; trying again", zap.Error(err))
			if time.Since(leased) > leaseTime-leaseEvery { // soon somebody else may have them
				d.adjust(ctx, runs, nil, &all)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.adjust(ctx, runs, nil, &all)
			all.Wait()
			d.release(ctx, holder)
			return nil
		}
	}
}

func (d *Dispatcher) lease(ctx context.Context, holder string) ([]Leased, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseEvery)
	defer cancel()
	return d.Store.LeaseWebhooks(ctx, holder, leaseTime)
}

// release lets another process take over at once.
func (d *Dispatcher) release(ctx context.Context, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := d.Store.ReleaseWebhooks(ctx, holder); err != nil {
		d.Log.Info("the leases of webhooks were not given back; they end by themselves", zap.Error(err))
	}
}

// adjust ends the runs of webhooks that are not leased any more, or were leased anew, and begins those that are missing.
func (d *Dispatcher) adjust(ctx context.Context, runs map[int64]*run, mine []Leased, all *sync.WaitGroup) {
	wanted := map[int64]Lease{}
	for i := range mine {
		wanted[mine[i].ID] = mine[i].Lease
	}
	for id, r := range runs {
		if r.ended.Load() || wanted[id] != r.lease {
			r.stop()
			delete(runs, id)
		}
	}
	for _, l := range mine {
		r := runs[l.ID]
		if r == nil {
			within, stop := context.WithCancel(ctx)
			r = &run{lease: l.Lease, stop: stop}
			runs[l.ID] = r
			all.Go(func() {
				defer r.ended.Store(true)
				d.told(within, l, d.deliver(within, l))
			})
		}
		if l.Redeliver && r.redelivering.CompareAndSwap(false, true) {
			all.Go(func() { // it ends when the lease does, because every write checks the lease
				defer r.redelivering.Store(false)
				d.told(ctx, l, d.redeliver(ctx, l))
			})
		}
	}
}

func (d *Dispatcher) told(ctx context.Context, l Leased, err error) {
	if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Lost) {
		d.Log.Warn("sending for a webhook was interrupted; it goes on soon", zap.String("webhook", l.Name), zap.Error(err))
	}
}

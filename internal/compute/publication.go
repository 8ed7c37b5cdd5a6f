package compute

import (
	"sync"
	"time"

	"go.temper.dev/temper/internal/client"
)

// publication is the share that the service publishes, and for how long it may.
type publication struct {
	mu    sync.Mutex
	epoch int64 // 0 = nothing
	nodes []client.ComputeNode
	// The lease ends by whichever clock comes first. The monotonic clock stops while the
	// machine sleeps, and the wall clock may be set back.
	until, untilWall time.Time
}

// renewLease extends the lease and returns the published epoch. If the lease had expired, it
// withdraws the share first, because other services may have its nodes by now.
func (w *publication) renewLease(until time.Time) (epoch int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired() {
		w.epoch, w.nodes = 0, nil
	}
	w.until, w.untilWall = until, until.Round(0)
	return w.epoch
}

// expired reports whether the lease has expired by the service's own clocks.
func (w *publication) expired() bool {
	now := time.Now()
	return !now.Before(w.until) || !now.Round(0).Before(w.untilWall)
}

// publish publishes a share, unless the lease has expired meanwhile.
func (w *publication) publish(epoch int64, nodes []client.ComputeNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired() {
		w.epoch, w.nodes = 0, nil
		return
	}
	w.epoch, w.nodes = epoch, nodes
}

// withdraw ends the lease, so that nothing is published any more.
func (w *publication) withdraw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epoch, w.nodes, w.until, w.untilWall = 0, nil, time.Time{}, time.Time{}
}

// publishedEpoch returns the epoch of the published share, 0 if none is published.
func (w *publication) publishedEpoch() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired() {
		return 0
	}
	return w.epoch
}

// current returns what is published, and until when it may be. live is false if the lease has
// expired.
func (w *publication) current() (epoch int64, nodes []client.ComputeNode, until time.Time, live bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired() {
		return 0, nil, time.Time{}, false
	}
	return w.epoch, w.nodes, w.until, true
}

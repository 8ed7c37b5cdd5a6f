package compute

import (
	"sync"
	"time"

	"go.temper.dev/temper/internal/client"
)

// window is what the service shows, and how long it may.
type window struct {
	mu    sync.Mutex
	epoch int64 // 0 = nothing
	nodes []client.ComputeNode
	// Both clocks must allow it: the one that only goes forward stands still
	// while a machine sleeps, the other one may be set.
	until, untilWall time.Time
}

// renew takes a lease that was renewed, and tells the epoch that is shown. What
// was shown under a lease that had run out is not shown again: the nodes may be
// others' by now.
func (w *window) renew(until time.Time) (epoch int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over() {
		w.epoch, w.nodes = 0, nil
	}
	w.until, w.untilWall = until, until.Round(0)
	return w.epoch
}

// over reports whether the lease has run out by the service's own clocks.
func (w *window) over() bool {
	now := time.Now()
	return !now.Before(w.until) || !now.Round(0).Before(w.untilWall)
}

// show puts a share up. One that comes too late is not shown.
func (w *window) show(epoch int64, nodes []client.ComputeNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over() {
		w.epoch, w.nodes = 0, nil
		return
	}
	w.epoch, w.nodes = epoch, nodes
}

// drop shows nothing any more.
func (w *window) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epoch, w.nodes, w.until, w.untilWall = 0, nil, time.Time{}, time.Time{}
}

// shows is the epoch that is shown; 0 = nothing is.
func (w *window) shows() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over() {
		return 0
	}
	return w.epoch
}

// look is what may be shown now; live = the lease holds, until when.
func (w *window) look() (epoch int64, nodes []client.ComputeNode, until time.Time, live bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over() {
		return 0, nil, time.Time{}, false
	}
	return w.epoch, w.nodes, w.until, true
}

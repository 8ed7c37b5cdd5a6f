package events

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
)

// Times of a Hub.
const (
	lull       = 2 * time.Second        // between two looks if nothing is announced
	firstPause = 25 * time.Millisecond  // between two looks while a transaction is open that has written events, and at the least
	maxPause   = time.Second            // the same, when it has been open for long
	retryPause = 500 * time.Millisecond // before the database is asked again
	lookTime   = 10 * time.Second       // of one look and the reading after it
	openTime   = 20 * time.Second       // until it is known where a stream begins
)

// Config is what a Hub needs. Fields without a default are required.
type Config struct {
	Source Source
	Log    *zap.Logger
	// Streams bounds the streams at a time, and PerUser those of one user who has logged in.
	Streams, PerUser int
	// Linger is how long the connection is kept after the last stream has ended. Default: 30 s.
	Linger time.Duration
}

// Hub gives events to any number of streams in one process. It has one connection, which is notified of new events, and has it
// only while there are streams. It is safe for concurrent use.
type Hub struct {
	Config
	reads chan struct{} // holds one element for each stream that reads old events from the database
	kick  chan struct{} // asks for a look at once

	mu      sync.Mutex
	streams int
	ofUser  map[string]int
	stop    context.CancelFunc // of the goroutine that follows; nil = there is none
	stopped chan struct{}      // closed when that goroutine has ended
	idle    *time.Timer        // stops it
	closed  bool

	changed chan struct{} // closed when one of the following has changed
	known   bool          // the following are known
	settled int64
	look    Look
	looks   int64     // how many there were
	since   time.Time // since when an unsettled number is seen; zero = all are settled
	tail    tail
	resets  int64
	refused int64
}

// NewHub makes a Hub. It connects when the first stream begins.
func NewHub(c Config) *Hub {
	if c.Linger == 0 {
		c.Linger = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return &Hub{Config: c, reads: make(chan struct{}, 4), kick: make(chan struct{}, 1), ofUser: map[string]int{}, changed: make(chan struct{})}
}

// FromOldest is the number after which a stream begins that is to have all events that are kept.
const FromOldest = -1

// Open begins a stream for a user ("" = nobody has to log in) with the events after the number after; nil = with those that are
// committed from now on. The stream must be closed.
func (h *Hub) Open(ctx context.Context, user string, f Filter, after *int64) (*Stream, error) {
	if err := h.enter(user); err != nil {
		return nil, err
	}
	s := &Stream{hub: h, user: user, filter: f}
	if err := h.begin(ctx, s, after); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// begin waits until the hub knows where it is. A stream without a number must not begin before: what is open now would lie
// before its beginning, and be missed.
func (h *Hub) begin(ctx context.Context, s *Stream, after *int64) error {
	wait, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.known {
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-wait.Done():
		}
		h.mu.Lock()
		if wait.Err() != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if wait.Err() != nil {
			return fault.Coded(fault.DatabaseUnavailable, "The events can't be read: the database does not answer, or a transaction that has written events has been open for long.")
		}
	}
	s.at, s.opened = h.settled, h.looks
	if after != nil {
		s.at = *after
		if s.at > h.look.Written { // of another process, which has looked later, or of a database that is gone
			h.lookNow()
		}
	}
	return nil
}

func (h *Hub) enter(user string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return fault.Coded(fault.ServiceUnavailable, "This API is stopping.")
	case h.streams >= h.Streams:
		h.refused++
		return fault.Coded(fault.TooManyStreams, "This API has %d event streams, as many as event_streams allows. Try again later.", h.streams)
	case user != "" && h.ofUser[user] >= h.PerUser:
		h.refused++
		return fault.Coded(fault.TooManyStreams, "%s has %d event streams, as many as event_streams_per_user allows. End one of them first.", user, h.ofUser[user])
	}
	h.streams++
	if user != "" {
		h.ofUser[user]++
	}
	if h.idle != nil {
		h.idle.Stop()
		h.idle = nil
	}
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		stopped := make(chan struct{})
		h.stop, h.stopped = stop, stopped
		go func() {
			defer close(stopped)
			h.run(ctx)
		}()
	}
	return nil
}

func (h *Hub) leave(user string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
	if user != "" {
		if h.ofUser[user]--; h.ofUser[user] == 0 {
			delete(h.ofUser, user)
		}
	}
	if h.streams == 0 && h.stop != nil && !h.closed {
		h.idle = time.AfterFunc(h.Linger, h.rest)
	}
}

// rest ends the connection, unless there is a stream again.
func (h *Hub) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams > 0 || h.stop == nil {
		return
	}
	h.stop()
	h.stop, h.known, h.tail, h.since = nil, false, tail{}, time.Time{}
}

// Close ends the connection, and no stream begins any more. It is for a process that stops, when its streams were told to end.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	stop, stopped := h.stop, h.stopped
	if h.idle != nil {
		h.idle.Stop()
	}
	h.mu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
}

// lookNow has the next look begin at once.
func (h *Hub) lookNow() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// announce wakes the streams. The caller holds the lock.
func (h *Hub) announce() {
	close(h.changed)
	h.changed = make(chan struct{})
}

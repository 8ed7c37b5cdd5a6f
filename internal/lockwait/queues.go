package lockwait

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// MaxWaiting is how many requests of one process wait at a time. One more is refused at once.
const MaxWaiting = 100

// Ends hears of operations that have ended (package store).
type Ends interface {
	// HearEnds returns a channel that gets a value when an operation of the node has ended, until stop is called.
	HearEnds(ctx context.Context, nodeUUID string) (ended <-chan struct{}, stop func(), err error)
}

// Config is what Queues needs.
type Config struct {
	Ends Ends
	Wait time.Duration // how long a request waits at most; 0 = it is refused at once
	Log  *zap.Logger
}

// Queues are the requests of this process that wait, by node. They are safe for concurrent use.
type Queues struct {
	Config
	mu     sync.Mutex
	byNode map[string][]*place // the first is at the head
	health Health
}

// Health describes the state of the queues.
type Health struct {
	Waiting  int   // requests that wait now
	Answered int64 // those that were answered after the wait, whatever the answer
	TimedOut int64 // those that were refused because the node stayed locked
	Left     int64 // those whose client went away
	Refused  int64 // those that did not wait because there were too many
}

// New makes queues that are empty.
func New(c Config) *Queues {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return &Queues{Config: c, byNode: map[string][]*place{}}
}

// Health returns the state of the queues.
func (q *Queues) Health() Health {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.health
}

// Do calls try. If the error is a node.HeldBriefly, it waits until an operation of that node has ended and it is the request's
// turn, and calls try again. It returns the error of the last try. If the time is over before nothing holds the node, or too
// many requests wait already, that is the refusal.
func (q *Queues) Do(ctx context.Context, try func(*Turn) error) error {
	t := &Turn{queues: q, patient: q.Wait > 0}
	err := try(t)
	held := briefly(err)
	switch {
	case held == nil:
		return err
	case !t.patient:
		return held.Refusal
	case !q.enter():
		return t.refuse(held, try)
	}
	defer func() { q.leave(t, ctx.Err()) }()
	within, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	for held != nil && !t.over { // it may have to wait for another node than before
		err = t.serve(ctx, within, held, try)
		held = briefly(err)
	}
	return err
}

// enter counts a request that begins to wait, if there is room for it.
func (q *Queues) enter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.health.Waiting >= MaxWaiting {
		q.health.Refused++
		return false
	}
	q.health.Waiting++
	return true
}

func (q *Queues) leave(t *Turn, gone error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.health.Waiting--
	switch {
	case errors.Is(gone, context.Canceled):
		q.health.Left++
	case t.over:
		q.health.TimedOut++
	default:
		q.health.Answered++
	}
}

// place is a request's place in the queue of a node.
type place struct {
	node string
	head chan struct{} // closed when it is the first one
}

func (q *Queues) join(nodeUUID string) *place {
	p := &place{node: nodeUUID, head: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.byNode[nodeUUID] = append(q.byNode[nodeUUID], p)
	if q.byNode[nodeUUID][0] == p {
		close(p.head)
	}
	return p
}

// part gives up a place. The next one is at the head then, if this one was.
func (q *Queues) part(p *place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.byNode[p.node]
	i := slices.Index(queue, p)
	queue = slices.Delete(queue, i, i+1)
	switch {
	case len(queue) == 0:
		delete(q.byNode, p.node)
		return
	case i == 0:
		close(queue[0].head)
	}
	q.byNode[p.node] = queue
}

// before reports whether another request than that of p is at the head of the node's queue.
func (q *Queues) before(p *place, nodeUUID string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.byNode[nodeUUID]
	return len(queue) > 0 && queue[0] != p
}

package bmc

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/fault"
)

// maxLogouts is how many logouts run at once when a pool closes.
const maxLogouts = 32

// Endpoint is one BMC with one set of credentials: the connections and the login. All conversations with the same driver_info
// share it.
type Endpoint interface {
	// Unused returns how long nothing was sent.
	Unused() time.Duration
	// LogOut ends the login, if there is one. After a logout for good nobody logs in again.
	LogOut(ctx context.Context, forGood bool)
}

// PoolKey is a digest of the driver_info of an endpoint.
type PoolKey [sha256.Size]byte

// Pool has the endpoints of a driver. One that was not used for Settings.SessionIdle is logged out. It is dropped as soon as no
// conversation uses it and nothing about its BMC must be remembered: a recent denial, or that it is slow.
type Pool[E Endpoint] struct {
	driver string
	conf   Settings

	mu      sync.Mutex // guards the next three fields, and the refs of members and shared
	members map[PoolKey]*member[E]
	shared  map[string]*Shared // by address
	closed  bool

	logoutCtx     context.Context // of the logouts of idle endpoints; ends with Close
	cancelLogouts context.CancelFunc
	logouts       sync.WaitGroup
}

// member is an endpoint of a pool.
type member[E Endpoint] struct {
	endpoint E
	address  string
	shared   *Shared
	refs     int         // open conversations
	idle     *time.Timer // fires when nothing was sent for the idle time
}

// NewPool returns the empty pool of the driver of that name.
func NewPool[E Endpoint](driver string, s Settings) *Pool[E] {
	p := &Pool[E]{driver: driver, conf: s, members: map[PoolKey]*member[E]{}, shared: map[string]*Shared{}}
	p.logoutCtx, p.cancelLogouts = context.WithCancel(context.Background())
	return p
}

// Acquire returns the endpoint with that key of the BMC at address. If there is none, it is created with what the endpoints of
// this BMC share. release must follow; it may be called again.
func (p *Pool[E]) Acquire(key PoolKey, address string, create func(*Shared) E) (e E, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return e, nil, fault.New(fault.Unavailable, "the %s driver is closed", p.driver)
	}
	m := p.members[key]
	if m == nil {
		s := p.shared[address]
		if s == nil {
			s = NewShared(p.conf)
			p.shared[address] = s
		}
		s.refs++
		m = &member[E]{endpoint: create(s), address: address, shared: s}
		m.idle = time.AfterFunc(p.conf.SessionIdle, func() { p.closeIdle(key, m) })
		p.members[key] = m
	}
	m.refs++
	return m.endpoint, sync.OnceFunc(func() { p.release(m) }), nil
}

func (p *Pool[E]) release(m *member[E]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.refs--
}

// Slow returns how many BMCs need longer than the least time for their answers.
func (p *Pool[E]) Slow() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shared {
		if s.Learned() {
			n++
		}
	}
	return n
}

func (p *Pool[E]) closeIdle(key PoolKey, m *member[E]) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	if left := p.conf.SessionIdle - m.endpoint.Unused(); left > 0 {
		m.idle.Reset(left)
		p.mu.Unlock()
		return
	}
	if m.refs == 0 && m.shared.Denials.None(time.Now()) && !m.shared.Learned() {
		delete(p.members, key)
		if m.shared.refs--; m.shared.refs == 0 {
			delete(p.shared, m.address)
		}
	} else {
		m.idle.Reset(p.conf.SessionIdle)
	}
	p.logouts.Add(1)
	p.mu.Unlock()
	defer p.logouts.Done()
	m.endpoint.LogOut(p.logoutCtx, false)
}

// Close logs out of every BMC, until ctx ends. Conversations that are still open can't send requests any more.
func (p *Pool[E]) Close(ctx context.Context) {
	defer p.cancelLogouts()
	defer context.AfterFunc(ctx, p.cancelLogouts)()
	p.mu.Lock()
	p.closed = true
	members := p.members
	p.members, p.shared = map[PoolKey]*member[E]{}, map[string]*Shared{}
	p.mu.Unlock()

	var g errgroup.Group
	g.SetLimit(maxLogouts)
	for _, m := range members {
		m.idle.Stop()
		g.Go(func() error {
			m.endpoint.LogOut(ctx, true)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
	p.logouts.Wait()
}

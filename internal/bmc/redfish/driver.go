// Package redfish is the BMC driver for Redfish. It never decides when to act, and
// never repeats a request that changes something unless the BMC said that it did not
// carry it out.
//
// Names and enumerations are those of gofish (package schemas). gofish's client is not
// used: it has no timeout of its own, does not retry, does not log in again after a
// session has expired, and if it is told not to verify the certificate of one BMC, it
// switches verification off for the whole process.
package redfish

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// maxLogouts is how many logouts run at once when the driver closes.
const maxLogouts = 32

// Observer is called after each HTTP request with its method, its outcome ("ok" or the
// name of the fault's kind) and its duration. It must not block.
type Observer func(method, outcome string, d time.Duration)

// Config has the driver's settings. The zero value has the defaults.
type Config struct {
	bmc.Settings
	Observer      Observer         // may be nil
	Sessions      SessionBook      // nil = sessions that a conductor left behind end by the BMC's own timeout
	Subscriptions SubscriptionBook // nil = no subscriptions are made
	IgnoreEvents  bool             // FollowEvents finds no stream
	DeniedFor     time.Duration    // how long a refused password is not tried again. Default 60 s

	withoutQuirk string // name of a row of the table of quirks that tests leave out
}

// WithDefaults returns c with the defaults for the fields that are zero.
func (c Config) WithDefaults() Config {
	c.Settings = c.Settings.WithDefaults()
	if c.DeniedFor == 0 {
		c.DeniedFor = time.Minute
	}
	return c
}

func (c Config) proxy() func(*http.Request) (*url.URL, error) {
	if c.Proxy == nil {
		return nil
	}
	return http.ProxyURL(c.Proxy)
}

// dialer returns a dialer that connects to BMCs at allowed addresses only, or to the
// proxy at any.
func (c Config) dialer() *net.Dialer {
	d := &net.Dialer{Timeout: c.ConnectTimeout, KeepAlive: 15 * time.Second}
	if c.Proxy == nil {
		d.Control = c.Reach.Control
	}
	return d
}

// Driver is the bmc.Driver of Redfish.
type Driver struct {
	conf Config

	mu        sync.Mutex // guards the next three fields, and the refs of endpoints and shared
	endpoints map[[sha256.Size]byte]*endpoint
	shared    map[string]*sharedBMC // by address
	closed    bool

	large chan struct{} // one element for each large answer that is being read, of all BMCs

	logoutCtx     context.Context // of the logouts of idle sessions; ends with Close
	cancelLogouts context.CancelFunc
	logouts       sync.WaitGroup
}

var _ bmc.Driver = (*Driver)(nil)

// New returns a driver. Fields of c that are zero have their defaults.
func New(c Config) *Driver {
	d := &Driver{
		conf:      c.WithDefaults(),
		endpoints: map[[sha256.Size]byte]*endpoint{},
		shared:    map[string]*sharedBMC{},
		large:     make(chan struct{}, maxLarge),
	}
	d.logoutCtx, d.cancelLogouts = context.WithCancel(context.Background())
	return d
}

// Validate checks driver_info without a request to the BMC. If driver_info names a CA
// file, it reads the file.
func (d *Driver) Validate(driverInfo map[string]any) error {
	_, err := parseInfo(driverInfo, d.conf.Settings)
	return err
}

// Open starts a conversation without a request to the BMC.
func (d *Driver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	s, end, err := d.converse(ctx, t)
	if err != nil {
		return bmc.Session{}, err
	}
	return bmc.Session{
		PowerControl: s, Restarter: s, BootDevice: s, VirtualMedia: s, Inspector: s, HealthReader: s, EventSource: s, AnswerWithin: s.endpoint.shared.within,
		End: end,
	}, nil
}

// converse opens a conversation; end must follow.
func (d *Driver) converse(ctx context.Context, t bmc.Target) (s *session, end func(), err error) {
	i, err := parseInfo(t.Info, d.conf.Settings)
	if err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	e, err := d.acquire(i)
	if err != nil {
		return nil, nil, err
	}
	e.shared.inherit(t.AnswerWithin)
	return &session{endpoint: e, target: t, system: i.system}, sync.OnceFunc(func() { d.release(e) }), nil
}

// acquire returns the endpoint for i, a new one if there is none; release must follow.
func (d *Driver) acquire(i info) (*endpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fault.New(fault.Unavailable, "the redfish driver is closed")
	}
	key := i.key()
	e := d.endpoints[key]
	if e == nil {
		s := d.shared[i.address()]
		if s == nil {
			s = newSharedBMC(d.conf.Settings)
			d.shared[i.address()] = s
		}
		s.refs++
		e = newEndpoint(i, s, d.conf, d.large)
		e.touch(time.Now())
		e.idleTimer = time.AfterFunc(d.conf.SessionIdle, func() { d.closeIdle(key, e) })
		d.endpoints[key] = e
	}
	e.refs++
	return e, nil
}

// Slow returns how many BMCs need longer than the least time for their answers.
func (d *Driver) Slow() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.shared {
		if s.learned() {
			n++
		}
	}
	return n
}

func (d *Driver) release(e *endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.refs--
}

// closeIdle logs out of the endpoint if it was not used for SessionIdle. It drops the
// endpoint if no conversation uses it and nothing about its BMC must be remembered: a
// recent denial, or that it is slow.
func (d *Driver) closeIdle(key [sha256.Size]byte, e *endpoint) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	if left := e.idleTimeLeft(d.conf.SessionIdle); left > 0 {
		e.idleTimer.Reset(left)
		d.mu.Unlock()
		return
	}
	if e.refs == 0 && e.shared.denials.None(time.Now()) && !e.shared.learned() {
		delete(d.endpoints, key)
		if e.shared.refs--; e.shared.refs == 0 {
			delete(d.shared, e.info.address())
		}
	} else {
		e.idleTimer.Reset(d.conf.SessionIdle)
	}
	d.logouts.Add(1)
	d.mu.Unlock()
	defer d.logouts.Done()
	e.logOut(d.logoutCtx, false)
}

// idleTimeLeft returns after how long the endpoint has not been used for the idle time.
func (e *endpoint) idleTimeLeft(idle time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return idle - time.Since(e.lastUsed)
}

// Close logs out of every BMC, until ctx ends, and closes all connections.
// Conversations that are still open can't send requests any more.
func (d *Driver) Close(ctx context.Context) {
	defer d.cancelLogouts()
	defer context.AfterFunc(ctx, d.cancelLogouts)()
	d.mu.Lock()
	d.closed = true
	endpoints := d.endpoints
	d.endpoints, d.shared = map[[sha256.Size]byte]*endpoint{}, map[string]*sharedBMC{}
	d.mu.Unlock()

	var g errgroup.Group
	g.SetLimit(maxLogouts)
	for _, e := range endpoints {
		e.idleTimer.Stop()
		g.Go(func() error {
			e.logOut(ctx, true)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
	d.logouts.Wait()
}

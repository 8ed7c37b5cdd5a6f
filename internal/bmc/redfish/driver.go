// Package redfish is the BMC driver that speaks Redfish. It never decides when
// to act, and never repeats a request that changes something unless the BMC said
// that it did not do it.
//
// Names, enumerations and the shape of errors are gofish's (package schemas).
// Its client is not used: it has no deadline of its own, repeats nothing, does
// not log in again, and switches off the verification of certificates for the
// whole process where it is told not to verify one BMC's.
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

// maxLogouts bounds how many BMCs are logged out of at once when the driver closes.
const maxLogouts = 32

// Observer hears of each HTTP request that was sent: its method, "ok" or the
// name of the fault's kind, and how long it took. It must not block.
type Observer func(method, outcome string, d time.Duration)

// Config bounds the driver. The zero value has the defaults.
type Config struct {
	bmc.Settings
	Observer  Observer      // nil = nobody
	DeniedFor time.Duration // how long a refused password is not tried again. Default 60 s
}

// WithDefaults fills what is zero.
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
	d := &net.Dialer{Timeout: c.RequestTimeout, KeepAlive: 15 * time.Second}
	if c.Proxy == nil {
		d.Control = c.Reach.Control
	}
	return d
}

// Driver is the bmc.Driver of Redfish.
type Driver struct {
	conf Config

	mu        sync.Mutex // guards what follows, and the refs of both
	endpoints map[[sha256.Size]byte]*endpoint
	sites     map[string]*site // by address
	closed    bool

	large chan struct{} // one element for each large answer that is being read, of all BMCs

	life    context.Context // of logouts that nobody waits for; ends with Close
	cut     context.CancelFunc
	logouts sync.WaitGroup
}

var _ bmc.Driver = (*Driver)(nil)

// New makes a driver; what is zero in c gets its default.
func New(c Config) *Driver {
	d := &Driver{
		conf:      c.WithDefaults(),
		endpoints: map[[sha256.Size]byte]*endpoint{},
		sites:     map[string]*site{},
		large:     make(chan struct{}, maxLarge),
	}
	d.life, d.cut = context.WithCancel(context.Background())
	return d
}

// Validate checks driver_info without touching the BMC; a CA that is named by
// its path is read.
func (d *Driver) Validate(driverInfo map[string]any) error {
	_, err := parseInfo(driverInfo, d.conf.Settings)
	return err
}

// Open starts a conversation; the BMC is not touched.
func (d *Driver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	i, err := parseInfo(t.Info, d.conf.Settings)
	if err != nil {
		return bmc.Session{}, err
	}
	if err := ctx.Err(); err != nil {
		return bmc.Session{}, context.Cause(ctx)
	}
	e, err := d.take(i)
	if err != nil {
		return bmc.Session{}, err
	}
	s := &session{endpoint: e, target: t, system: i.system}
	return bmc.Session{
		PowerControl: s, Restarter: s, BootDevice: s, VirtualMedia: s, Inspector: s,
		End: sync.OnceFunc(func() { d.give(e) }),
	}, nil
}

// take finds or makes the endpoint for i, and counts its user.
func (d *Driver) take(i info) (*endpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fault.New(fault.Unavailable, "the redfish driver is closed")
	}
	key := i.key()
	e := d.endpoints[key]
	if e == nil {
		s := d.sites[i.address()]
		if s == nil {
			s = newSite(d.conf.MaxPerBMC)
			d.sites[i.address()] = s
		}
		s.refs++
		e = newEndpoint(i, s, d.conf, d.large)
		e.touch(time.Now())
		e.idle = time.AfterFunc(d.conf.SessionIdle, func() { d.tidy(key, e) })
		d.endpoints[key] = e
	}
	e.refs++
	return e, nil
}

func (d *Driver) give(e *endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.refs--
}

// tidy logs out of an endpoint that was not used for the idle time. It is dropped
// once no conversation holds it and no denial has to be remembered.
func (d *Driver) tidy(key [sha256.Size]byte, e *endpoint) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	if left := e.unused(d.conf.SessionIdle); left > 0 {
		e.idle.Reset(left)
		d.mu.Unlock()
		return
	}
	if e.refs == 0 && e.site.quiet(time.Now()) {
		delete(d.endpoints, key)
		if e.site.refs--; e.site.refs == 0 {
			delete(d.sites, e.info.address())
		}
	} else {
		e.idle.Reset(d.conf.SessionIdle)
	}
	d.logouts.Add(1)
	d.mu.Unlock()
	defer d.logouts.Done()
	e.logOut(d.life, false)
}

// unused is how much of the idle time is left.
func (e *endpoint) unused(idle time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return idle - time.Since(e.used)
}

// Close logs out of every BMC, as far as ctx lets it, and closes connections.
// Conversations still open are cut off from them.
func (d *Driver) Close(ctx context.Context) {
	defer d.cut()
	defer context.AfterFunc(ctx, d.cut)()
	d.mu.Lock()
	d.closed = true
	endpoints := d.endpoints
	d.endpoints, d.sites = map[[sha256.Size]byte]*endpoint{}, map[string]*site{}
	d.mu.Unlock()

	var g errgroup.Group
	g.SetLimit(maxLogouts)
	for _, e := range endpoints {
		e.idle.Stop()
		g.Go(func() error {
			e.logOut(ctx, true)
			return nil
		})
	}
	_ = g.Wait() // nothing above returns an error
	d.logouts.Wait()
}

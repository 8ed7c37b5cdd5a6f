// Package ipmi is the BMC driver for IPMI 2.0 over LAN (RMCP+). It never decides when to act.
// It repeats a request that changes something only if sending it twice does the same as sending
// it once, and asks the guard each time.
//
// Packets, cryptography and commands are those of go-ipmi (packages protocol, crypto, rmcpplus,
// command). go-ipmi's client is not used: it does not check the integrity of answers, takes
// whatever packet comes during a login as the answer, resolves names without a deadline, and
// hides why a login failed.
package ipmi

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// maxLogouts is how many sessions are closed at once when the driver closes.
const maxLogouts = 32

// Observer is called after each command with its name in the IPMI specification, its outcome
// ("ok" or the name of the fault's kind) and its duration. It must not block.
type Observer func(command, outcome string, d time.Duration)

// Config has the driver's settings. The zero value has the defaults. Settings.Proxy is not
// used: proxies have no UDP.
type Config struct {
	bmc.Settings
	Observer  Observer      // may be nil
	DeniedFor time.Duration // how long a refused password is not tried again. Default 60 s
	// ConsoleIdle is after which time without a packet an open console asks whether the BMC is still there. Default 15 s
	ConsoleIdle time.Duration
}

// WithDefaults returns c with the defaults for the fields that are zero.
func (c Config) WithDefaults() Config {
	c.Settings = c.Settings.WithDefaults()
	if c.DeniedFor == 0 {
		c.DeniedFor = time.Minute
	}
	if c.ConsoleIdle == 0 {
		c.ConsoleIdle = 15 * time.Second
	}
	return c
}

// Driver is the bmc.Driver of IPMI.
type Driver struct {
	conf Config

	mu        sync.Mutex // guards the next three fields, and the refs of endpoints and shared
	endpoints map[[sha256.Size]byte]*endpoint
	shared    map[string]*sharedBMC // by address
	closed    bool

	logouts sync.WaitGroup // of idle sessions
}

var _ bmc.Driver = (*Driver)(nil)

// New returns a driver. Fields of c that are zero have their defaults.
func New(c Config) *Driver {
	return &Driver{conf: c.WithDefaults(), endpoints: map[[sha256.Size]byte]*endpoint{}, shared: map[string]*sharedBMC{}}
}

// Validate checks driver_info without a request to the BMC.
func (d *Driver) Validate(driverInfo map[string]any) error {
	_, err := parseInfo(driverInfo, d.conf.Settings)
	return err
}

// Open starts a conversation without a request to the BMC.
func (d *Driver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	i, err := parseInfo(t.Info, d.conf.Settings)
	if err != nil {
		return bmc.Session{}, err
	}
	if ctx.Err() != nil {
		return bmc.Session{}, context.Cause(ctx)
	}
	e, err := d.acquire(i)
	if err != nil {
		return bmc.Session{}, err
	}
	s := &session{endpoint: e, target: t}
	return bmc.Session{
		PowerControl: s, Restarter: s, BootDevice: s, Interrupter: s, Identifier: s, ManagerRestarter: s, EventLog: s, HealthReader: s,
		ConsoleOpener: s,
		End:           sync.OnceFunc(func() { d.release(e) }),
	}, nil
}

// acquire returns the endpoint for i, a new one if there is none; release must follow.
func (d *Driver) acquire(i info) (*endpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fault.New(fault.Unavailable, "the ipmi driver is closed")
	}
	key := i.key()
	e := d.endpoints[key]
	if e == nil {
		s := d.shared[i.address()]
		if s == nil {
			s = newSharedBMC(d.conf.MaxPerBMC)
			d.shared[i.address()] = s
		}
		s.refs++
		e = newEndpoint(i, s, d.conf)
		e.idleTimer = time.AfterFunc(d.conf.SessionIdle, func() { d.closeIdle(key, e) })
		d.endpoints[key] = e
	}
	e.refs++
	return e, nil
}

func (d *Driver) release(e *endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.refs--
}

// closeIdle closes the endpoint's session if it was not used for SessionIdle. It drops the
// endpoint if no conversation uses it and its BMC has no recent denial, which must be
// remembered.
func (d *Driver) closeIdle(key [sha256.Size]byte, e *endpoint) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	if left := d.conf.SessionIdle - e.unusedFor(); left > 0 {
		e.idleTimer.Reset(left)
		d.mu.Unlock()
		return
	}
	if e.refs == 0 && e.shared.denials.None(time.Now()) {
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
	e.logOut(context.Background(), false) // ends with the request timeout
}

// Close closes every session, until ctx ends. Conversations that are still open can't send
// requests any more.
func (d *Driver) Close(ctx context.Context) {
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

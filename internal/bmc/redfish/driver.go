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
	"net"
	"net/http"
	"net/url"
	"time"

	"go.temper.dev/temper/internal/bmc"
)

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
	conf  Config
	pool  *bmc.Pool[*endpoint]
	large chan struct{} // one element for each large answer that is being read, of all BMCs
}

var _ bmc.Driver = (*Driver)(nil)

// New returns a driver. Fields of c that are zero have their defaults.
func New(c Config) *Driver {
	c = c.WithDefaults()
	return &Driver{conf: c, pool: bmc.NewPool[*endpoint]("redfish", c.Settings), large: make(chan struct{}, maxLarge)}
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
		DriveEjector: s, Subscriber: s, Accounts: s, Volumes: s, BootModes: s, Indicators: s, MediaDrives: s, EventLog: s,
		BIOSControl: s, FirmwareControl: s, TaskReader: s, Clock: s,
		PowerControl: s, Restarter: s, BootDevice: s, VirtualMedia: s, Inspector: s, Interrupter: s, HealthReader: s, EventSource: s, AnswerWithin: s.endpoint.within, BootProgress: s.bootProgress,
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
	e, release, err := d.pool.Acquire(i.key(), i.address(), func(s *bmc.Shared) *endpoint { return newEndpoint(i, s, d.conf, d.large) })
	if err != nil {
		return nil, nil, err
	}
	e.shared.Inherit(t.AnswerWithin)
	return &session{endpoint: e, target: t, system: i.system}, release, nil
}

// Slow returns how many BMCs need longer than the least time for their answers.
func (d *Driver) Slow() int { return d.pool.Slow() }

// Close logs out of every BMC, until ctx ends, and closes all connections.
// Conversations that are still open can't send requests any more.
func (d *Driver) Close(ctx context.Context) { d.pool.Close(ctx) }

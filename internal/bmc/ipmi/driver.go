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
	"time"

	"go.temper.dev/temper/internal/bmc"
)

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
	pool *bmc.Pool[*endpoint]
}

var _ bmc.Driver = (*Driver)(nil)

// New returns a driver. Fields of c that are zero have their defaults.
func New(c Config) *Driver {
	c = c.WithDefaults()
	return &Driver{conf: c, pool: bmc.NewPool[*endpoint]("ipmi", c.Settings)}
}

// Validate checks driver_info without a request to the BMC.
func (d *Driver) Validate(driverInfo map[string]any) error {
	_, err := parseInfo(driverInfo, d.conf.Settings)
	return err
}

// Open starts a conversation without a request to the BMC.
func (d *Driver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	s, release, err := d.converse(ctx, t)
	if err != nil {
		return bmc.Session{}, err
	}
	return bmc.Session{
		PowerControl: s, Restarter: s, BootDevice: s, Interrupter: s, Identifier: s, ManagerRestarter: s, RawCommander: s,
		EventLog: s, HealthReader: s, ConsoleOpener: s,
		AnswerWithin: s.endpoint.within, End: release,
	}, nil
}

// converse starts a conversation, which release ends.
func (d *Driver) converse(ctx context.Context, t bmc.Target) (_ *session, release func(), err error) {
	i, err := parseInfo(t.Info, d.conf.Settings)
	if err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	e, release, err := d.pool.Acquire(i.key(), i.address(), func(s *bmc.Shared) *endpoint { return newEndpoint(i, s, d.conf) })
	if err != nil {
		return nil, nil, err
	}
	e.shared.Inherit(t.AnswerWithin)
	return &session{endpoint: e, target: t}, release, nil
}

// Slow returns how many BMCs need longer than the least time for their answers.
func (d *Driver) Slow() int { return d.pool.Slow() }

// Close closes every session, until ctx ends. Conversations that are still open can't send
// requests any more.
func (d *Driver) Close(ctx context.Context) { d.pool.Close(ctx) }

package ipmi

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/app"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/fault"
)

const (
	// resends is how many times a packet could be sent within the request timeout: when an
	// eighth of it has passed without an answer, the packet counts as lost.
	resends = 8
	// oldTries is how often a command is sent in a session that was used before. Then the BMC
	// may have forgotten the session, which it does not say, and there is a new login.
	oldTries = 2
	// maxUnused is how long a session is used again after its last use. BMCs forget sessions
	// after 60 s ± 3 s (IPMI 2.0, 6.12.15).
	maxUnused = 45 * time.Second
)

// endpoint is one BMC with one set of credentials, and its session. All conversations with
// the same driver_info share it. It has one command under way at a time, as most BMCs do.
type endpoint struct {
	info   info
	shared *sharedBMC
	conf   Config

	// turn is held while a command is under way. It is a channel and no mutex, so that
	// waiting ends with the waiter's context. It guards link, suite and isClosed.
	turn     chan struct{}
	link     *link               // nil = not logged in
	suite    types.CipherSuiteID // the one that the BMC took last
	isClosed bool

	refs      int         // open conversations; guarded by the driver's mutex
	idleTimer *time.Timer // fires when nothing was sent for the idle time

	mu       sync.Mutex // guards lastUsed
	lastUsed time.Time
}

func newEndpoint(i info, s *sharedBMC, c Config) *endpoint {
	return &endpoint{info: i, shared: s, conf: c, turn: make(chan struct{}, 1), lastUsed: time.Now(), suite: i.suites[0]}
}

// call is one command.
type call struct {
	request types.Request
	guard   guard // nil for a command that reads
	once    bool  // it is sent at most once
	own     bool  // it is for the BMC itself, not for the controller behind a bridge
}

// guard is called right before each time a command is sent. It returns after which time it must not
// be sent any more; zero = no such time.
type guard func(context.Context) (until time.Time, err error)

// do sends a command, within the request timeout, and returns the data of the answer.
func (e *endpoint) do(ctx context.Context, c call) ([]byte, error) {
	begun := time.Now()
	data, err := e.inTurn(ctx, c)
	if e.conf.Observer != nil {
		outcome := "ok"
		if err != nil {
			outcome = fault.KindOf(err).String()
		}
		e.conf.Observer(c.request.Command().Name, outcome, time.Since(begun))
	}
	return data, err
}

// inTurn waits for the endpoint's turn and one of the BMC's slots, and sends the command.
func (e *endpoint) inTurn(ctx context.Context, c call) ([]byte, error) {
	if err := cancelled(ctx, false); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fault.New(fault.Unreachable, "no time was left to send %s", c.request.Command().Name)
	}
	ctx, cancel := context.WithTimeout(ctx, e.conf.RequestTimeout)
	defer cancel()
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		if err := cancelled(ctx, false); err != nil {
			return nil, err
		}
		return nil, fault.New(fault.Unreachable, "%w", &noAnswer{text: "earlier commands to this BMC got no answer in time"})
	}
	if err := e.shared.acquire(ctx); err != nil {
		return nil, err
	}
	defer e.shared.release()
	m, err := e.exchange(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case m.code != types.CodeOK:
		return nil, refusalOf(c, m)
	}
	return m.data, nil
}

// exchange sends the command in the session that there is, or else logs in. If a session that
// was used before does not answer, it logs in again: the BMC may have restarted.
func (e *endpoint) exchange(ctx context.Context, c call) (message, error) {
	if e.isClosed {
		return message{}, fault.New(fault.Unavailable, "the ipmi driver is closed")
	}
	var lost *noAnswer // of a session that was used before
	if e.link != nil && e.unusedFor() < maxUnused {
		tries := oldTries
		if c.once {
			tries = 0
		}
		m, err := e.link.ask(ctx, c, tries, e.pause())
		if !errors.As(err, &lost) || c.once && lost.sent || ctx.Err() != nil {
			e.used(err)
			return m, err
		}
	}
	e.forget()
	if err := e.logIn(ctx); err != nil {
		return message{}, lost.and(ctx, c, err)
	}
	m, err := e.link.ask(ctx, c, 0, e.pause())
	e.used(err)
	return m, err
}

// pause is after which time a packet counts as lost.
func (e *endpoint) pause() time.Duration { return e.conf.RequestTimeout / resends }

// used notes that the BMC answered.
func (e *endpoint) used(err error) {
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastUsed = time.Now()
}

func (e *endpoint) unusedFor() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.lastUsed)
}

// forget drops the session without a word to the BMC.
func (e *endpoint) forget() {
	if e.link != nil {
		_ = e.link.conn.Close()
		e.link = nil
	}
}

// logOut closes the session, if there is one. If that fails, the session expires on the BMC.
// After a logout for good nobody logs in again.
func (e *endpoint) logOut(ctx context.Context, forGood bool) {
	ctx, cancel := context.WithTimeout(ctx, e.conf.RequestTimeout)
	defer cancel()
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return // a command is under way, and its socket is closed when the process ends
	}
	e.isClosed = e.isClosed || forGood
	if e.link != nil {
		_, _ = e.link.ask(ctx, call{request: &app.CloseSessionRequest{SessionID: e.link.bmcID}, own: true}, oldTries, e.pause())
	}
	e.forget()
}

// dial opens a socket for the BMC's packets only.
func (e *endpoint) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Control: e.conf.Reach.Control}
	conn, err := d.DialContext(ctx, "udp", e.info.address())
	if err == nil {
		return conn, nil
	}
	if err := cancelled(ctx, false); err != nil {
		return nil, err
	}
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Kind == fault.Invalid { // dial.Reach refused the address
		return nil, fault.New(fault.Invalid, "%s: %w", propAddress, refused)
	}
	return nil, fault.New(fault.Unreachable, "%w", &noAnswer{text: err.Error()})
}

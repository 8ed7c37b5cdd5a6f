package ipmi

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/app"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

const (
	// resends is how many times a packet could be sent within the time for the answer: when an
	// eighth of it has passed without an answer, the packet counts as lost.
	resends = 8
	// longestPause is the longest time after which a packet counts as lost, also where answers are awaited for long.
	longestPause = 2 * time.Second
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
	shared *bmc.Shared
	conf   Config

	// turn is held while a command is under way. It is a channel and no mutex, so that
	// waiting ends with the waiter's context. It guards link, suite and isClosed.
	turn     chan struct{}
	link     *link               // nil = not logged in
	suite    types.CipherSuiteID // the one that the BMC took last
	isClosed bool

	repository atomic.Pointer[repository] // of sensors, as it was read last; nil = not yet

	mu       sync.Mutex // guards lastUsed
	lastUsed time.Time
}

func newEndpoint(i info, s *bmc.Shared, c Config) *endpoint {
	return &endpoint{info: i, shared: s, conf: c, turn: make(chan struct{}, 1), lastUsed: time.Now(), suite: i.suites[0]}
}

// call is one command.
type call struct {
	request types.Request
	await   func(context.Context) error // returns when the command may be sent (bmc.Target); nil = at once
	guard   guard                       // nil for a command that reads
	once    bool                        // it is sent at most once
	own     bool                        // it is for the BMC itself, not for the controller behind a bridge
}

// guard is called right before each time a command is sent. It returns after which time it must not
// be sent any more; zero = no such time.
type guard func(context.Context) (until time.Time, err error)

// do sends a command, within the time that this BMC has for answers, and returns the data of the answer.
func (e *endpoint) do(ctx context.Context, c call) ([]byte, error) {
	begun := time.Now()
	data, err := e.inTurn(ctx, c)
	if err == nil {
		bmc.Heard(ctx, time.Since(begun), e.within())
	}
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
	if c.await != nil {
		if err := c.await(ctx); err != nil {
			return nil, &guardError{err}
		}
	}
	within := e.within()
	ctx, cancel := context.WithTimeout(ctx, within)
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
	if err := e.shared.Acquire(ctx); err != nil {
		if stop := cancelled(ctx, false); stop != nil {
			return nil, stop
		}
		return nil, err
	}
	defer e.shared.Release()
	begun := time.Now()
	m, err := e.exchange(ctx, c)
	e.learn(err, time.Since(begun), within)
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
	if e.link != nil && e.Unused() < maxUnused {
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

// learn notes how long the BMC took for an answer, or that it had most of within and gave none.
func (e *endpoint) learn(err error, took, within time.Duration) {
	var lost *noAnswer
	switch {
	case err == nil:
		e.shared.Answered(took)
	case errors.As(err, &lost) && lost.sent && took >= within*3/4:
		e.shared.RanOut(within)
	}
}

// within returns how long an answer is awaited now.
func (e *endpoint) within() time.Duration { return cmp.Or(e.info.fixed, e.shared.Within()) }

// pause is after which time a packet counts as lost.
func (e *endpoint) pause() time.Duration { return min(e.within()/resends, longestPause) }

// used notes that the BMC answered.
func (e *endpoint) used(err error) {
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastUsed = time.Now()
}

// Unused implements bmc.Endpoint.
func (e *endpoint) Unused() time.Duration {
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

// LogOut implements bmc.Endpoint. It closes the session, if there is one. If that fails, the session expires on the BMC.
// After a logout for good nobody logs in again.
func (e *endpoint) LogOut(ctx context.Context, forGood bool) {
	ctx, cancel := context.WithTimeout(ctx, e.within())
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

package ipmi

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/app"
	"github.com/bougou/go-ipmi/pkg/command/transport"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
)

// maxUnread is how many packets with characters wait for Read. If there are more, they are not acknowledged, and the
// BMC sends them again until it gives up.
const maxUnread = 1024

// console is an open console.
type console struct {
	session *session
	activation

	// Two pipes, because net.Pipe has deadlines. The caller has one end of each; type and show have the others.
	keyboard, screen net.Conn
	typed            chan []byte   // what was written, in parts that fit into a packet; closed when no more comes
	printed          chan []byte   // what the server has printed
	breaks           chan func()   // breaks to be sent; each is called when the BMC has it
	packets          chan []byte   // what has come from the network; closed if the socket fails
	ended            chan struct{} // closed when run has ended
	running          sync.WaitGroup

	mu  sync.Mutex
	err error // why the console has ended, nil if the caller closed it

	closing sync.Once
}

// OpenConsole logs in and activates the payload SOL, encrypted and authenticated.
func (s *session) OpenConsole(ctx context.Context) (bmc.Console, error) {
	const doing = "open the console"
	a, err := s.activate(ctx)
	switch {
	case errors.Is(err, bmc.ErrConsoleInUse):
		return nil, bmc.Busy(0, "%w; %s at %s", err, doing, s.endpoint.info.address())
	case err != nil:
		return nil, s.wrap(doing, err)
	}
	if err := a.link.conn.SetReadDeadline(time.Time{}); err != nil { // that of the last answer
		return nil, s.wrap(doing, err)
	}
	keyboard, typed := net.Pipe()
	screen, printed := net.Pipe()
	c := &console{
		session: s, activation: a, keyboard: keyboard, screen: screen,
		typed: make(chan []byte), printed: make(chan []byte, maxUnread), breaks: make(chan func()), packets: make(chan []byte), ended: make(chan struct{}),
	}
	c.running.Go(func() { c.takeTyped(typed) })
	c.running.Go(func() { c.show(printed) })
	c.running.Go(c.receive)
	c.running.Go(func() {
		c.run()
		_ = typed.Close()
		_ = a.link.conn.SetReadDeadline(time.Unix(1, 0)) // ends receive
	})
	return c, nil
}

// EndConsole deactivates the payload SOL of whatever session has it.
func (s *session) EndConsole(ctx context.Context) error {
	request := &transport.DeactivatePayloadRequest{PayloadType: types.PayloadTypeSOL, PayloadInstance: solInstance}
	err := s.change(bmc.Asking(ctx, bmc.NameConsole), request, false)
	var no *refusal
	if errors.As(err, &no) && no.code == types.CodeDeactivatePayloadAlreadyDeactivated {
		return nil
	}
	return s.wrap(bmc.NameConsole, err)
}

func (c *console) Read(p []byte) (int, error) {
	n, err := c.screen.Read(p)
	return n, c.why(err)
}

func (c *console) Write(p []byte) (int, error) {
	n, err := c.keyboard.Write(p)
	return n, c.why(err)
}

func (c *console) SetReadDeadline(t time.Time) error  { return c.why(c.screen.SetReadDeadline(t)) }
func (c *console) SetWriteDeadline(t time.Time) error { return c.why(c.keyboard.SetWriteDeadline(t)) }

// SendBreak waits until the BMC has the break.
func (c *console) SendBreak(ctx context.Context) error {
	sent := make(chan struct{})
	select {
	case c.breaks <- func() { close(sent) }:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ended:
		return c.why(io.ErrClosedPipe)
	}
	select {
	case <-sent:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ended:
		return c.why(io.ErrClosedPipe)
	}
}

// why returns the reason why the console has ended, for the error of a pipe that this closed.
func (c *console) why(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return err
}

// fail notes why the console has ended.
func (c *console) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// Close ends the payload and the session. The payload of another session stays: BMCs let each session end it.
func (c *console) Close() error {
	c.closing.Do(func() {
		_ = c.keyboard.Close()
		_ = c.screen.Close()
		c.running.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), c.session.endpoint.within())
		defer cancel()
		pause := c.session.endpoint.pause()
		requests := []types.Request{&app.CloseSessionRequest{SessionID: c.link.bmcID}}
		if !c.lost(ctx) {
			deactivate := &transport.DeactivatePayloadRequest{PayloadType: types.PayloadTypeSOL, PayloadInstance: solInstance}
			requests = append([]types.Request{deactivate}, requests...)
		}
		for _, request := range requests {
			// If that gets no answer, the BMC ends the session by itself after a minute.
			_, _ = c.link.ask(ctx, call{request: request, own: true}, oldTries, pause)
		}
		_ = c.link.conn.Close()
	})
	return nil
}

// lost reports whether the session certainly does not have the console any more. A process that was frozen may not have read yet that
// the console has ended, so it asks BMCs that tell.
func (c *console) lost(ctx context.Context) bool {
	if errors.Is(c.why(io.EOF), bmc.ErrConsoleEnded) {
		return true
	}
	if !c.tellsOwner {
		return false
	}
	m, err := c.link.ask(ctx, call{request: ownerRequest(), own: true}, oldTries, c.session.endpoint.pause())
	return err == nil && m.code == types.CodeOK && !c.isOwner(m)
}

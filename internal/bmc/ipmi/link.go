package ipmi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/fault"
)

// link is a session with a BMC over a socket of its own. It is not safe for concurrent use.
type link struct {
	conn             net.Conn
	consoleID, bmcID uint32 // of the session
	bridge           bridge
	keys

	sent     uint32 // sequence number of the last packet in the session
	received window
	sequence uint8 // of the last message
}

// ask sends a command until there is an answer, at most tries times (0 = until ctx ends), with
// pause between them. An answer to any of them is the answer. Each has a sequence number of its
// own: BMCs drop packets with the same one.
func (l *link) ask(ctx context.Context, c call, tries int, pause time.Duration) (message, error) {
	way := l.bridge
	if c.own {
		way = bridge{}
	}
	var out message
	var asked uint64 // bit i: a message with the sequence number i was sent
	err := converse(ctx, l.conn, conversation{
		what: c.request.Command().Name, tries: tries, pause: pause, once: c.once, guard: c.guard,
		next: func() ([]byte, error) {
			l.sent++
			l.sequence = (l.sequence + 1) % (types.IPMIRequesterSequenceMax + 1)
			asked |= 1 << l.sequence
			return l.seal(types.PayloadTypeIPMI, l.bmcID, l.sent, way.pack(c.request, l.sequence))
		},
		take: func(packet []byte) bool {
			payload, sequence, ok := l.open(types.PayloadTypeIPMI, packet, l.consoleID)
			if !ok || !l.received.take(sequence) {
				return false
			}
			m, ok := parseMessage(payload)
			if !ok || asked&(1<<m.sequence) == 0 {
				return false
			}
			out, ok = way.unpack(m, c.request.Command())
			return ok
		},
	})
	return out, err
}

// conversation is a packet that is sent until an answer comes.
type conversation struct {
	what  string // for errors
	tries int    // 0 = until the context ends
	pause time.Duration
	once  bool                     // send the packet at most once
	guard guard                    // may be nil
	next  func() ([]byte, error)   // makes the packet
	take  func(packet []byte) bool // reports whether a packet is the answer; others are dropped
}

// converse sends a packet and waits for the answer. It always ends with ctx.
func converse(ctx context.Context, conn net.Conn, c conversation) error {
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	sent := false
	for try := 1; ; try++ {
		if err := c.send(ctx, conn, &sent); err != nil {
			return err
		}
		until := time.Now().Add(c.pause)
		if c.once {
			until = time.Time{}
		}
		err := c.receive(ctx, conn, until)
		if err == nil {
			return nil
		}
		if stop := cancelled(ctx, sent); stop != nil {
			return stop
		}
		lost := ctx.Err() != nil || try == c.tries || c.once
		var timeout net.Error
		if !lost && errors.As(err, &timeout) && timeout.Timeout() {
			continue
		}
		text := fmt.Sprintf("no answer to %s in time", c.what)
		if errors.Is(err, syscall.ECONNREFUSED) {
			text = fmt.Sprintf("nothing answers %s at the port (ICMP port unreachable)", c.what)
		}
		return fault.New(fault.Unreachable, "%w", &noAnswer{text: text, sent: sent})
	}
}

// send sends one packet, unless ctx has ended or the guard refuses.
func (c conversation) send(ctx context.Context, conn net.Conn, sent *bool) error {
	packet, err := c.next()
	if err != nil {
		return fault.New(fault.Internal, "make the packet of %s: %w", c.what, err)
	}
	var permitted time.Time
	if c.guard != nil {
		if permitted, err = c.guard(ctx); err != nil {
			if stop := cancelled(ctx, *sent); stop != nil {
				return stop
			}
			return &guardError{err}
		}
	}
	// The clock is read, too: a process that was frozen must not send what it asked for long ago.
	now := time.Now()
	if until, bounded := ctx.Deadline(); ctx.Err() != nil || bounded && !now.Before(until) || !permitted.IsZero() && !now.Before(permitted) {
		if stop := cancelled(ctx, *sent); stop != nil {
			return stop
		}
		return fault.New(fault.Unreachable, "%w", &noAnswer{text: "no time was left to send " + c.what, sent: *sent})
	}
	if _, err := conn.Write(packet); err != nil && !errors.Is(err, syscall.ECONNREFUSED) { // that is of an earlier packet
		return fault.New(fault.Unreachable, "%w", &noAnswer{text: fault.NetworkWords(err), sent: *sent})
	}
	*sent = true
	return nil
}

// receive reads packets until one is the answer, the time is over, or ctx has ended.
func (c conversation) receive(ctx context.Context, conn net.Conn, until time.Time) error {
	if err := conn.SetReadDeadline(until); err != nil {
		return err
	}
	if ctx.Err() != nil { // it ended before SetReadDeadline, which took back what its AfterFunc did
		return ctx.Err()
	}
	buffer := make([]byte, maxPacket)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		if c.take(buffer[:n]) {
			return nil
		}
	}
}

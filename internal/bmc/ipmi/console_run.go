package ipmi

import (
	"bytes"
	"net"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// maxResend is the longest time after which characters that were not acknowledged are sent again.
const maxResend = 500 * time.Millisecond

// takeTyped hands over what is written, until the caller closes the console or it has ended.
func (c *console) takeTyped(keyboard net.Conn) {
	defer close(c.typed)
	buffer := make([]byte, c.room)
	for {
		n, err := keyboard.Read(buffer)
		if n > 0 {
			select {
			case c.typed <- bytes.Clone(buffer[:n]):
			case <-c.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// show hands over what the server has printed.
func (c *console) show(screen net.Conn) {
	defer screen.Close()
	for text := range c.printed {
		if _, err := screen.Write(text); err != nil {
			return // the caller has closed the console
		}
	}
}

// receive hands over the packets that come.
func (c *console) receive() {
	defer close(c.packets)
	buffer := make([]byte, maxPacket)
	for {
		n, err := c.link.conn.Read(buffer)
		if err != nil {
			return
		}
		select {
		case c.packets <- bytes.Clone(buffer[:n]):
		case <-c.ended:
			return
		}
	}
}

// consoleState is what run knows of the conversation with the BMC.
type consoleState struct {
	sol
	sent   func()    // is called when the BMC has what is pending; may be nil
	since  time.Time // when what is pending was sent first
	last   time.Time // when it was sent last
	heard  time.Time // when the last packet of the BMC came
	asked  time.Time // when it was asked last who has the console
	closed bool      // the caller has closed the console
}

// run is the conversation with the BMC. It ends when the caller has closed the console and the BMC has what was
// written, or when the console is broken. It alone uses the link.
func (c *console) run() {
	defer close(c.ended)
	defer close(c.printed)
	now := time.Now()
	s := consoleState{heard: now, asked: now}
	for !s.closed || s.pending != nil {
		typed, breaks := c.typed, c.breaks
		if s.pending != nil {
			typed, breaks = nil, nil // one packet at a time
		}
		due := time.NewTimer(time.Until(c.due(&s)))
		select {
		case packet, ok := <-c.packets:
			if !ok {
				c.fail(c.session.wrap("console", fault.New(fault.Unreachable, "%w", &noAnswer{text: "nothing listens at the port any more", sent: true})))
				return
			}
			if c.take(&s, packet) {
				c.fail(fault.New(fault.Refused, "%w; console at %s", bmc.ErrConsoleEnded, c.session.endpoint.info.address()))
				return
			}
		case text, ok := <-typed:
			if !ok {
				s.closed = true
				break
			}
			c.begin(&s, text, 0, nil)
		case sent := <-breaks:
			c.begin(&s, nil, solBreak, sent)
		case <-due.C:
			if !c.remind(&s) {
				c.fail(c.session.wrap("console", fault.New(fault.Unreachable, "%w", &noAnswer{text: "no answer in time", sent: true})))
				return
			}
		}
		due.Stop()
	}
}

// begin sends characters or an operation.
func (c *console) begin(s *consoleState, text []byte, operation uint8, sent func()) {
	s.send(text, operation)
	s.sent, s.since = sent, time.Now()
	c.write(s)
}

// take takes a packet that has come, and reports whether it ends the console.
func (c *console) take(s *consoleState, packet []byte) (ended bool) {
	if payload, sequence, ok := c.link.open(types.PayloadTypeIPMI, packet, c.link.consoleID); ok {
		m, valid := parseMessage(payload)
		if !valid || !c.link.received.take(sequence) || !m.answers(types.CommandGetPayloadInstanceInfo) {
			return false
		}
		s.heard = time.Now()
		return c.tellsOwner && m.code == types.CodeOK && !c.isOwner(m)
	}
	payload, sequence, ok := c.link.open(types.PayloadTypeSOL, packet, c.link.consoleID)
	var p types.SOLPayloadPacket
	if !ok || p.Unpack(payload) != nil || !c.link.received.take(sequence) {
		return false
	}
	s.heard = time.Now()
	before := s.pending
	acknowledgement, ended := s.receive(p, sequence, func(text []byte) bool {
		select {
		case c.printed <- text:
			return true
		default:
			return false
		}
	})
	if acknowledgement != nil {
		c.transmit(acknowledgement)
	}
	switch {
	case s.pending == nil && s.sent != nil:
		s.sent()
		s.sent = nil
	case s.pending != nil && s.pending != before: // a part was accepted
		s.since = s.heard
		c.write(s)
	}
	return ended
}

// idle is after which time without a packet the BMC is asked who has the console. It also keeps the session: BMCs
// end sessions after 60 s without a packet (IPMI 2.0, 6.12.15).
func (c *console) idle() time.Duration { return c.session.endpoint.conf.ConsoleIdle }

// patience is how long an answer may take.
func (c *console) patience() time.Duration { return c.session.endpoint.within() }

func (c *console) resend() time.Duration { return min(c.session.endpoint.pause(), maxResend) }

// due is when remind has something to do.
func (c *console) due(s *consoleState) time.Time {
	at := s.heard.Add(c.idle())
	if again := s.asked.Add(c.session.endpoint.pause()); again.After(at) {
		at = again
	}
	if s.pending != nil {
		if again := s.last.Add(c.resend()); again.Before(at) {
			at = again
		}
	}
	return at
}

// remind sends again what was not acknowledged, and asks a BMC that was silent who has the console. It reports
// whether the BMC may still be there.
func (c *console) remind(s *consoleState) bool {
	now := time.Now()
	if s.pending != nil && now.Sub(s.since) >= c.patience() {
		if s.refusals == 0 {
			return false
		}
		s.pending = nil // the BMC is there, and the server took nothing of it for so long
		if s.sent != nil {
			s.sent()
			s.sent = nil
		}
	}
	if s.pending != nil && now.Sub(s.last) >= c.resend() {
		if s.refused {
			s.again()
		}
		c.write(s)
	}
	if now.Sub(s.heard) >= c.idle() && now.Sub(s.asked) >= c.session.endpoint.pause() {
		if now.Sub(s.heard) >= c.idle()+c.patience() {
			return false
		}
		s.asked = now
		c.link.sequence = (c.link.sequence + 1) % (types.IPMIRequesterSequenceMax + 1)
		c.put(types.PayloadTypeIPMI, packMessage(ownerRequest(), c.link.sequence))
	}
	return true
}

// write sends what is pending.
func (c *console) write(s *consoleState) {
	s.last = time.Now()
	c.transmit(s.pending)
}

func (c *console) transmit(p *types.SOLPayloadPacket) { c.put(types.PayloadTypeSOL, p.Pack()) }

// put sends a packet. If that fails, it counts as lost.
func (c *console) put(typ types.PayloadType, payload []byte) {
	c.link.sent++
	packet, err := c.link.seal(typ, c.link.bmcID, c.link.sent, payload)
	if err == nil {
		_, _ = c.link.conn.Write(packet)
	}
}

package ipmi

import "github.com/bougou/go-ipmi/pkg/types"

// Bits of a packet's control byte (IPMI 2.0, table 15-2). The BMC's NACK is a field of its own.
const (
	solBreak       = 1 << 4 // from us: send a break
	solDeactivated = 1 << 4 // from the BMC: the console is ended
	solUnavailable = 1 << 5 // from the BMC: the server takes no characters now
)

const (
	solHeader = 4
	// solMaxRoom is how many characters a packet has at most: the count of those that were accepted is one byte,
	// and BMCs count the header in.
	solMaxRoom     = 255 - solHeader
	solMaxSequence = 15
)

// sol is the state of Serial over LAN (IPMI 2.0, 15.9 to 15.11) on our side. Each side has at most one packet with
// characters under way, and sends it again until the other one has acknowledged it.
type sol struct {
	sequence uint8                   // of our last packet that wants an acknowledgement
	pending  *types.SOLPayloadPacket // that packet, until it is acknowledged
	refused  bool                    // the BMC has answered to it that it took none of its characters
	refusals int                     // how often it answered so to these characters

	last       uint8  // sequence number of the BMC's last packet with characters; 0 = none came
	accepted   int    // how many of its characters we have
	lastPacket uint32 // its sequence number in the session
}

// send makes the packet with text, or with an operation. Nothing must be pending. The text has at most solMaxRoom characters.
func (s *sol) send(text []byte, operation uint8) {
	s.sequence = s.sequence%solMaxSequence + 1
	s.refused, s.refusals = false, 0
	s.pending = &types.SOLPayloadPacket{SequenceNumber: s.sequence, ControlByte: operation, CharacterData: text}
}

// again makes a new packet of what is pending: a BMC that refused a packet answers to the same one as before.
func (s *sol) again() {
	p, refusals := s.pending, s.refusals
	s.send(p.CharacterData, p.ControlByte)
	s.refusals = refusals
}

// receive takes a packet of the BMC, which had the sequence number in the session. deliver gets the characters that
// are new, and reports whether it took them; if not, the BMC will send them again. The acknowledgement is nil if
// there is nothing to acknowledge.
func (s *sol) receive(p types.SOLPayloadPacket, sequence uint32, deliver func([]byte) bool) (acknowledgement *types.SOLPayloadPacket, ended bool) {
	s.acknowledged(p)
	ended = p.ControlByte&solDeactivated != 0
	// An older packet than the last one was overtaken: the BMC has an acknowledgement of it, or it has given it up.
	if p.SequenceNumber == 0 || s.last != 0 && sequence < s.lastPacket || len(p.CharacterData) > 255 {
		return nil, ended
	}
	fresh := p.CharacterData
	if p.SequenceNumber == s.last { // it comes again, and may have more characters (15.11)
		fresh = fresh[min(s.accepted, len(fresh)):]
	}
	if len(fresh) > 0 && !deliver(fresh) {
		return nil, ended
	}
	if p.SequenceNumber != s.last {
		s.accepted = 0
	}
	s.last, s.lastPacket = p.SequenceNumber, sequence
	s.accepted = max(s.accepted, len(p.CharacterData))
	return &types.SOLPayloadPacket{AckedSequenceNumber: s.last, AcceptedCharacterCount: uint8(s.accepted)}, ended //nolint:gosec // at most 255
}

// acknowledged takes what a packet says of ours (table 15-3).
func (s *sol) acknowledged(p types.SOLPayloadPacket) {
	if s.pending == nil || p.AckedSequenceNumber != s.pending.SequenceNumber {
		return
	}
	count := int(p.AcceptedCharacterCount)
	switch text := s.pending.CharacterData; {
	case count >= len(text):
		s.pending = nil
	case count > 0: // the rest is sent in a packet of its own
		s.send(text[count:], 0)
	case p.ControlByte&solUnavailable != 0: // the server is off, say: what is typed is lost, as on a serial line
		s.pending = nil
	case !s.refused:
		s.refused = true
		s.refusals++
	}
}

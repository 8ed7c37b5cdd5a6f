package ipmi

import (
	"encoding/binary"

	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/types"
)

// maxPacket is the size of the largest packet that is read. IPMI messages have at most some
// 80 bytes, and those of a login some 100.
const maxPacket = 1024

// addressed are the addresses in a message's header (IPMI 2.0, 5.5): the BMC, and a remote console.
const (
	toBMC       = types.BMC_SA
	fromConsole = types.RemoteConsole_SWID
)

// message is an answer to a command.
type message struct {
	netFn, command, sequence uint8
	code                     types.CompletionCode
	data                     []byte
}

// answers reports whether m is an answer to the command.
func (m message) answers(c types.Command) bool {
	return m.netFn == uint8(c.NetFn)|1 && m.command == c.ID
}

// parseMessage parses the message of an answer (IPMI 2.0, table 13-8); false if it is not one
// or a checksum is wrong.
func parseMessage(b []byte) (message, bool) {
	n := len(b)
	if n < 8 || protocol.Checksum(b[:2]) != b[2] || protocol.Checksum(b[3:n-1]) != b[n-1] {
		return message{}, false
	}
	return message{netFn: b[1] >> 2, sequence: b[4] >> 2, command: b[5], code: types.CompletionCode(b[6]), data: b[7 : n-1]}, true
}

// packMessage makes the message of a command.
func packMessage(r types.Request, sequence uint8) []byte {
	m := types.IPMIRequest{
		ResponderAddr: toBMC, NetFn: r.Command().NetFn, RequesterAddr: fromConsole,
		RequesterSequence: sequence, Command: r.Command().ID, CommandData: r.Pack(),
	}
	m.ComputeChecksum()
	return m.Pack()
}

// setupPayload returns the payload of a packet outside of a session if it is of the type.
func setupPayload(packet []byte, typ types.PayloadType) ([]byte, bool) {
	if !isRMCPPlus(packet) {
		return nil, false
	}
	id, _, t, _, payload, ok := protocol.ParseRMCPPlusHeader(packet)
	return payload, ok && id == 0 && t == uint8(typ)
}

func isRMCPPlus(packet []byte) bool {
	return len(packet) >= 5 && packet[0] == 6 && packet[3]&0x1f == 7 && packet[4] == uint8(types.AuthTypeRMCPPlus)
}

// keys are what the packets of a session are protected with.
type keys struct {
	integrity types.IntegrityAlg
	k1, k2    []byte
}

// Parts of a packet: headers before the payload; pad length and next header after it.
const (
	headerLength  = 16
	trailerLength = 2
	nextHeader    = 7 // IPMI 2.0, table 13-8
	aesBlock      = 16
)

// seal makes an encrypted and authenticated packet.
func (k keys) seal(typ types.PayloadType, session, sequence uint32, payload []byte) ([]byte, error) {
	encrypted, err := crypto.EncryptAESPayload(payload, k.k2, crypto.RandomBytes(aesBlock))
	if err != nil {
		return nil, err
	}
	packet := protocol.BuildRMCPPlusPacket(uint8(typ), types.PayloadFlagEncrypted|types.PayloadFlagAuthenticated,
		session, sequence, encrypted)
	pad := types.IntegrityPadLen(headerLength-4, len(encrypted))
	for range pad {
		packet = append(packet, 0xff)
	}
	packet = append(packet, uint8(pad), nextHeader) //nolint:gosec // below 4
	code, err := crypto.SessionIntegrityAuthCode(k.integrity, packet[4:], k.k1, "")
	return append(packet, code...), err
}

// open returns the payload and the sequence number of a packet of the session; false if the
// packet is of no use: of another session or type, changed on the way, or not encrypted.
func (k keys) open(typ types.PayloadType, packet []byte, session uint32) (payload []byte, sequence uint32, ok bool) {
	length, known := crypto.IntegrityAuthCodeLen(k.integrity)
	if !known || length == 0 || !isRMCPPlus(packet) {
		return nil, 0, false
	}
	id, sequence, is, flags, payload, ok := protocol.ParseRMCPPlusHeader(packet)
	const protected = types.PayloadFlagEncrypted | types.PayloadFlagAuthenticated
	body := len(packet) - length
	if !ok || id != session || is != uint8(typ) || flags&protected != protected || body < headerLength+len(payload)+trailerLength {
		return nil, 0, false
	}
	code, err := crypto.SessionIntegrityAuthCode(k.integrity, packet[4:body], k.k1, "")
	if err != nil || !crypto.Equal(code, packet[body:]) {
		return nil, 0, false
	}
	if len(payload) < 2*aesBlock || len(payload)%aesBlock != 0 { // go-ipmi would panic
		return nil, 0, false
	}
	plain, err := crypto.DecryptAESPayload(payload, k.k2)
	return plain, sequence, err == nil
}

// window remembers which packets of a session came already, so that a repeated one is dropped
// (IPMI 2.0, 6.12.13).
type window struct {
	highest uint32
	seen    uint32 // bit i: the packet highest-i has come
}

// windowSize is how far a packet may be behind the highest.
const windowSize = 32

// take reports whether the packet is new, and remembers it.
func (w *window) take(sequence uint32) bool {
	switch {
	case sequence == 0:
		return false
	case sequence > w.highest:
		if ahead := sequence - w.highest; ahead < windowSize {
			w.seen <<= ahead
		} else {
			w.seen = 0
		}
		w.highest, w.seen = sequence, w.seen|1
		return true
	}
	behind := w.highest - sequence
	if behind >= windowSize || w.seen&(1<<behind) != 0 {
		return false
	}
	w.seen |= 1 << behind
	return true
}

// random32 returns a random number that is not 0.
func random32() uint32 { return binary.LittleEndian.Uint32(crypto.RandomBytes(4)) | 1 }

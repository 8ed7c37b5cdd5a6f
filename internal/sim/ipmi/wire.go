package ipmi

import (
	"net"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// maxPacket is the size of the largest packet.
const maxPacket = 1024

// maxSeen is how many sequence numbers of a session are remembered.
const maxSeen = 1024

// wire is the network between a front and its clients, where packets are lost and repeated. It
// also does what the reference BMC leaves out: it drops a packet of a session that came before
// (IPMI 2.0, 6.12.13), and it is silent while the BMC restarts, which forgets its sessions.
type wire struct {
	net.PacketConn
	machine  *machine.Server
	sessions *bmc.SessionStore

	again     []byte // a packet to be received once more, from againFrom; of ReadFrom only
	againFrom net.Addr

	mu    sync.Mutex
	seen  map[uint32]map[uint32]bool // sequence numbers of the packets of each session, by the BMC's number of it
	muted map[uint32]bool            // sessions whose next answer is lost, by the console's number
	since time.Time                  // when the BMC was started that has the sessions
}

func newWire(m *machine.Server, conn net.PacketConn, sessions *bmc.SessionStore) *wire {
	return &wire{PacketConn: conn, machine: m, sessions: sessions, seen: map[uint32]map[uint32]bool{}, muted: map[uint32]bool{}}
}

// ReadFrom returns the next packet that reaches the BMC.
func (w *wire) ReadFrom(buffer []byte) (int, net.Addr, error) {
	if w.again != nil {
		n, from := copy(buffer, w.again), w.againFrom
		w.again = nil
		return n, from, nil
	}
	for {
		n, from, err := w.PacketConn.ReadFrom(buffer)
		if err != nil {
			return n, from, err
		}
		packet := buffer[:n]
		w.forgetSessions()
		if w.machine.BMCDowntime() > 0 || w.struck(faults.Silence, "") || w.lost(packet, faults.Before) ||
			w.limited(packet, from) || !w.isNew(packet) {
			continue
		}
		if w.struck(faults.RepeatedPacket, faults.Before) && inSession(packet) == 0 {
			w.again, w.againFrom = append([]byte(nil), packet...), from
		}
		return n, from, nil
	}
}

// WriteTo sends an answer.
func (w *wire) WriteTo(packet []byte, to net.Addr) (int, error) {
	w.countRefusal(packet)
	if w.unmute(packet) || w.lost(packet, faults.After) {
		return len(packet), nil
	}
	if w.struck(faults.RepeatedPacket, faults.After) {
		_, _ = w.PacketConn.WriteTo(packet, to) // the client has gone
	}
	return w.PacketConn.WriteTo(packet, to)
}

func (w *wire) struck(kind faults.Type, when faults.When) bool {
	_, yes := w.machine.Faults.Trigger(kind, faults.Event{When: when})
	return yes
}

// lost reports whether the packet is lost: any one, or one of the serial console where a fault names those.
func (w *wire) lost(packet []byte, when faults.When) bool {
	if w.struck(faults.LostPacket, when) {
		return true
	}
	if !ofConsole(packet) {
		return false
	}
	_, yes := w.machine.Faults.Trigger(faults.LostPacket, faults.Event{When: when, Commands: []string{types.CommandSOLPayload.Name}, Named: true})
	return yes
}

// ofConsole reports whether the packet is one of Serial over LAN.
func ofConsole(packet []byte) bool {
	if inSession(packet) == 0 {
		return false
	}
	_, _, typ, _, _, ok := protocol.ParseRMCPPlusHeader(packet)
	return ok && typ == uint8(types.PayloadTypeSOL)
}

// inSession returns the BMC's number of the packet's session, 0 outside of one.
func inSession(packet []byte) uint32 {
	if len(packet) < 5 || packet[4] != uint8(types.AuthTypeRMCPPlus) {
		return 0
	}
	id, _, _, _, _, _ := protocol.ParseRMCPPlusHeader(packet)
	return id
}

// isNew reports whether the packet is of no session, or the first one with its sequence number.
func (w *wire) isNew(packet []byte) bool {
	id := inSession(packet)
	if id == 0 {
		return true
	}
	_, sequence, _, _, _, _ := protocol.ParseRMCPPlusHeader(packet)
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, known := w.seen[id]
	if !known { // only the reference BMC knows whether there is such a session; know is called if so
		return true
	}
	if seen[sequence] {
		return false
	}
	if len(seen) == maxSeen {
		clear(seen)
	}
	seen[sequence] = true
	return true
}

// know remembers that there is a session.
func (w *wire) know(id uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[id] == nil {
		w.seen[id] = map[uint32]bool{}
	}
}

// forgetSessions ends all sessions if the BMC was restarted since they began.
func (w *wire) forgetSessions() {
	started := w.machine.BMCStarted()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.Equal(started) {
		return
	}
	w.since = started
	for id := range w.seen {
		_ = w.sessions.Close(id) // it may have ended already
	}
	clear(w.seen)
}

// mute loses the next answer in a session.
func (w *wire) mute(console uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muted[console] = true
}

// unmute reports whether the answer is one that mute loses.
func (w *wire) unmute(packet []byte) bool {
	if ofConsole(packet) { // it is no answer
		return false
	}
	id := inSession(packet)
	w.mu.Lock()
	defer w.mu.Unlock()
	muted := w.muted[id]
	delete(w.muted, id)
	return muted
}

// limited answers a request for a session that there is none left, if the fault strikes it.
func (w *wire) limited(packet []byte, from net.Addr) bool {
	payload, ok := setup(packet, types.PayloadTypeRmcpOpenSessionRequest)
	var request rmcpplus.OpenSessionRequest
	if !ok || request.Unpack(payload) != nil || !w.struck(faults.SessionLimit, "") {
		return false
	}
	answer := rmcpplus.OpenSessionResponse{
		MessageTag: request.MessageTag, RmcpStatusCode: types.RmcpStatusCodeNoResToCreateSess, RemoteConsoleSessionID: request.RemoteConsoleSessionID,
	}
	_, _ = w.PacketConn.WriteTo(protocol.BuildRMCPPlusPacket(uint8(types.PayloadTypeRmcpOpenSessionResponse), 0, 0, 0, answer.Pack()), from)
	return true
}

// countRefusal counts a login that the BMC refuses because of the account or its password.
func (w *wire) countRefusal(packet []byte) {
	for typ, status := range map[types.PayloadType]types.RmcpStatusCode{
		types.PayloadTypeRAKPMessage2: types.RmcpStatusCodeUnauthorizedName,
		types.PayloadTypeRAKPMessage4: types.RmcpStatusCodeInvalidIntegrityCheckValue,
	} {
		if payload, ok := setup(packet, typ); ok && len(payload) > 1 && payload[1] == uint8(status) {
			w.machine.CountBadLogin()
		}
	}
}

// setup returns the payload of a packet of a login if it is of the type.
func setup(packet []byte, want types.PayloadType) ([]byte, bool) {
	if len(packet) < 5 || packet[4] != uint8(types.AuthTypeRMCPPlus) {
		return nil, false
	}
	id, _, typ, _, payload, ok := protocol.ParseRMCPPlusHeader(packet)
	return payload, ok && id == 0 && typ == uint8(want)
}

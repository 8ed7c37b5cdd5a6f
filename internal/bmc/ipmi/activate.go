package ipmi

import (
	"context"

	"github.com/bougou/go-ipmi/pkg/command/transport"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// solInstance is the number of the console: BMCs that have only one call it 1.
const solInstance = 1

// activation is a session that has the console.
type activation struct {
	link *link
	room int // characters that the BMC takes in one packet
	// tellsOwner says that the BMC tells which session has the console. Not all tell the one that has lost it.
	tellsOwner bool
}

// activate opens a session and gets the console for it. The session is not the endpoint's, which may end at any time.
func (s *session) activate(ctx context.Context) (_ activation, err error) {
	e := s.endpoint
	if err := cancelled(ctx, false); err != nil {
		return activation{}, err
	}
	if ctx.Err() != nil {
		return activation{}, fault.New(fault.Unreachable, "no time was left to open it")
	}
	if len(e.info.bridge.hops) > 0 {
		return activation{}, fault.New(fault.Refused, "a controller behind the BMC has no console (%s)", propBridging)
	}
	ctx, cancel := context.WithTimeout(ctx, e.within())
	defer cancel()
	if err := e.shared.Acquire(ctx); err != nil {
		if stop := cancelled(ctx, false); stop != nil {
			err = stop
		}
		return activation{}, err
	}
	defer e.shared.Release()
	own := newEndpoint(e.info, e.shared, e.conf)
	if err := own.logIn(ctx); err != nil {
		return activation{}, err
	}
	defer func() {
		if err != nil {
			own.LogOut(context.WithoutCancel(ctx), true)
		}
	}()
	c := call{request: &transport.ActivatePayloadRequest{
		PayloadType: types.PayloadTypeSOL, PayloadInstance: solInstance, EnableEncryption: true, EnableAuthentication: true,
	}}
	m, err := own.link.ask(ctx, c, 0, e.pause())
	if err != nil {
		return activation{}, err
	}
	a := activation{link: own.link, room: roomIn(m.data)}
	switch m.code {
	case types.CodeOK:
		a.tellsOwner = a.owns(ctx, e)
		return a, nil
	case types.CodeActivatePayloadAlreadyActive:
		if a.tellsOwner = a.owns(ctx, e); a.tellsOwner { // the first answer was lost: the other session is this one
			return a, nil
		}
		return activation{}, bmc.ErrConsoleInUse
	}
	return activation{}, refusalOf(c, m)
}

// ownerRequest asks which session has the console.
func ownerRequest() *transport.GetPayloadInstanceInfoRequest {
	return &transport.GetPayloadInstanceInfoRequest{PayloadType: types.PayloadTypeSOL, PayloadInstance: solInstance}
}

// owns reports whether the BMC tells that the session has the console.
func (a activation) owns(ctx context.Context, e *endpoint) bool {
	m, err := a.link.ask(ctx, call{request: ownerRequest()}, 0, e.pause())
	return err == nil && a.isOwner(m)
}

// isOwner reports whether the answer to ownerRequest names the session.
func (a activation) isOwner(m message) bool {
	var info transport.GetPayloadInstanceInfoResponse
	return m.answers(types.CommandGetPayloadInstanceInfo) && m.code == types.CodeOK && info.Unpack(m.data) == nil && info.SessionID == a.link.bmcID
}

// roomIn returns how many characters the BMC takes in one packet, as its answer to Activate Payload says. Some say
// nothing sensible, for example swap the bytes. Nor is the port believed that they tell: it is that of the BMC's own
// network, and some tell any.
func roomIn(answer []byte) int {
	const careful = 64
	var told transport.ActivatePayloadResponse
	if told.Unpack(answer) != nil || told.InboundPayloadSize <= solHeader || told.InboundPayloadSize > maxPacket {
		return careful
	}
	return min(int(told.InboundPayloadSize)-solHeader, solMaxRoom)
}

package ipmi

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bougou/go-ipmi/pkg/command/app"
	"github.com/bougou/go-ipmi/pkg/types"
)

// The properties of driver_info with which commands go to another controller behind the BMC.
const (
	propBridging       = "ipmi_bridging"
	propTargetAddress  = "ipmi_target_address"
	propTargetChannel  = "ipmi_target_channel"
	propTransitAddress = "ipmi_transit_address"
	propTransitChannel = "ipmi_transit_channel"
	propLocalAddress   = "ipmi_local_address"
)

// bridge is the way from the BMC to the controller that commands are for (IPMI 2.0, 6.13.3). The
// first hop is nearest to the BMC; no hop means the BMC itself.
type bridge struct {
	local uint8 // address of the requester on the buses
	hops  []hop
}

// hop is a controller on a bus.
type hop struct{ channel, address uint8 }

func (b bridge) String() string { return fmt.Sprint(b.local, b.hops) }

// bridge reads the properties of bridging. A property that the kind of bridging needs must be there.
func (p *properties) bridge() bridge {
	b := bridge{local: p.byteOf(propLocalAddress, math.MaxUint8, types.BMC_SA)}
	switch kind := p.text(propBridging); strings.ToLower(kind) {
	case "", "no":
	case "single":
		b.hops = []hop{p.hop(propTargetChannel, propTargetAddress)}
	case "dual":
		b.hops = []hop{p.hop(propTransitChannel, propTransitAddress), p.hop(propTargetChannel, propTargetAddress)}
	default:
		p.refuse("%s %.20q is not no, single or dual", propBridging, kind)
	}
	return b
}

// maxChannel is the highest number of a channel (IPMI 2.0, 6.3).
const maxChannel = 15

func (p *properties) hop(channel, address string) hop {
	for _, name := range []string{channel, address} {
		if v := p.values[name]; v == nil || v == "" {
			p.refuse("%s is missing, which %s needs", name, propBridging)
		}
	}
	return hop{channel: p.byteOf(channel, maxChannel, 0), address: p.byteOf(address, math.MaxUint8, 0)}
}

// byteOf returns a number that may be given as in C: 0x30, 060, 48.
func (p *properties) byteOf(name string, high int, byDefault uint8) uint8 {
	text, ok := p.values[name].(string)
	if !ok || text == "" {
		return uint8(p.number(name, 0, high, int(byDefault))) //nolint:gosec // at most 255
	}
	n, err := strconv.ParseUint(strings.TrimSpace(text), 0, 8)
	if err != nil || int(n) > high { //nolint:gosec // at most 255
		p.refuse("%s is not a number from 0 to %d, such as 0x%x", name, high, high)
		return byDefault
	}
	return uint8(n)
}

// pack makes the message of a command for the controller at the end of the bridge: one Send
// Message in the other for each hop. All have the same sequence number.
func (b bridge) pack(r types.Request, sequence uint8) []byte {
	if len(b.hops) == 0 {
		return packMessage(r, sequence)
	}
	last := len(b.hops) - 1
	m := types.IPMIRequest{
		ResponderAddr: b.hops[last].address, NetFn: r.Command().NetFn, RequesterAddr: b.local,
		RequesterSequence: sequence, Command: r.Command().ID, CommandData: r.Pack(),
	}
	m.ComputeChecksum()
	inner := m.Pack()
	for i := last; i > 0; i-- {
		m := types.IPMIRequest{
			ResponderAddr: b.hops[i-1].address, NetFn: types.NetFnAppRequest, RequesterAddr: b.local,
			RequesterSequence: sequence, Command: types.CommandSendMessage.ID, CommandData: sendMessage(b.hops[i], inner).Pack(),
		}
		m.ComputeChecksum()
		inner = m.Pack()
	}
	return packMessage(sendMessage(b.hops[0], inner), sequence)
}

// trackRequest has the BMC route the answer back to the session that asked (IPMI 2.0, table 22-9).
const trackRequest = 1

func sendMessage(to hop, message []byte) *app.SendMessageRequest {
	return &app.SendMessageRequest{ChannelNumber: to.channel, TrackMask: trackRequest, MessageData: message}
}

// unpack returns the answer to a command. BMCs send it by itself, after an empty answer to Send
// Message, or as the data of that answer. It returns false while the answer has not come, and the
// answer to Send Message if that failed.
func (b bridge) unpack(m message, c types.Command) (message, bool) {
	for range len(b.hops) {
		if !m.answers(types.CommandSendMessage) || m.code != types.CodeOK {
			break
		}
		inner, ok := parseMessage(m.data)
		if !ok {
			return message{}, false
		}
		m = inner
	}
	return m, m.answers(c) || m.answers(types.CommandSendMessage) && m.code != types.CodeOK
}

package hardware

import (
	"net"
	"net/netip"

	"go.temper.dev/temper/internal/agent"
)

// Requests of IPMI 2.0: Get Channel Info (22.24) of the function App, and Get LAN Configuration Parameters (23.2) of Transport.
const (
	functionApp       = 0x06
	functionTransport = 0x0c
	getChannelInfo    = 0x42
	getLAN            = 0x02
)

// Parameters of a LAN channel (IPMI 2.0, table 23-4).
const (
	lanIPv4        = 3
	lanMAC         = 5
	lanIPv6Status  = 50 // how many static and dynamic addresses of IPv6 there may be
	lanIPv6Static  = 56
	lanIPv6Dynamic = 59
)

const (
	mediumLAN   = 4  // the medium of a channel that is a LAN (IPMI 2.0, table 6-3)
	channels    = 11 // 1 to 11 may be a LAN
	activeState = 0  // of an address of IPv6
)

// lan is a LAN channel of the BMC.
type lan struct {
	ask     func(function, command byte, data ...byte) ([]byte, error)
	channel byte
}

// parameter returns a parameter of the channel, nil if the BMC does not have it.
func (l lan) parameter(n, set byte) []byte {
	b, err := l.ask(functionTransport, getLAN, l.channel, n, set, 0)
	if err != nil || len(b) < 2 || b[0] != 0 { // a completion code, the revision of the parameter, the parameter
		return nil
	}
	return b[2:]
}

// bmc writes the addresses of the BMC into an inventory: those of the first LAN channel that has one.
func (m Machine) bmc(out *agent.Inventory) {
	if m.IPMI == nil {
		return
	}
	for channel := byte(1); channel <= channels; channel++ {
		b, err := m.IPMI(functionApp, getChannelInfo, channel)
		if err != nil || len(b) < 3 || b[0] != 0 || b[2]&0x7f != mediumLAN {
			continue
		}
		l := lan{m.IPMI, channel}
		v4, v6 := l.ipv4(), l.ipv6()
		if v4 == "" && v6 == "" {
			continue
		}
		out.BMCAddress, out.BMCV6Address = agent.Text(v4), agent.Text(v6)
		if mac := l.parameter(lanMAC, 0); len(mac) >= 6 {
			out.BMCMAC = agent.Text(net.HardwareAddr(mac[:6]).String())
		}
		return
	}
}

func (l lan) ipv4() string {
	b := l.parameter(lanIPv4, 0)
	if len(b) < 4 || b[0]|b[1]|b[2]|b[3] == 0 {
		return ""
	}
	return netip.AddrFrom4([4]byte(b[:4])).String()
}

// ipv6 returns the first address that is in use and not of the link alone.
func (l lan) ipv6() string {
	status := l.parameter(lanIPv6Status, 0)
	if len(status) < 2 {
		return ""
	}
	for _, kind := range []struct{ parameter, count byte }{{lanIPv6Dynamic, status[1]}, {lanIPv6Static, status[0]}} {
		for set := range kind.count {
			// The set, the source of the address, the address, the length of its prefix, its state.
			b := l.parameter(kind.parameter, set)
			if len(b) < 20 || b[19] != activeState {
				continue
			}
			if a := netip.AddrFrom16([16]byte(b[2:18])); a.IsGlobalUnicast() {
				return a.String()
			}
		}
	}
	return ""
}

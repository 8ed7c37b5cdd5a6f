package hardware_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/hardware"
)

// channel is what a BMC answers of a channel: its medium, and its LAN parameters by "number set".
type channel struct {
	medium byte
	lan    map[string][]byte
}

// bmc answers as a BMC with channels does.
func bmc(channels map[byte]channel) func(function, command byte, data ...byte) ([]byte, error) {
	return func(function, command byte, data ...byte) ([]byte, error) {
		c, found := channels[data[0]]
		switch {
		case !found:
			return nil, errors.New("completion code cc")
		case function == 0x06 && command == 0x42:
			return []byte{0, data[0], c.medium, 1, 0, 0, 0, 0, 0, 0}, nil
		case function == 0x0c && command == 0x02:
			b, found := c.lan[fmt.Sprintf("%d %d", data[1], data[2])]
			if !found {
				return []byte{0x80}, nil
			}
			return append([]byte{0, 0x11}, b...), nil
		}
		return nil, errors.New("completion code c1")
	}
}

func v6(set, state byte, address string) []byte {
	a := netip.MustParseAddr(address).As16()
	return append(append([]byte{set, 0x80}, a[:]...), 64, state)
}

func TestTheBMCsAddressIsThatOfItsFirstNetwork(t *testing.T) {
	serial := channel{medium: 5, lan: map[string][]byte{"3 0": {10, 0, 0, 1}}}
	unused := channel{medium: 4, lan: map[string][]byte{"3 0": {0, 0, 0, 0}}}
	used := channel{medium: 4, lan: map[string][]byte{
		"3 0": {192, 0, 2, 7}, "5 0": {0x52, 0x54, 0, 1, 2, 3}, "50 0": {2, 1, 0},
		"59 0": v6(0, 0, "fe80::1"), "56 0": v6(0, 2, "2001:db8::1"), "56 1": v6(1, 0, "2001:db8::2"),
	}}
	m := hardware.Machine{Root: t.TempDir(), IPMI: bmc(map[byte]channel{1: serial, 2: unused, 8: used})}
	got := m.Inventory()
	require.EqualValues(t, "192.0.2.7", got.BMCAddress)
	require.EqualValues(t, "2001:db8::2", got.BMCV6Address)
	require.EqualValues(t, "52:54:00:01:02:03", got.BMCMAC)

	m.IPMI = bmc(map[byte]channel{1: serial, 2: unused, 3: {medium: 4}})
	got = m.Inventory()
	require.Empty(t, got.BMCAddress)
	require.Empty(t, got.BMCV6Address)
	require.Empty(t, got.BMCMAC)
}

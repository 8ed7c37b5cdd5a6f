package netboot_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/netboot"
)

const booting = "52:54:00:00:00:07"

// leases are those of one server that boots. The store's tests have the rest.
type leases struct {
	address            netip.Addr
	full, byHTTP       bool
	declined, released netip.Addr
}

func (l *leases) BootsByNetwork(_ context.Context, mac string) (boots, byHTTP bool, err error) {
	if mac == "52:54:00:00:00:99" {
		return false, false, errors.New("the database is away")
	}
	return mac == booting, l.byHTTP, nil
}

func (l *leases) HoldsAddress(context.Context, string) (bool, error) { return l.address.IsValid(), nil }

func (l *leases) LeaseAddress(_ context.Context, _ string, first, _ netip.Addr, _ time.Duration) (netip.Addr, bool, error) {
	l.address = first
	return first, !l.full, nil
}

func (l *leases) DeclineAddress(_ context.Context, _ string, a netip.Addr, _ time.Duration) error {
	l.declined = a
	return nil
}

func (l *leases) ReleaseAddress(_ context.Context, _ string, a netip.Addr) error {
	l.released = a
	return nil
}

func message(t *testing.T, mac string, kind dhcpv4.MessageType, more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	t.Helper()
	hw, err := net.ParseMAC(mac)
	require.NoError(t, err)
	m, err := dhcpv4.New(append(more, dhcpv4.WithHwAddr(hw), dhcpv4.WithMessageType(kind))...)
	require.NoError(t, err)
	return m
}

// firmware is a modifier: the message is one of firmware of a class and an architecture.
func firmware(class string, arch iana.Arch) dhcpv4.Modifier {
	return func(m *dhcpv4.DHCPv4) {
		m.UpdateOption(dhcpv4.OptClassIdentifier(class + ":Arch:0000:UNDI:003000"))
		m.UpdateOption(dhcpv4.OptClientArch(arch))
	}
}

func ipxe(m *dhcpv4.DHCPv4) {
	m.UpdateOption(dhcpv4.OptGeneric(dhcpv4.OptionUserClassInformation, []byte("iPXE")))
}

func server(t *testing.T, ranges ...string) (*netboot.DHCP, *leases) {
	t.Helper()
	pools, err := netboot.ParsePools(ranges)
	require.NoError(t, err)
	l := &leases{}
	return &netboot.DHCP{
		Address: netip.MustParseAddr("10.0.0.5"), Base: "http://10.0.0.5:6386", Script: "http://10.0.0.5:6386/netboot/boot.ipxe", Pools: pools, Leases: l, Log: zap.NewNop(),
	}, l
}

func TestOnlyServersThatBootGetAnAnswer(t *testing.T) {
	t.Parallel()
	for _, ranges := range [][]string{nil, {"10.0.0.100-10.0.0.200/24"}} {
		d, _ := server(t, ranges...)
		answer, err := d.Answer(t.Context(), message(t, "52:54:00:00:00:08", dhcpv4.MessageTypeDiscover, firmware("PXEClient", iana.INTEL_X86PC)))
		require.NoError(t, err)
		require.Nil(t, answer)
		answer, err = d.Answer(t.Context(), message(t, "52:54:00:00:00:99", dhcpv4.MessageTypeDiscover, ipxe))
		require.ErrorContains(t, err, "the database is away")
		require.Nil(t, answer)
	}
}

func TestWhatIsBootedFollowsFromTheFirmware(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from dhcpv4.Modifier
		file string
		http bool // the node's boot interface is http
	}{
		"a BIOS":                           {firmware("PXEClient", iana.INTEL_X86PC), "undionly.kpxe", false},
		"UEFI":                             {firmware("PXEClient", iana.EFI_X86_64), "snponly.efi", false},
		"UEFI, as some name it":            {firmware("PXEClient", iana.EFI_BC), "snponly.efi", false},
		"UEFI by HTTP":                     {firmware("HTTPClient", iana.EFI_X86_64_HTTP), "http://10.0.0.5:6386/netboot/loader/snponly.efi", true},
		"iPXE":                             {ipxe, "http://10.0.0.5:6386/netboot/boot.ipxe", false},
		"ARM, which has no build":          {firmware("PXEClient", iana.EFI_ARM64), "", false},
		"a system":                         {func(*dhcpv4.DHCPv4) {}, "", false},
		"UEFI by PXE, which boots by HTTP": {firmware("PXEClient", iana.EFI_X86_64), "", true},
		"UEFI by HTTP, which boots by PXE": {firmware("HTTPClient", iana.EFI_X86_64_HTTP), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, l := server(t, "10.0.0.100-10.0.0.200/24")
			l.byHTTP = c.http
			answer, err := d.Answer(t.Context(), message(t, booting, dhcpv4.MessageTypeDiscover, c.from))
			require.NoError(t, err)
			require.Equal(t, c.file, answer.BootFileName)
			require.Equal(t, "10.0.0.100", answer.YourIPAddr.String(), "whoever boots gets an address, the agent, too")

			proxy, l := server(t)
			l.byHTTP = c.http
			answer, err = proxy.Answer(t.Context(), message(t, booting, dhcpv4.MessageTypeDiscover, c.from))
			require.NoError(t, err)
			if c.file == "" {
				require.Nil(t, answer)
				return
			}
			require.Equal(t, c.file, answer.BootFileName)
			require.Equal(t, dhcpv4.MessageTypeOffer, answer.MessageType())
			require.Equal(t, "0.0.0.0", answer.YourIPAddr.String(), "a proxy gives out none")
		})
	}
}

func TestAServerGetsAnAddressOfItsNetwork(t *testing.T) {
	t.Parallel()
	d, l := server(t, "10.0.0.100-10.0.0.200/24 router=10.0.0.1 dns=10.0.0.53", "10.7.0.10-10.7.0.20/16")
	me := dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IP{10, 0, 0, 5}))
	ask := func(kind dhcpv4.MessageType, more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
		t.Helper()
		answer, err := d.Answer(t.Context(), message(t, booting, kind, more...))
		require.NoError(t, err)
		return answer
	}
	ack := ask(dhcpv4.MessageTypeRequest, me, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.IP{10, 0, 0, 100})))
	require.Equal(t, dhcpv4.MessageTypeAck, ack.MessageType())
	require.Equal(t, "ffffff00", ack.SubnetMask().String())
	require.Equal(t, []net.IP{{10, 0, 0, 1}}, ack.Router())
	require.Equal(t, []net.IP{{10, 0, 0, 53}}, ack.DNS())
	require.Equal(t, 10*time.Minute, ack.IPAddressLeaseTime(0))
	require.Equal(t, "10.0.0.5", ack.ServerIdentifier().String())

	nak := ask(dhcpv4.MessageTypeRequest, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.IP{10, 0, 0, 77})))
	require.Equal(t, dhcpv4.MessageTypeNak, nak.MessageType(), "an address of another network")

	relayed := ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithGatewayIP(net.IP{10, 7, 0, 1}))
	require.Equal(t, "10.7.0.10", relayed.YourIPAddr.String())
	require.Equal(t, "10.7.0.1", relayed.GatewayIPAddr.String())
	_, err := d.Answer(t.Context(), message(t, booting, dhcpv4.MessageTypeDiscover, dhcpv4.WithGatewayIP(net.IP{10, 9, 0, 1})))
	require.ErrorContains(t, err, "no range is for the network of the relay 10.9.0.1")

	require.Nil(t, ask(dhcpv4.MessageTypeRequest, dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IP{10, 0, 0, 66}))), "another DHCP server's")
	require.Nil(t, ask(dhcpv4.MessageTypeDecline, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.IP{10, 0, 0, 100}))))
	require.Equal(t, "10.0.0.100", l.declined.String())
	require.Nil(t, ask(dhcpv4.MessageTypeRelease, dhcpv4.WithClientIP(net.IP{10, 0, 0, 101})))
	require.Equal(t, "10.0.0.101", l.released.String())
	l.full = true
	_, err = d.Answer(t.Context(), message(t, booting, dhcpv4.MessageTypeDiscover))
	require.ErrorContains(t, err, "all addresses of 10.0.0.100-10.0.0.200 are given out")
}

func TestRangesThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	for range1, why := range map[string]string{
		"":                                       "FIRST-LAST/BITS",
		"10.0.0.1":                               "FIRST-LAST/BITS",
		"10.0.0.1-10.0.0.9":                      "FIRST-LAST/BITS",
		"10.0.0.9-10.0.0.1/24":                   "comes before",
		"10.0.0.1-10.0.1.1/24":                   "is not in the network",
		"10.0.0.1-10.9.0.1/8":                    "at most",
		"fd00::1-fd00::9/64":                     "IPv4",
		"10.0.0.1-10.0.0.9/24 router=x":          "IPv4",
		"10.0.0.1-10.0.0.9/24 gateway=10.0.0.30": "router=ADDRESS",
	} {
		_, err := netboot.ParsePools([]string{range1})
		require.ErrorContains(t, err, why, range1)
	}
	for words, ranges := range map[string][]string{
		"are of no machine": {"10.0.0.0-10.0.0.9/24"}, "the first and the last": {"10.0.0.1-10.0.0.255/24"}, "10.0.0.5 is in the range": {"10.0.0.1-10.0.0.9/24 router=10.0.0.5"},
		"of the same network": {"10.0.0.1-10.0.0.9/24", "10.0.0.20-10.0.0.29/24"},
	} {
		_, err := netboot.ParsePools(ranges)
		require.ErrorContains(t, err, words)
	}
	pools, err := netboot.ParsePools([]string{"10.0.0.1-10.0.0.9/24"})
	require.NoError(t, err)
	require.ErrorContains(t, netboot.CheckAddress(pools, netip.MustParseAddr("10.0.0.9")), "10.0.0.9 is in 10.0.0.1-10.0.0.9")
	require.NoError(t, netboot.CheckAddress(pools, netip.MustParseAddr("10.0.0.10")))
	_, err = netboot.ParsePools([]string{"10.0.0.1-10.0.0.9/24", "10.0.0.9-10.0.0.20/24"})
	require.ErrorContains(t, err, "overlaps 10.0.0.1-10.0.0.9")
}

// With discovery the firmware of an unknown server is answered, and what it has booted keeps its address. A system that runs is not.
func TestAnUnknownServerIsAnsweredWhileItIsDiscovered(t *testing.T) {
	d, _ := server(t, "10.0.0.100-10.0.0.200/24")
	const unknown = "52:54:00:00:00:08"
	d.Unknown = func(_ context.Context, mac string) (bool, error) { return mac == unknown, nil }
	answered := func(m *dhcpv4.DHCPv4) bool {
		a, err := d.Answer(t.Context(), m)
		require.NoError(t, err)
		return a != nil
	}
	system := message(t, unknown, dhcpv4.MessageTypeDiscover)
	require.False(t, answered(system), "it has an address from elsewhere")
	require.False(t, answered(message(t, "52:54:00:00:00:09", dhcpv4.MessageTypeDiscover, firmware("PXEClient", iana.EFI_X86_64))), "it is known")
	require.True(t, answered(message(t, unknown, dhcpv4.MessageTypeDiscover, firmware("PXEClient", iana.EFI_X86_64))))
	require.True(t, answered(message(t, unknown, dhcpv4.MessageTypeDiscover, ipxe)))
	require.True(t, answered(system), "it is the ramdisk that the firmware has booted")
	renews := func(m *dhcpv4.DHCPv4) { m.ClientIPAddr = net.IPv4(10, 0, 0, 100) }
	require.True(t, answered(message(t, "52:54:00:00:00:09", dhcpv4.MessageTypeRequest, renews)), "a rescued server keeps its address")
}

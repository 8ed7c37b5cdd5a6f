package netboot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/server4"
	"github.com/insomniacslk/dhcp/iana"
	"go.uber.org/zap"
)

// leaseTime is how long a server has its address. It renews it after half of that, while it boots.
const leaseTime = 10 * time.Minute

// declinedFor is how long an address is not given out that a server has found in use.
const declinedFor = time.Hour

// answerWithin bounds what an answer asks of the database. Firmware asks again after four seconds and more.
const answerWithin = 3 * time.Second

// Leases keep which server has which address. They are shared by all processes.
type Leases interface {
	// BootsByNetwork reports whether an operation boots the server with a port of this MAC by network now, and whether UEFI is to load iPXE
	// by HTTP, and not by TFTP.
	BootsByNetwork(ctx context.Context, mac string) (boots, byHTTP bool, err error)
	// HoldsAddress reports whether holder has an address that was given to it and is not over.
	HoldsAddress(ctx context.Context, holder string) (bool, error)
	// LeaseAddress returns the address of the pool that holder has, or gives it a free one, for so long. ok is false if none is free.
	LeaseAddress(ctx context.Context, holder string, first, last netip.Addr, d time.Duration) (a netip.Addr, ok bool, err error)
	// DeclineAddress takes an address from its holder, and gives it to nobody for so long.
	DeclineAddress(ctx context.Context, holder string, a netip.Addr, d time.Duration) error
	// ReleaseAddress gives an address back.
	ReleaseAddress(ctx context.Context, holder string, a netip.Addr) error
}

// DHCP answers servers that boot by network, and nobody else. It gives out addresses of pools or, without pools, is a proxy: then another
// DHCP server gives out addresses, and the proxy adds what is booted (PXE 2.1, 2.2.3, "ProxyDHCP").
type DHCP struct {
	Interface string     // on which it listens
	Address   netip.Addr // under which servers, and relays, reach this machine
	Base      string     // URL of temper boot, "http://10.0.0.5:6386"
	Script    string     // URL of the script with which iPXE begins
	Pools     []Pool     // none = it is a proxy
	Leases    Leases
	// Unknown reports whether the server with a MAC is neither enrolled nor discovered yet, so that it boots to be discovered; nil = none does.
	Unknown func(ctx context.Context, mac string) (bool, error)
	Log     *zap.Logger

	atWork atomic.Int64
}

// Serve answers until ctx ends. It needs the right to use ports below 1024, and to bind to an interface.
func (d *DHCP) Serve(ctx context.Context) error {
	ports := []int{dhcpv4.ServerPort}
	if len(d.Pools) == 0 {
		ports = append(ports, proxyPort)
	}
	ended := make(chan error, len(ports))
	var servers []*server4.Server
	defer func() {
		for _, s := range servers {
			_ = s.Close() // it is over
		}
	}()
	for _, port := range ports {
		s, err := server4.NewServer(d.Interface, &net.UDPAddr{IP: net.IPv4zero, Port: port}, func(conn net.PacketConn, from net.Addr, m *dhcpv4.DHCPv4) {
			d.handle(ctx, conn, from, m, port)
		})
		if err != nil {
			return fmt.Errorf("serve DHCP on %s, port %d: %w", d.Interface, port, err)
		}
		servers = append(servers, s)
		go func() { ended <- s.Serve() }()
	}
	select {
	case err := <-ended:
		return fmt.Errorf("serve DHCP: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// proxyPort is where firmware asks a proxy that it has chosen.
const proxyPort = 4011

// answersAtOnce bounds how many messages are worked on. The senders of others ask again.
const answersAtOnce = 64

func (d *DHCP) handle(ctx context.Context, conn net.PacketConn, from net.Addr, m *dhcpv4.DHCPv4, port int) {
	if d.atWork.Add(1) > answersAtOnce {
		d.atWork.Add(-1)
		return
	}
	defer d.atWork.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	log := d.Log.With(zap.Stringer("mac", m.ClientHWAddr), zap.Stringer("asked", m.MessageType()))
	answer, err := d.Answer(ctx, m)
	if err != nil {
		log.Warn("DHCP: a server gets no answer", zap.Error(err))
	}
	if answer == nil {
		return
	}
	to := &net.UDPAddr{IP: net.IPv4bcast, Port: dhcpv4.ClientPort}
	asker, _ := from.(*net.UDPAddr)
	switch {
	case !m.GatewayIPAddr.IsUnspecified():
		to = &net.UDPAddr{IP: m.GatewayIPAddr, Port: dhcpv4.ServerPort} // the relay
	case port == proxyPort && asker != nil:
		to = asker
	case !m.ClientIPAddr.IsUnspecified():
		to.IP = m.ClientIPAddr
	}
	if _, err := conn.WriteTo(answer.ToBytes(), to); err != nil {
		log.Warn("DHCP: an answer was not sent", zap.Stringer("to", to), zap.Error(err))
		return
	}
	log.Info("DHCP: answered", zap.Stringer("answer", answer.MessageType()), zap.Stringer("address", answer.YourIPAddr), zap.String("boots", answer.BootFileName), zap.Stringer("to", to))
}

// Answer returns the answer to a message, nil if it gets none: it is none of a server that boots by network now, or it is for another
// DHCP server.
func (d *DHCP) Answer(ctx context.Context, m *dhcpv4.DHCPv4) (*dhcpv4.DHCPv4, error) {
	if m.OpCode != dhcpv4.OpcodeBootRequest || len(m.ClientHWAddr) != 6 {
		return nil, nil //nolint:nilnil // no answer
	}
	mac := m.ClientHWAddr.String()
	boots, byHTTP, err := d.Leases.BootsByNetwork(ctx, mac)
	if err != nil {
		return nil, err
	}
	file := d.bootFile(m, byHTTP)
	if !boots {
		if boots, err = d.keeps(ctx, m, mac, file); err != nil || !boots {
			return nil, err
		}
	}
	if len(d.Pools) == 0 {
		return d.proxied(m, file)
	}
	return d.addressed(ctx, m, mac, file)
}

// keeps reports whether a server is answered that no operation boots by network: one that renews the address that it has, such as a rescued
// one, and one that is not enrolled, where servers are discovered: its firmware and iPXE, which boot file, and then what they have
// booted, which keeps their address. Another system that runs gets no answer.
func (d *DHCP) keeps(ctx context.Context, m *dhcpv4.DHCPv4, mac, file string) (bool, error) {
	if len(d.Pools) > 0 && file == "" && !m.ClientIPAddr.IsUnspecified() {
		return d.Leases.HoldsAddress(ctx, mac)
	}
	if d.Unknown == nil {
		return false, nil
	}
	if unknown, err := d.Unknown(ctx, mac); err != nil || !unknown || file != "" {
		return unknown, err
	}
	return d.Leases.HoldsAddress(ctx, mac)
}

// proxied is the answer of a proxy: without an address, to firmware and iPXE only.
func (d *DHCP) proxied(m *dhcpv4.DHCPv4, file string) (*dhcpv4.DHCPv4, error) {
	kind := dhcpv4.MessageTypeOffer
	switch m.MessageType() {
	case dhcpv4.MessageTypeDiscover:
	case dhcpv4.MessageTypeRequest, dhcpv4.MessageTypeInform:
		if by := m.ServerIdentifier(); by != nil && !by.Equal(d.Address.AsSlice()) {
			return nil, nil //nolint:nilnil // it has chosen an address of the other server
		}
		kind = dhcpv4.MessageTypeAck
	default:
		return nil, nil //nolint:nilnil // no answer
	}
	if file == "" {
		return nil, nil //nolint:nilnil // it boots nothing by network: a system that asks for its address
	}
	return d.reply(m, kind, file)
}

// addressed is the answer of a server that gives out addresses.
func (d *DHCP) addressed(ctx context.Context, m *dhcpv4.DHCPv4, mac, file string) (*dhcpv4.DHCPv4, error) {
	pool, found := d.poolOf(m)
	if !found {
		return nil, fmt.Errorf("no range is for the network of the relay %s", m.GatewayIPAddr)
	}
	switch m.MessageType() {
	case dhcpv4.MessageTypeDecline:
		a, _ := netip.AddrFromSlice(m.RequestedIPAddress().To4())
		d.Log.Warn("DHCP: a server has found its address in use; it is not given out for an hour", zap.String("mac", mac), zap.Stringer("address", a))
		return nil, d.Leases.DeclineAddress(ctx, mac, a, declinedFor)
	case dhcpv4.MessageTypeRelease:
		a, _ := netip.AddrFromSlice(m.ClientIPAddr.To4())
		return nil, d.Leases.ReleaseAddress(ctx, mac, a)
	case dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeRequest:
	default:
		return nil, nil //nolint:nilnil // no answer
	}
	if by := m.ServerIdentifier(); by != nil && !by.Equal(d.Address.AsSlice()) {
		d.Log.Warn("DHCP: a server has taken the address of another DHCP server, which is in the same network", zap.String("mac", mac), zap.Stringer("other", by))
		return nil, nil //nolint:nilnil // no answer
	}
	a, ok, err := d.Leases.LeaseAddress(ctx, mac, pool.First, pool.Last, leaseTime)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("all addresses of %s-%s are given out", pool.First, pool.Last)
	}
	kind := dhcpv4.MessageTypeOffer
	if m.MessageType() == dhcpv4.MessageTypeRequest {
		kind = dhcpv4.MessageTypeAck
		if wants := wanted(m); wants.IsValid() && wants != a {
			return dhcpv4.NewReplyFromRequest(m, dhcpv4.WithMessageType(dhcpv4.MessageTypeNak), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(d.Address.AsSlice())))
		}
	}
	more := []dhcpv4.Modifier{
		dhcpv4.WithYourIP(a.AsSlice()), dhcpv4.WithLeaseTime(uint32(leaseTime / time.Second)), dhcpv4.WithNetmask(net.CIDRMask(pool.Network.Bits(), 32)),
	}
	if pool.Router.IsValid() {
		more = append(more, dhcpv4.WithRouter(pool.Router.AsSlice()))
	}
	if len(pool.DNS) > 0 {
		var servers []net.IP
		for _, s := range pool.DNS {
			servers = append(servers, s.AsSlice())
		}
		more = append(more, dhcpv4.WithDNS(servers...))
	}
	return d.reply(m, kind, file, more...)
}

// wanted is the address that a request names, zero if none.
func wanted(m *dhcpv4.DHCPv4) netip.Addr {
	ip := m.RequestedIPAddress()
	if ip == nil && !m.ClientIPAddr.IsUnspecified() {
		ip = m.ClientIPAddr
	}
	a, _ := netip.AddrFromSlice(ip.To4())
	return a
}

// poolOf returns the pool for a message: that of the relay's network, or that of this machine's.
func (d *DHCP) poolOf(m *dhcpv4.DHCPv4) (Pool, bool) {
	in := d.Address
	if own, ok := netip.AddrFromSlice(m.ClientIPAddr.To4()); ok && !own.IsUnspecified() { // a renewal, which goes past the relay
		in = own
	}
	if relay, ok := netip.AddrFromSlice(m.GatewayIPAddr.To4()); ok && !relay.IsUnspecified() {
		in = relay
	}
	for _, p := range d.Pools {
		if p.Network.Contains(in) {
			return p, true
		}
	}
	return Pool{}, false
}

// reply is an answer with what is booted.
func (d *DHCP) reply(m *dhcpv4.DHCPv4, kind dhcpv4.MessageType, file string, more ...dhcpv4.Modifier) (*dhcpv4.DHCPv4, error) {
	me := d.Address.AsSlice()
	more = append(more, dhcpv4.WithMessageType(kind), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(me)))
	if file != "" {
		more = append(more, dhcpv4.WithServerIP(me), func(r *dhcpv4.DHCPv4) { r.BootFileName = file })
		class := strings.SplitN(m.ClassIdentifier(), ":", 2)[0]
		if class == pxeClient || class == httpClient {
			more = append(more, dhcpv4.WithOption(dhcpv4.OptClassIdentifier(class)), dhcpv4.WithOptionCopied(m, dhcpv4.OptionClientMachineIdentifier))
		}
		if class == pxeClient {
			// PXE_DISCOVERY_CONTROL 8: boot the file that is named, and ask no other server (PXE 2.1, table 2-1).
			more = append(more, dhcpv4.WithOption(dhcpv4.OptGeneric(dhcpv4.OptionVendorSpecificInformation, []byte{6, 1, 8, 255})))
		}
	}
	r, err := dhcpv4.NewReplyFromRequest(m, more...)
	if err != nil {
		return nil, errors.Join(errors.New("make the answer"), err)
	}
	return r, nil
}

// Classes of firmware (option 60): PXE 2.1, and UEFI 2.10, section 24.7.
const (
	pxeClient  = "PXEClient"
	httpClient = "HTTPClient"
)

// bootFile is what the sender of a message is to load; "" = nothing, because it is no firmware, or of an architecture without a loader, or
// loads it in the other way.
func (d *DHCP) bootFile(m *dhcpv4.DHCPv4, byHTTP bool) string {
	if strings.Contains(string(m.Options.Get(dhcpv4.OptionUserClassInformation)), "iPXE") {
		return d.Script
	}
	class, _, _ := strings.Cut(m.ClassIdentifier(), ":")
	for _, arch := range m.ClientArch() {
		switch {
		case class == httpClient && byHTTP && (arch == iana.EFI_X86_64_HTTP || arch == iana.EFI_X86_64 || arch == iana.EFI_BC):
			return d.Base + "/netboot/loader/snponly.efi"
		case class == pxeClient && !byHTTP && arch == iana.INTEL_X86PC:
			return "undionly.kpxe"
		case class == pxeClient && !byHTTP && (arch == iana.EFI_X86_64 || arch == iana.EFI_BC):
			return "snponly.efi"
		}
	}
	return ""
}

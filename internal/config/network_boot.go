package config

import (
	"net/netip"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/origin"
)

// NetworkBoot is the role that serves what servers boot by network, and their agents.
type NetworkBoot struct {
	Process
	Database
	Temporal
	Liveness
	Patience
	Rules
	Reach
	Boot
	Agents
	ImageCache
	Listen string `key:"boot_listen" flag:"listen" default:"127.0.0.1:6386" help:"address of the HTTP listener, without TLS, from which servers load what they boot, and BMCs the CDs; agents call there, too, unless agent_listen is set"`
	TFTP   string `key:"tftp_listen" help:"address from which firmware loads iPXE by TFTP, such as 10.0.0.5:69; empty is that it is not served"`
	// DHCP is DHCPNone, DHCPProxy or DHCPServer.
	DHCP          string   `key:"dhcp" default:"none" help:"whether it touches your DHCP: none is that it answers no request; proxy is that it tells servers that boot by network what to load, beside your DHCP server; server is that it also gives them addresses of dhcp_ranges"`
	DHCPInterface string   `key:"dhcp_interface" help:"network interface on which it answers DHCP"`
	DHCPAddress   string   `key:"dhcp_address" help:"address of this machine for servers and relays, by which DHCP names it: one of dhcp_interface, which stays the same"`
	DHCPRanges    []string `key:"dhcp_ranges" help:"addresses that it gives out, as 10.0.0.100-10.0.0.200/24, each with router=ADDRESS and dns=ADDRESS after spaces, where there are such"`
}

// API returns the settings of the API that this role is for servers and agents. It has no clients.
func (r *NetworkBoot) API() *API {
	c := &API{
		Process: r.Process, Database: r.Database, Temporal: r.Temporal, Liveness: r.Liveness, Patience: r.Patience, Rules: r.Rules,
		Reach: r.Reach, Boot: r.Boot, Agents: r.Agents, ImageCache: r.ImageCache, Listen: r.Listen, Following: Following{Streams: 1, PerUser: 1},
	}
	c.Auth.Strategy = NoAuth
	return c
}

// Loopback reports whether only this machine reaches it.
func (r *NetworkBoot) Loopback() bool { return origin.Loopback(r.Listen) }

func (r *NetworkBoot) check(p *problems) {
	r.Process.check(p)
	r.Boot.check(p)
	r.Agents.check(p, r.Boot)
	r.ImageCache.check(p)
	r.Database.check(p)
	r.Temporal.check(p)
	r.Liveness.check(p)
	r.Patience.check(p)
	r.Rules.check(p)
	r.Reach.check(p)
	p.requireAddress("boot_listen", r.Listen)
	if r.TFTP != "" {
		p.requireAddress("tftp_listen", r.TFTP)
	}
	r.checkDHCP(p)
	if r.Ramdisk == "" {
		p.refuse("ramdisk", "want the file temper-ramdisk.iso that make ramdisk builds: servers load its kernel and its initrd")
	}
}

// Values of the setting dhcp.
const (
	DHCPNone   = "none"
	DHCPProxy  = "proxy"
	DHCPServer = "server"
)

func (r *NetworkBoot) checkDHCP(p *problems) {
	if !slices.Contains([]string{DHCPNone, DHCPProxy, DHCPServer}, r.DHCP) {
		p.refuse("dhcp", "want none, proxy or server")
		return
	}
	switch {
	case r.DHCP != DHCPServer && len(r.DHCPRanges) > 0:
		p.refuse("dhcp", "want server, because dhcp_ranges has addresses to give out")
	case r.DHCP == DHCPServer && len(r.DHCPRanges) == 0:
		p.refuse("dhcp_ranges", "want the addresses to give out, because dhcp is server")
	}
	if r.DHCP == DHCPNone {
		return
	}
	if a, err := netip.ParseAddr(r.DHCPAddress); err != nil || !a.Is4() {
		p.refuse("dhcp_address", "want the address of IPv4 at which servers reach this machine, because dhcp is %s", r.DHCP)
	}
	if r.DHCPInterface == "" {
		p.refuse("dhcp_interface", "want the name of a network interface, because dhcp is %s", r.DHCP)
	}
	if strings.HasSuffix(r.Listen, ":0") {
		p.refuse("boot_listen", "want an address with a fixed port, because dhcp tells servers which")
	}
	if !strings.HasSuffix(r.TFTP, ":69") {
		p.refuse("tftp_listen", "want an address with port 69, because dhcp leads firmware to it")
	}
	if r.Loopback() {
		p.refuse("boot_listen", "want an address that servers reach, because dhcp leads them to it")
	}
}

package config

import (
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
	Listen string `key:"boot_listen" flag:"listen" default:"127.0.0.1:6386" help:"address of the HTTP listener, without TLS, from which servers load what they boot, and BMCs the CDs; agents call there, too, unless agent_listen is set"`
	TFTP   string `key:"tftp_listen" help:"address from which firmware loads iPXE by TFTP, such as 10.0.0.5:69; empty is that it is not served"`
	IPXE   string `key:"ipxe_dir" default:"/usr/lib/ipxe" help:"folder with undionly.kpxe, snponly.efi and ipxe.efi, as in Debian's package ipxe"`
}

// API returns the settings of the API that this role is for servers and agents. It has no clients.
func (r *NetworkBoot) API() *API {
	c := &API{
		Process: r.Process, Database: r.Database, Temporal: r.Temporal, Liveness: r.Liveness, Patience: r.Patience, Rules: r.Rules,
		Reach: r.Reach, Boot: r.Boot, Agents: r.Agents, Listen: r.Listen, Following: Following{Streams: 1, PerUser: 1},
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
	if r.Ramdisk == "" {
		p.refuse("ramdisk", "want the file temper-ramdisk.iso that make ramdisk builds: servers load its kernel and its initrd")
	}
}

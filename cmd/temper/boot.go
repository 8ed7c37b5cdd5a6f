package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/netboot"
)

func newBootCommand() *cobra.Command {
	r := &config.NetworkBoot{}
	return role{
		name: "boot", short: "Serve what servers boot by network", settings: r, common: &r.Process,
		long: `Serve what servers boot by network. Does it touch your DHCP? By default it does not: it answers no DHCP request, and your DHCP
server has to lead servers to iPXE, and iPXE to http://THIS:6386/netboot/boot.ipxe (docs/dhcp.md has the lines). With --dhcp proxy it does that
itself, beside your DHCP server; with --dhcp server it also gives out addresses of --dhcp-ranges. Either way it answers only servers that an
operation boots by network now and, with --discovery, the firmware of those that are not enrolled.

It serves iPXE by TFTP, boot scripts, kernels and initrds by HTTP, the CDs for virtual media, the agents that servers boot, and the images
that these write. By network only servers boot whose node has an operation that boots it so and, once, with --discovery, servers that are not
enrolled; every other one goes on with what its firmware has next. Run it in the networks of the servers, as often as you like: all that it
has to keep is in the database.`,
		check: func() error {
			pools, err := netboot.ParsePools(r.DHCPRanges)
			if err != nil {
				return fmt.Errorf("dhcp_ranges: %w", err)
			}
			address, err := netip.ParseAddr(r.DHCPAddress)
			if err != nil {
				return nil //nolint:nilerr // without DHCP it has none; else the settings were refused
			}
			if err := netboot.CheckAddress(pools, address); err != nil {
				return fmt.Errorf("dhcp_address: %w", err)
			}
			return nil
		},
		run: func(ctx context.Context, p *process) error { return runBoot(ctx, p, r) },
	}.command()
}

// runBoot is the API for servers and agents, with TFTP and DHCP beside it.
func runBoot(ctx context.Context, p *process, r *config.NetworkBoot) error {
	g, ctx := errgroup.WithContext(ctx)
	if r.TFTP != "" {
		t := &netboot.TFTP{Dir: r.IPXE, Log: p.log.Named("tftp")}
		conn, err := t.Listen(r.TFTP)
		if err != nil {
			return err
		}
		p.at.TFTPAddress = conn.LocalAddr().String()
		g.Go(func() error { return t.Serve(ctx, conn) })
	}
	if r.DHCP != config.DHCPNone {
		d, closeStore, err := newDHCP(ctx, p, r)
		if err != nil {
			return err
		}
		defer closeStore()
		g.Go(func() error { return d.Serve(ctx) })
	}
	g.Go(func() error { return runAPI(ctx, p, r.API(), apiKind{coverage.RoleBoot, (*process).bootDoors}) })
	return g.Wait()
}

// newDHCP makes the DHCP server or proxy, which has connections of its own to the database.
func newDHCP(ctx context.Context, p *process, r *config.NetworkBoot) (d *netboot.DHCP, closeStore func(), err error) {
	pools, err := netboot.ParsePools(r.DHCPRanges)
	if err != nil {
		return nil, nil, err
	}
	address, err := netip.ParseAddr(r.DHCPAddress)
	if err != nil {
		return nil, nil, err
	}
	_, port, err := net.SplitHostPort(r.Listen)
	if err != nil {
		return nil, nil, err
	}
	db, err := openStore(ctx, p, r.Database, r.Rules, r.Liveness, string(coverage.RoleBoot))
	if err != nil {
		return nil, nil, err
	}
	base := "http://" + net.JoinHostPort(address.String(), port)
	d = &netboot.DHCP{
		Interface: r.DHCPInterface, Address: address, Base: base, Script: base + medium.NetworkScript, Pools: pools, Leases: db, Log: p.log.Named("dhcp"),
	}
	if r.Discovery {
		d.Unknown = db.Discoverable
	}
	return d, db.Close, nil
}

// bootDoors opens the listeners for servers and agents. The one for servers has no TLS, because iPXE and many BMCs trust no CA of ours.
func (p *process) bootDoors(r *config.API) (all []opened, err error) {
	agents, err := agentNetworks(r)
	if err != nil {
		return nil, err
	}
	of := api.BMCs
	if r.Agents.Listen == "" {
		of |= api.Agents
	}
	l, err := p.listen(config.Process{}, r.Listen)
	if err != nil {
		return nil, err
	}
	all = append(all, opened{l, api.Door{For: of, Listen: r.Listen, Agents: agents}, baseURL(config.Process{}, l.Addr())})
	p.at.MediaURL = all[0].url
	if r.Agents.Listen == "" {
		p.at.AgentURL = p.at.MediaURL
		return all, nil
	}
	if l, err = p.listen(r.Process, r.Agents.Listen); err != nil {
		closeAll(all)
		return nil, err
	}
	p.at.AgentURL = baseURL(r.Process, l.Addr())
	return append(all, opened{l, api.Door{For: api.Agents, Listen: r.Agents.Listen, Agents: agents}, baseURL(r.Process, l.Addr())}), nil
}

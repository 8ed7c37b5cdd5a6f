package main

import (
	"context"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/netboot"
)

func newBootCommand() *cobra.Command {
	r := &config.NetworkBoot{}
	return role{
		name: "boot", short: "Serve what servers boot by network", settings: r, common: &r.Process,
		long: `Serve what servers boot by network. It does not touch your DHCP: it answers no DHCP request, and your DHCP server has to lead
servers to iPXE, and iPXE to http://THIS:6386/netboot/boot.ipxe (docs/dhcp.md has the lines).

It serves iPXE by TFTP, boot scripts, kernels and initrds by HTTP, the CDs for virtual media, and the agents that servers boot. Only a
server whose node has an operation that boots it by network gets anything; every other one goes on with what its firmware has next. Run it
in the networks of the servers, as often as you like: all that it knows is in the database.`,
		run: func(ctx context.Context, p *process) error { return runBoot(ctx, p, r) },
	}.command()
}

// runBoot is the API for servers and agents, and TFTP beside it.
func runBoot(ctx context.Context, p *process, r *config.NetworkBoot) error {
	if r.TFTP == "" {
		return runAPI(ctx, p, r.API(), apiKind{coverage.RoleBoot, (*process).bootDoors})
	}
	t := &netboot.TFTP{Dir: r.IPXE, Log: p.log.Named("tftp")}
	conn, err := t.Listen(r.TFTP)
	if err != nil {
		return err
	}
	p.at.TFTPAddress = conn.LocalAddr().String()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return t.Serve(ctx, conn) })
	g.Go(func() error { return runAPI(ctx, p, r.API(), apiKind{coverage.RoleBoot, (*process).bootDoors}) })
	return g.Wait()
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

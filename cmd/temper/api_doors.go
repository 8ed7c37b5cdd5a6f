package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/config"
)

// opened is a listener of the API, and what it serves.
type opened struct {
	net.Listener
	door api.Door
	url  string // at which this machine reaches it
}

// apiDoors opens the listeners of the API: that of clients, and those that agents and BMCs have of their own.
func (p *process) apiDoors(r *config.API) (all []opened, err error) {
	agents, err := agentNetworks(r)
	if err != nil {
		return nil, err
	}
	open := func(c config.Process, address string, audience api.Audience) (net.Addr, error) {
		l, err := p.listen(c, address)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, opened{l, api.Door{For: audience, Listen: address, Agents: agents}, baseURL(c, l.Addr())})
		return l.Addr(), nil
	}
	of := api.Clients
	if r.Agents.Listen == "" || r.Agents.Public {
		of |= api.Agents | api.BMCs
	}
	if _, err := open(r.Process, r.Listen, of); err != nil {
		return nil, err
	}
	if r.Agents.Listen != "" {
		at, err := open(r.Process, r.Agents.Listen, api.Agents|api.BMCs)
		if err != nil {
			return nil, err
		}
		p.at.AgentURL = baseURL(r.Process, at)
	}
	if r.Agents.Media != "" {
		at, err := open(config.Process{}, r.Agents.Media, api.BMCs) // without TLS
		if err != nil {
			return nil, err
		}
		p.at.MediaURL = baseURL(config.Process{}, at)
	}
	return all, nil
}

// agentNetworks are the networks from which agents may call; none = all.
func agentNetworks(r *config.API) ([]netip.Prefix, error) {
	agents, err := config.Networks(r.Agents.Networks)
	if err != nil {
		return nil, fmt.Errorf("agent_networks: %w", err)
	}
	return agents, nil
}

func closeAll(all []opened) {
	for _, o := range all {
		_ = o.Close() // it has served nothing
	}
}

// serveAPI answers on all listeners until ctx ends.
func serveAPI(ctx context.Context, g *errgroup.Group, s *api.Server, all []opened, r *config.API) {
	for _, o := range all {
		g.Go(func() error { return serve(ctx, o, s.Through(o.door), r.ShutdownGrace, s.EndStreams) })
	}
}

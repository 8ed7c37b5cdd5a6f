package main

import (
	"context"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/faults"
)

func newRackCommand() *cobra.Command {
	r := &config.Rack{}
	return role{
		name: "rack", short: "Simulate servers: Redfish and agents over real HTTP", long: rackHelp, settings: r, common: &r.Process,
		run: func(ctx context.Context, p *process) error { return runRack(ctx, p, r) },
	}.command()
}

var rackHelp = `Simulate servers: Redfish and agents over real HTTP.

GET /servers lists the servers and what was done to each. PUT sets the list of a server's faults, and DELETE removes it:

  curl -X PUT http://ADDRESS/servers/sim-0001/faults -d '` + faults.Example + `'
  curl -X DELETE http://ADDRESS/servers/sim-0001/faults

` + faults.Help()

func runRack(ctx context.Context, p *process, r *config.Rack) error {
	return sim.Run(ctx, sim.Config{
		Servers: r.Servers, Personas: r.Personas, Seed: r.Seed, Listen: r.Listen, AllowedHosts: r.AllowedHosts, APIURL: r.APIURL, DataDir: r.Data,
		Latency: r.BMCLatency, PowerDelay: r.PowerDelay, BootDelay: r.BootDelay, StepDelay: r.StepDelay,
		Machines: r.Machines, Firmware: r.Firmware, TLS: r.TLS, PerServerAddress: r.PerServer, IPMI: r.IPMI, Log: p.log, Metrics: p.metrics,
	}, func(url string) { p.ready(url, func(context.Context) error { return nil }) })
}

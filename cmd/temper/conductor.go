package main

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/console"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
)

// newConductorCommand returns the role. Its subcommands ask the API about conductors.
func newConductorCommand() *cobra.Command {
	r := &config.Conductor{}
	c := role{
		name: "conductor", short: "Run the steps that touch hardware; list conductors",
		settings: r, common: &r.Process,
		instance: func() string { return orHostname(r.Name) },
		check:    func() error { return checkHardware(r) },
		run:      func(ctx context.Context, p *process) error { return runConductor(ctx, p, r) },
	}.command()
	c.AddCommand(cli.ConductorCommands()...)
	return c
}

// orHostname returns name or, if that is not set, the host's name, as Ironic does.
func orHostname(name string) string {
	if name != "" {
		return name
	}
	host, _ := os.Hostname() // an empty name is refused when the process registers
	return host
}

func runConductor(ctx context.Context, p *process, r *config.Conductor) error {
	name := orHostname(r.Name)
	db, err := openStore(ctx, p, r.Database, r.Rules, r.Liveness, name)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := awaitDatabase(ctx, p, db); err != nil {
		return unlessDone(ctx, err)
	}
	defer announce(ctx, p, db, coverage.RoleConductor, name, r.ConductorHeartbeatTimeout)()
	c, err := dialTemporal(ctx, p, r.Temporal, name)
	if err != nil {
		return unlessDone(ctx, err)
	}
	defer c.Close()
	setup, closeSetup, err := setupOf(ctx, p, c, r.Temporal, r.Liveness, name)
	if err != nil {
		return err
	}
	defer closeSetup()
	delays, err := fake.ParseDelays(r.Fake)
	if err != nil {
		return err
	}
	counts := worker.NewMetrics(p.metrics)
	proxy, err := proxyOf(r)
	if err != nil {
		return err
	}
	to, err := newOutbound(r.Reach, r.Rules, r.AllowLoopback)
	if err != nil {
		return err
	}
	var subscriptions redfish.SubscriptionBook
	if r.BMCEventURL != "" {
		book := &worker.SubscriptionBook{Store: db, Conductor: name, URL: r.BMCEventURL, Log: p.log}
		subscriptions = book
		go book.Run(ctx)
	}
	vendors, err := r.BMCPerSecondOf.Numbers()
	if err != nil {
		return err
	}
	hardware, err := worker.NewHardware(r.Drivers, worker.HardwareConfig{
		BMC: bmc.Settings{
			ConnectTimeout: r.BMCConnect, RequestTimeout: r.BMCRequest, MostTimeout: r.BMCRequestMax, PerSecond: r.BMCPerSecond, PerSecondOf: lowerKeys(vendors),
			Proxy: proxy, Reach: to.bmc, CADir: to.caDir,
		},
		Delays: delays, Observe: counts.BMC, Subscriptions: subscriptions, IgnoreEvents: !r.BMCEvents, Sessions: worker.NewSessionBook(db, name, p.log), Log: p.log,
	})
	if err != nil {
		return err
	}
	defer logout(ctx, hardware)
	limits, err := r.StepLimits.Numbers()
	if err != nil {
		return err
	}
	settings := stepSettings(name, r, to)
	settings.StepLimits = limits
	self := coverage.Conductor{Hostname: name, Group: strings.ToLower(r.Group), Interfaces: hardware.Enabled()}
	observer, reach := counts.Observer(), &conductor.Reach{}
	counts.Conductor(reach, hardware.Slow)
	health := &conductor.HealthRefresh{Store: db, Drivers: hardware, Self: self, Interval: r.HealthInterval, Reach: reach, Log: p.log.Named("health")}
	counts.Health(health.Read, r.SensorMetrics == config.MetricsOfNodes)
	consoles, err := consolesOf(r.Console)
	if err != nil {
		return err
	}
	consoles.Store, consoles.Drivers, consoles.Self, consoles.Log = db, hardware, self, p.log.Named("console")
	consoles.Timeout, consoles.Heartbeat = r.ConductorHeartbeatTimeout, r.ConductorHeartbeatInterval
	w := &worker.Conductor{
		Client: c, Temporal: setup, Registry: db, Interval: r.ConductorHeartbeatInterval, Timeout: r.ConductorHeartbeatTimeout,
		StopGrace: workTime(r.ShutdownGrace), Log: p.log, Started: func() { p.ready("", healthOf(dependenciesOf(db, c, r.Temporal))) },
		Self: self, Health: health, Consoles: consoles,
		Power: &conductor.PowerRefresh{
			Store: db, Drivers: hardware, Self: self, Interval: r.SyncPower, Restores: r.RestorePower, Request: r.BMCRequest, Reach: reach, Log: p.log.Named("power"),
		},
		Steps: &conductor.Steps{
			Store: conductor.CountLostClaims(db, observer.Lost), Drivers: hardware, Settings: settings, Log: p.log, Observe: observer, Reach: reach,
			OpenAgent:     conductor.OpenAgent,
			Recordings:    &conductor.Recordings{Store: db, Drivers: hardware, Log: p.log.Named("recording")},
			AskMedium:     worker.AskMedium(to.image),
			FetchFirmware: worker.Firmware(to.image),
			ReportSteps:   worker.Starter{Client: c}.ReportSteps,
			Image:         worker.Images(imagePolicy(r.Rules, to)), Fake: func(ctx context.Context, iface string) error { return delays.For(iface).Wait(ctx) },
		},
	}
	reach.Ask = w.Steps.AskBMC
	wrapSteps(w.Steps)
	return w.Run(ctx)
}

// consolesOf returns what the settings say about consoles.
func consolesOf(c config.Console) (*conductor.Consoles, error) {
	address, err := netip.ParseAddr(c.SocatAddress)
	if err != nil {
		return nil, err
	}
	first, end, err := c.Ports()
	return &conductor.Consoles{Address: address, Ports: console.Ports{First: first, End: end}, Idle: c.TerminalTimeout}, err
}

// lowerKeys returns m with its keys in lower case.
func lowerKeys(m map[string]int) map[string]int {
	out := make(map[string]int, len(m))
	for k, v := range m {
		out[strings.ToLower(k)] = v
	}
	return out
}

func stepSettings(name string, r *config.Conductor, to outbound) conductor.Settings {
	aliases, _ := r.PCIAliases.ByID() // Load has checked them
	return conductor.Settings{
		PCIAliases: aliases,
		Conductor:  name, HeartbeatTimeout: r.HeartbeatTimeout, PowerTimeout: r.Power, SoftPowerTimeout: r.SoftPower, BusyPatience: r.Busy, AwayTimeout: r.Away, MediaTimeout: r.Media, BootTimeout: r.BootSigns, BootTries: r.BootTries,
		ConductorBeat: r.ConductorHeartbeatInterval, DeathWithin: r.DeathWithin, DeathPause: r.DeathPause,
		AgentWait: map[node.Family]time.Duration{
			node.DeployFamily: r.DeployCallback, node.CleanFamily: r.CleanCallback, node.InspectFamily: r.InspectCallback,
			node.RescueFamily: r.RescueCallback, node.ServiceFamily: r.ServiceCallback,
		},
		Boot:    r.Sites(),
		Erasing: conductor.Erasing{NoATA: !r.ATAErase, NoNVMe: !r.NVMeErase, Overwrite: r.EraseGoesOn},
		Agent:   agent.Settings{Callback: to.callbacks, RequestTimeout: min(r.BMCRequest, r.HeartbeatTimeout*7/10, agent.Settings{}.WithDefaults().RequestTimeout)},
	}.WithDefaults()
}

// proxyOf returns the proxy through which BMCs are reached; nil = there is none.
func proxyOf(r *config.Conductor) (*url.URL, error) {
	if r.BMCProxy == "" {
		return nil, nil
	}
	u, err := url.Parse(r.BMCProxy)
	if err != nil {
		return nil, errors.New("bmc_proxy is no URL") // err would show the password
	}
	return u, nil
}

package main

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/basicauth"
	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/compute"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/origin"
)

// newComputeCommand returns the role. Its subcommands ask the API about compute services.
func newComputeCommand() *cobra.Command {
	r := &config.Compute{}
	var c *cobra.Command
	c = role{
		name: "compute", short: "Hold a share of the nodes for a scheduler; list and change compute services",
		long: `Hold a share of the nodes for a scheduler, and publish it at /inventory.

partition_key and peer_list are read again on SIGHUP. docs/compute-services.md has the rules.`,
		settings: r, common: &r.Process,
		instance: func() string { return orHostname(r.Host) },
		run:      func(ctx context.Context, p *process) error { return runCompute(ctx, p, r, c) },
	}.command()
	c.AddCommand(cli.ComputeCommands()...)
	return c
}

func runCompute(ctx context.Context, p *process, r *config.Compute, c *cobra.Command) error {
	api, err := client.New(client.Config{URL: r.APIURL, CAFile: r.APICA})
	if err != nil {
		return err
	}
	defer api.Close()
	l, err := p.listen(r.Process, r.Listen)
	if err != nil {
		return err
	}
	p.warnOfPlainPasswords(r.Auth, r.Process, r.Listen)
	s := &compute.Service{
		API: api, Host: orHostname(r.Host), Interval: r.Interval, Settings: computeSettings(r), Log: p.log,
		Reread: func() (compute.Settings, error) { return rereadCompute(c) }, Changed: reloadSignals(ctx, p),
		Started: func() { p.ready(baseURL(r.Process, l.Addr()), func(context.Context) error { return nil }) },
	}
	s.Metrics = compute.NewMetrics(p.metrics, s)
	handler, err := guarded(r, s.Handler(), p.log)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serve(ctx, l, handler, r.ShutdownGrace) })
	g.Go(func() error { return s.Run(ctx) })
	return g.Wait()
}

// guarded returns h behind authentication, if it is configured, and the origin check.
func guarded(r *config.Compute, h http.Handler, log *zap.Logger) (http.Handler, error) {
	if r.Auth.Uses(config.HTTPBasic) {
		auth, err := basicauth.New(r.Auth.HtpasswdFile, time.Now, log)
		if err != nil {
			return nil, err
		}
		h = auth.Handler(h)
	}
	if r.Auth.Uses(config.NoAuth) {
		log.Warn("auth.strategy is noauth: everybody who reaches this address may claim nodes", zap.String("listen", r.Listen))
	}
	return origin.NewGuard(r.Listen, r.AllowedHosts).Handler(h), nil
}

func computeSettings(r *config.Compute) compute.Settings {
	return compute.Settings{Key: r.PartitionKey, Peers: r.PeerList}
}

// rereadCompute reads partition_key and peer_list again, from where they came from at the start. Other settings keep their values.
func rereadCompute(c *cobra.Command) (compute.Settings, error) {
	again := &config.Compute{}
	if _, err := config.Load(again, c.Flags(), os.Environ()); err != nil {
		return compute.Settings{}, err
	}
	return computeSettings(again), nil
}

// reloadSignals returns a channel that gets a value for each SIGHUP until ctx ends.
func reloadSignals(ctx context.Context, p *process) <-chan struct{} {
	signals, out := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Stop(signals) })
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			p.log.Info("reading the settings again", zap.String("signal", "SIGHUP"))
			select {
			case <-ctx.Done():
				return
			case out <- struct{}{}:
			}
		}
	}()
	return out
}

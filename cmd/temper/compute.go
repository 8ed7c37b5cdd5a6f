package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/compute"
	"go.temper.dev/temper/internal/config"
)

// newComputeCommand is the role; what the API says of compute services is in its subcommands.
func newComputeCommand() *cobra.Command {
	r := &config.Compute{}
	var c *cobra.Command
	c = role{
		name: "compute", short: "Hold a share of the nodes for a scheduler; list and change compute services",
		long: `Hold a share of the nodes for a scheduler, and publish it at /inventory.

partition_key and peer_list are read again on SIGHUP. docs/compute-services.md has the rules.`,
		settings: r, common: &r.Process,
		instance: func() string { return computeName(r) },
		run:      func(ctx context.Context, p *process) error { return runCompute(ctx, p, r, c) },
	}.command()
	c.AddCommand(computeCommands()...)
	return c
}

// computeName is the host's where none is given.
func computeName(r *config.Compute) string {
	if r.Host != "" {
		return r.Host
	}
	host, _ := os.Hostname() // an empty name is refused when it registers
	return host
}

func runCompute(ctx context.Context, p *process, r *config.Compute, c *cobra.Command) error {
	api, err := client.New(client.Config{URL: r.APIURL})
	if err != nil {
		return err
	}
	defer api.Close()
	l, err := net.Listen("tcp", r.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s := &compute.Service{
		API: api, Host: computeName(r), Interval: r.Interval, Settings: computeSettings(r), Log: p.log,
		Reread: func() (compute.Settings, error) { return rereadCompute(c) }, Changed: hangups(ctx, p),
		Started: func() { p.ready(baseURL(l.Addr()), func(context.Context) error { return nil }) },
	}
	s.Metrics = compute.NewMetrics(p.metrics, s)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serve(ctx, l, s.Handler(), r.ShutdownGrace) })
	g.Go(func() error { return s.Run(ctx) })
	return g.Wait()
}

func computeSettings(r *config.Compute) compute.Settings {
	return compute.Settings{Key: r.PartitionKey, Peers: r.PeerList}
}

// rereadCompute reads all settings again, from where they came from at the start. The others stay as they were.
func rereadCompute(c *cobra.Command) (compute.Settings, error) {
	again := &config.Compute{}
	if _, err := config.Load(again, c.Flags(), os.Environ()); err != nil {
		return compute.Settings{}, err
	}
	return computeSettings(again), nil
}

// hangups are the SIGHUPs of this process, until ctx ends.
func hangups(ctx context.Context, p *process) <-chan struct{} {
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
			p.log.Info("settings are read again", zap.String("signal", "SIGHUP"))
			select {
			case <-ctx.Done():
				return
			case out <- struct{}{}:
			}
		}
	}()
	return out
}

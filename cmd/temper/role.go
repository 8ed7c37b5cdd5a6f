package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/dev/devfile"
	"go.temper.dev/temper/internal/log"
	"go.temper.dev/temper/internal/metrics"
	"go.temper.dev/temper/internal/origin"
)

// process is what all roles share: a logger, metrics, and their health.
type process struct {
	log     *zap.Logger
	metrics *prometheus.Registry

	readyFile    string
	settingsFile string          // absolute; "" = the settings come from elsewhere
	listener     *metrics.Server // nil = it serves no metrics
	at           devfile.Ready   // where it serves
	healthy      atomic.Pointer[func(context.Context) error]
	told         atomic.Pointer[string] // the problem that away has logged last
}

// role is a long-running subcommand.
type role struct {
	name, short, long string
	settings          config.Role
	common            *config.Process // the part of settings that all roles have
	instance          func() string   // its name in logs; nil = none
	check             func() error    // of settings that package config knows nothing about; nil = none
	run               func(ctx context.Context, p *process) error
}

func (r role) command() *cobra.Command {
	var data, readyFile string
	c := &cobra.Command{
		Use: r.name, Short: r.short, Long: r.long, Args: cli.OnlySubcommands,
		RunE: func(c *cobra.Command, _ []string) error {
			environ := os.Environ()
			if data != "" && config.FilePath(c.Flags(), environ) == "" {
				if err := c.Flags().Set(config.ConfigFlag, filepath.Join(data, devfile.SettingsFile)); err != nil {
					return err
				}
			}
			return r.start(c, environ, readyFile)
		},
	}
	config.Flags(c.Flags(), r.settings)
	c.Flags().StringVar(&readyFile, "ready-file", "", "`file` to write the addresses to once it serves")
	if c.Flags().Lookup("data") == nil {
		c.Flags().StringVar(&data, "data", "", "`folder` of a temper dev to join; its settings are used")
	}
	return c
}

// start reads the settings, prints them and runs the role until it ends.
func (r role) start(c *cobra.Command, environ []string, readyFile string) error {
	settings, err := config.Load(r.settings, c.Flags(), environ, func() error {
		if r.check == nil {
			return nil
		}
		return r.check()
	})
	if err != nil {
		return fmt.Errorf("%s: settings:\n%w", r.name, err)
	}
	name := ""
	if r.instance != nil {
		name = r.instance()
	}
	logger, err := log.New(c.ErrOrStderr(), r.common.LogLevel, r.common.LogFormat, r.name, name)
	if err != nil {
		return err
	}
	limitMemory(logger)
	p := &process{log: logger, metrics: metrics.NewRegistry(), readyFile: readyFile}
	if path := config.FilePath(c.Flags(), environ); path != "" {
		if p.settingsFile, err = filepath.Abs(path); err != nil {
			return fmt.Errorf("find the settings file: %w", err)
		}
	}
	logger.Info("this process starts", zap.Any("settings", loggable(settings)))
	for _, key := range config.Allowed(r.settings) {
		logger.Warn(key + " is set: what this process says crosses the network without TLS")
	}
	p.unready(&api.Missing{Reason: "it is starting", Err: errors.New("starting")})
	var l net.Listener // nil = it serves no metrics
	if r.common.MetricsListen != "" {
		if l, err = p.listen(*r.common, r.common.MetricsListen); err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		p.at.MetricsURL = baseURL(*r.common, l.Addr()) + "/metrics"
	}
	guard := origin.NewGuard(r.common.MetricsListen, r.common.AllowedHosts)
	err = p.serveMetrics(c.Context(), l, guard, func(ctx context.Context) error {
		return within(ctx, r.common.ShutdownGrace, func(ctx context.Context) error { return r.run(ctx, p) })
	})
	if err != nil && !(c.Context().Err() != nil && errors.Is(err, context.Canceled)) {
		logger.Error("this process ends because of an error", zap.Error(err))
		return fmt.Errorf("%s: %w", r.name, err)
	}
	logger.Info("this process has stopped")
	return nil
}

// serveMetrics serves metrics and health on l, if it is not nil, while run runs. If l fails, nobody can see any more whether the
// role is healthy, so ctx of run ends, and that is its error.
func (p *process) serveMetrics(ctx context.Context, l net.Listener, guard *origin.Guard, run func(context.Context) error) error {
	if l == nil {
		return run(ctx)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	failed := make(chan error, 1)
	p.listener = metrics.Serve(l, guard, p.metrics, p.away, func(err error) {
		failed <- fmt.Errorf("serve metrics: %w", err)
		fail(err)
	})
	defer p.listener.Stop()
	err := run(ctx)
	select {
	case why := <-failed:
		if err == nil || errors.Is(err, context.Canceled) {
			return why
		}
		return errors.Join(why, err)
	default:
		return err
	}
}

// loggable returns the settings for the log: each value, and where it comes from if it is not the default.
func loggable(settings []config.Setting) map[string]string {
	lines := make(map[string]string, len(settings))
	for _, s := range settings {
		lines[s.Key] = s.Value
		if s.Source != "default" {
			lines[s.Key] += " (" + s.Source + ")"
		}
	}
	return lines
}

// within calls run, which must return when ctx ends. It is an error if that takes longer than grace.
func within(ctx context.Context, grace time.Duration, run func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(grace):
		return fmt.Errorf("did not stop within %s (shutdown_grace) and is cut off", grace)
	}
}

// ready says that the role serves, at url unless that is "". From now on healthy is its health check.
func (p *process) ready(url string, healthy func(context.Context) error) {
	p.healthy.Store(&healthy)
	at := p.at
	at.URL = url
	p.log.Info("this process is ready", zap.String("url", at.URL), zap.String("metrics_url", at.MetricsURL))
	if p.readyFile == "" {
		return
	}
	if err := devfile.WriteReady(p.readyFile, at); err != nil {
		p.log.Error("could not write the ready file", zap.Error(err))
	}
}

func (p *process) unready(why error) {
	f := func(context.Context) error { return why }
	p.healthy.Store(&f)
}

func (p *process) health(ctx context.Context) error { return (*p.healthy.Load())(ctx) }

// away returns what is wrong with the role's health, in sentences that unauthenticated clients may read. The error
// itself, which may contain addresses and user names, is only logged, and only when it changes.
func (p *process) away(ctx context.Context) []string {
	err := p.health(ctx)
	words := fmt.Sprint(err)
	if last := p.told.Swap(&words); err != nil && (last == nil || *last != words) {
		p.log.Warn("the health check fails", zap.Error(err))
	}
	return api.Reasons(err)
}

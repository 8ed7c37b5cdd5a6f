package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/buildinfo"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/worker"
)

func newAPICommand() *cobra.Command {
	r := &config.API{}
	return role{
		name: "api", short: "Serve the HTTP API", settings: r, common: &r.Process,
		run: func(ctx context.Context, p *process) error {
			return runAPI(ctx, p, r, apiKind{coverage.RoleAPI, (*process).apiDoors})
		},
	}.command()
}

// apiKind is what an API is for: clients and whoever else, or servers that boot by network.
type apiKind struct {
	role  coverage.Role
	doors func(*process, *config.API) ([]opened, error)
}

// runAPI listens at once. While PostgreSQL or Temporal is away, requests get 503.
func runAPI(ctx context.Context, p *process, r *config.API, kind apiKind) error {
	db, err := openStore(ctx, p, r.Database, r.Rules, r.Liveness, string(kind.role))
	if err != nil {
		return err
	}
	defer db.Close()
	temporal, err := worker.NewLazyClient(temporalOf(r.Temporal, "temper-api"), p.log)
	if err != nil {
		return err
	}
	defer temporal.Close()
	var schedule lateSchedule
	// Clients of an API on loopback are on this machine already, so letting them name
	// loopback addresses shows them nothing new.
	to, err := newOutbound(r.Reach, r.Rules, r.AllowLoopback || r.Loopback())
	if err != nil {
		return err
	}
	hardware, err := worker.NewHardware(node.HardwareTypes(), worker.HardwareConfig{
		BMC: bmc.Settings{RequestTimeout: r.BMCRequest, Reach: to.bmc, CADir: to.caDir}, Log: p.log,
	})
	if err != nil {
		return err
	}
	defer logout(ctx, hardware)
	dependencies := dependenciesOf(db, temporal, r.Temporal)
	policy := imagePolicy(r.Rules, to)
	images := image.NewResolver(policy, 0)
	defer images.Close()
	hooks, err := newWebhookSender(r.Webhooks, r.AllowLoopback || r.Loopback())
	if err != nil {
		return err
	}
	defer hooks.Close()
	var ramdisk *api.Ramdisk // nil = this API makes no CDs
	if r.Ramdisk != "" {
		if ramdisk, err = openRamdisk(r, to.image); err != nil {
			return err
		}
		defer func() { _ = ramdisk.Close() }() // it was only read
	}
	cache, err := openImageCache(r, policy, p.log.Named("images"))
	if err != nil {
		return err
	}
	defer func() { _ = cache.Close() }() // a download that ends here goes on in the next process
	auth, err := p.authOf(r, db)
	if err != nil {
		return err
	}
	proxies, err := config.Networks(r.Proxies)
	if err != nil {
		return err
	}
	server, err := api.New(api.Config{
		Store: db, Operations: wrapOperations(worker.Starter{Client: temporal, Namespace: r.Temporal.Namespace}), Drivers: hardware, Auth: auth,
		Listen: r.Listen, AllowedHosts: r.AllowedHosts, TrustedProxies: proxies,
		Log: p.log, Metrics: p.metrics, Ready: p.health, Ask: dependencies.Ask, Setup: schedule.Look, Version: buildinfo.Version(), Settings: p.settingsFile, Reconcile: schedule.Trigger, WorkflowURL: workflowURL(r.UIURL, r.Namespace), PublicURL: r.PublicURL,
		AutomatedClean: r.AutomatedClean, DedicatedNodes: r.DedicatedNodes, AutomaticLessee: r.AutomaticLessee, OwnNodes: r.OwnNodes, Images: policy, ProbeImage: image.NewProber(images).Probe, Webhooks: hooks,
		OnFailure: node.OnFailure(r.OnFailure), Safe: config.Safe(r.Liveness, r.Patience), HardwareDeadline: r.BMCRequest,
		ReconcileLate:  3*r.ReconcileInterval + reconcileSlack,
		NodeLockedWait: r.NodeLockedWait,
		EventStreams:   r.Following.Streams, EventStreamsPerUser: r.Following.PerUser,
		Agent: api.AgentSettings{Callback: to.callbacks}, Boot: r.Sites(), Ramdisk: ramdisk, ImageCache: cache.Cache, Discovery: r.Discovery,
	})
	if err != nil {
		return err
	}
	all, err := kind.doors(p, r)
	if err != nil {
		return err
	}
	p.warnOfPlainPasswords(r.Auth.ListenerAuth, r.Process, r.Listen)
	if r.Auth.Strategy == config.NoAuth && kind.role == coverage.RoleAPI {
		p.log.Warn("auth.strategy is noauth: everybody who reaches this address may do everything", zap.String("listen", r.Listen))
	}
	g, ctx := errgroup.WithContext(ctx)
	serveAPI(ctx, g, server, all, r)
	g.Go(func() error {
		if err := awaitDatabase(ctx, p, db); err != nil {
			return unlessDone(ctx, err)
		}
		witness := worker.Witness{Store: db, Timeout: r.ConductorHeartbeatTimeout, Log: p.log}
		g.Go(func() error { return witness.Run(ctx) })
		defer announce(ctx, p, db, kind.role, processName(), r.ConductorHeartbeatTimeout)()
		if err := reach(ctx, p, r, dependencies, temporal, &schedule, all[0].url); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
	g.Go(func() error { dependencies.Run(ctx, askEvery); return nil })
	return g.Wait()
}

// reach waits for Temporal. Then the API is ready.
func reach(ctx context.Context, p *process, r *config.API, d *worker.Dependencies, c client.Client, s *lateSchedule, at string) error {
	if err := awaitTemporal(ctx, p, c); err != nil {
		return unlessDone(ctx, err)
	}
	setup, closeSetup, err := setupOf(ctx, p, c, r.Temporal, r.Liveness, "temper-api")
	if err != nil {
		return unlessDone(ctx, err)
	}
	s.found.Store(&setup)
	context.AfterFunc(ctx, closeSetup)
	p.ready(at, healthOf(d))
	return nil
}

// unlessDone returns err, or nil if ctx has ended: then err only says that the process stops.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lateSchedule triggers reconciliations, and looks at what is in Temporal, once Temporal was reached. The client of their namespace
// can't be made before, because it shares the connection of another one.
type lateSchedule struct {
	found atomic.Pointer[worker.Setup]
}

func (s *lateSchedule) Trigger(ctx context.Context) error {
	if at := s.found.Load(); at != nil {
		return at.Trigger(ctx)
	}
	return fault.New(fault.Unavailable, "temporal was not reached yet")
}

// Look returns what differs in Temporal; nil if it is not known.
func (s *lateSchedule) Look(ctx context.Context) *status.Setup {
	if at := s.found.Load(); at != nil {
		return at.Look(ctx)
	}
	return nil
}

// workflowURL returns a function that gives an operation's page in Temporal's UI at base, or "" if base is empty.
func workflowURL(base, namespace string) func(*node.Operation) string {
	return func(o *node.Operation) string {
		if base == "" || o.WorkflowID == "" {
			return ""
		}
		at := strings.TrimSuffix(base, "/") + "/namespaces/" + url.PathEscape(namespace) + "/workflows/" + url.PathEscape(o.WorkflowID)
		if o.RunID != "" {
			at += "/" + url.PathEscape(o.RunID)
		}
		return at
	}
}

// serve answers on l until ctx ends. Then it calls stopping, and requests that are under
// way have three quarters of the grace time to end.
func serve(ctx context.Context, l net.Listener, h http.Handler, grace time.Duration, stopping ...func()) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	for _, f := range stopping {
		s.RegisterOnShutdown(f)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace*3/4)
	defer cancel()
	if err := s.Shutdown(stop); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off: %w", err), s.Close())
	}
	return nil
}

// baseURL returns the URL at which this machine reaches a listener.
func baseURL(c config.Process, a net.Addr) string {
	host, port, _ := net.SplitHostPort(a.String()) // of a listener, so it is one
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme(c) + "://" + net.JoinHostPort(host, port)
}

// reconcileSlack is how long, after three intervals, no reconciliation may end before the API says that it is late.
const reconcileSlack = 15 * time.Second

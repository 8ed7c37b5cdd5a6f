package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/buildinfo"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/origin"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/worker"
)

// healthTimeout limits one health check of PostgreSQL and Temporal, and one try to reach Temporal.
const healthTimeout = 3 * time.Second

// openStore returns the store of a role. It does not wait for the database.
func openStore(ctx context.Context, p *process, c config.Database, rules config.Rules, l config.Liveness, name string) (*store.Store, error) {
	return store.Open(ctx, store.Config{
		URL: c.URL, MaxConns: int32(c.MaxConns), ReadKeyset: func() (string, error) { return readKeyset(c) }, KeysetChanged: p.keysetChanged, ApplicationName: "temper " + name, //nolint:gosec // checked
		ConductorTimeout: l.ConductorHeartbeatTimeout, ConductorInterval: l.ConductorHeartbeatInterval,
		WithholdUnhealthy: rules.UnhealthyNodes == config.UnhealthyWithheld,
	})
}

// keysetChanged logs what came of a change of the keyset.
func (p *process) keysetChanged(err error) {
	if err != nil {
		p.log.Error("the keyset can't be read; the keys read before go on to be used", zap.Error(err))
		return
	}
	p.log.Info("the keyset was read again, because it has changed")
}

// readKeyset returns the keys that secrets are sealed with, as JSON.
func readKeyset(c config.Database) (string, error) {
	if c.KeysetFile == "" {
		return c.Keyset, nil
	}
	b, err := os.ReadFile(c.KeysetFile)
	if err != nil {
		return "", fmt.Errorf("read the keyset: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// awaitDatabase waits until the database answers and has the schema of this program. It fails at once if waiting can't help, as
// with a schema that is newer than the program.
func awaitDatabase(ctx context.Context, p *process, db *store.Store) error {
	_, err := connect(ctx, p, "postgresql", func(ctx context.Context) (struct{}, error) {
		err := db.Ready(ctx)
		if err != nil && !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Unreachable) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	})
	return err
}

func temporalOf(c config.Temporal, identity string) worker.Temporal {
	return worker.Temporal{
		Address: c.Address, Namespace: c.Namespace, TLSCert: c.TLSCert, TLSKey: c.TLSKey, TLSCA: c.TLSCA,
		TLSServerName: c.TLSServerName, Identity: identity,
		Interceptors: temporalInterceptors(),
	}
}

// dialTemporal waits until Temporal answers.
func dialTemporal(ctx context.Context, p *process, c config.Temporal, identity string) (client.Client, error) {
	return connect(ctx, p, "temporal", func(ctx context.Context) (client.Client, error) {
		ctx, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		return worker.Dial(ctx, temporalOf(c, identity), p.log)
	})
}

// awaitTemporal waits until Temporal answers a client that connects when it is used.
func awaitTemporal(ctx context.Context, p *process, c client.Client) error {
	_, err := connect(ctx, p, "temporal", func(ctx context.Context) (*client.CheckHealthResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		return c.CheckHealth(ctx, &client.CheckHealthRequest{})
	})
	return err
}

// setupOf returns what Temper has in Temporal. c is the client of the operations' namespace. closes closes the other client.
func setupOf(ctx context.Context, p *process, c client.Client, t config.Temporal, l config.Liveness, identity string) (s worker.Setup, closes func(), err error) {
	s = worker.Setup{Operations: worker.Place{Client: c, Namespace: t.Namespace}, Interval: l.ReconcileInterval}
	if t.ReconcileNamespace() == t.Namespace {
		return s, func() {}, nil
	}
	s.Own.Namespace = t.ReconcileNamespace()
	if s.Own.Client, err = worker.InNamespace(ctx, c, s.Own.Namespace, identity, p.log); err != nil {
		return s, nil, err
	}
	return s, s.Own.Client.Close, nil
}

// dependenciesOf returns who asks the database and Temporal how they are.
func dependenciesOf(db *store.Store, c client.Client, t config.Temporal) *worker.Dependencies {
	return &worker.Dependencies{PostgreSQL: db.Answers, Temporal: worker.TemporalVersion(c), PostgreSQLAddress: db.Address(), TemporalAddress: t.Address, TemporalPlain: !t.TLS() && !origin.Loopback(t.Address)}
}

// healthOf returns a check of the database and Temporal.
func healthOf(d *worker.Dependencies) func(context.Context) error {
	return func(ctx context.Context) error {
		answers := d.Ask(ctx)
		return errors.Join(missing("postgresql", answers.PostgreSQL), missing("temporal", answers.Temporal))
	}
}

// missing returns an error with a reason that unauthenticated clients may read; nil if what was asked is all right.
func missing(what string, a status.Answer) error {
	if a.Trouble == "" {
		return nil
	}
	return &api.Missing{Reason: a.Trouble, Err: fmt.Errorf("%s: %w", what, a.Err)}
}

func troubleOf(what string, err error) string {
	if what == "postgresql" {
		return worker.TroubleOfPostgreSQL(err)
	}
	return status.TemporalAway
}

// askEvery is how often an API asks PostgreSQL and Temporal how they are. So it knows since when one does not answer.
const askEvery = 5 * time.Second

// announce records until ctx ends, or the function that it returns is called, that this process runs.
func announce(ctx context.Context, p *process, db *store.Store, role coverage.Role, name string, timeout time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	presence := worker.Presence{
		Store: db, Process: coverage.Process{Role: role, Name: name, Version: buildinfo.Version()},
		Every: store.WitnessEvery(timeout), Now: time.Now, Log: p.log,
	}
	var running sync.WaitGroup
	running.Go(func() { presence.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// processName returns a name of this process that no other process has that runs.
func processName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// The pauses between tries to reach what a role needs.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second
)

// connect calls try until it succeeds, ctx ends, or it returns a backoff.Permanent error. It logs every failure.
func connect[T any](ctx context.Context, p *process, what string, try func(context.Context) (T, error)) (T, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, maxPause
	tries := 0
	got, err := backoff.Retry(ctx, func() (T, error) { return try(ctx) },
		backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, next time.Duration) {
			tries++
			p.unready(&api.Missing{Reason: troubleOf(what, err), Err: fmt.Errorf("wait for %s: %w", what, err)})
			p.log.Warn("waiting for "+what, zap.Int("tries", tries), zap.Duration("next", next), zap.Error(err))
		}))
	if err != nil {
		return got, fmt.Errorf("reach %s: %w", what, err)
	}
	if tries > 0 {
		p.log.Info(what+" answers", zap.Int("tries", tries))
	}
	return got, nil
}

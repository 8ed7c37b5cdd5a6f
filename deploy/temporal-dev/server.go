package main

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const clusterName = "active"

// historyShards is fixed for the life of a data folder. One: all of them would wait for the same SQLite connection, and
// each costs its own pollers.
const historyShards = 1

// server is the four Temporal services, started.
type server struct {
	inner    temporal.Server
	address  string
	lock     *os.File // held as long as the process lives; see openStore
	log      zap.AtomicLevel
	logLevel zapcore.Level // wanted while it serves
}

func startServer(o options) (*server, error) {
	lock, err := openStore(o.dataDir)
	if err != nil {
		return nil, err
	}
	if err := makeNamespace(o); err != nil {
		return nil, err
	}
	s := &server{address: o.listen.String(), lock: lock, log: zap.NewAtomicLevelAt(o.logLevel), logLevel: o.logLevel}
	logger := newLogger(s.log)
	s.hush(true)
	services := servicePorts(o.listen)
	s.inner, err = temporal.NewServer(
		temporal.WithConfig(serverConfig(o, services)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(services)),
		temporal.WithDynamicConfigClient(dynamicConfig),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("build temporal server: %w", err)
	}
	if err := s.inner.Start(); err != nil {
		return nil, fmt.Errorf("start temporal server: %w", err)
	}
	return s, nil
}

// hush suppresses warnings while the services start and stop. They warn then about services that are not there yet or any
// more, and about features that are left out on purpose. With a more verbose log level nothing is suppressed.
func (s *server) hush(on bool) {
	if on && s.logLevel == zapcore.WarnLevel {
		s.log.SetLevel(zapcore.ErrorLevel)
		return
	}
	s.log.SetLevel(s.logLevel)
}

// newLogger returns a logger without stack traces, which would hide the line that says what is wrong.
func newLogger(level zap.AtomicLevel) log.Logger {
	l := log.BuildZapLogger(log.Config{Level: level.String(), Format: "console"})
	return log.NewZapLogger(l.WithOptions(zap.IncreaseLevel(level), zap.AddStacktrace(zapcore.InvalidLevel)))
}

// stop reports whether the services stopped in time. Otherwise it leaves them running: the process is
// about to end, and a kill loses nothing (see storeConfig).
func (s *server) stop(within time.Duration) bool {
	s.hush(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.inner.Stop() // it logs what it could not do
	}()
	select {
	case <-done:
		return true
	case <-time.After(within):
		return false
	}
}

// servicePorts gives every service an address of its own, which the server requires. Clients only use the frontend's.
func servicePorts(frontend netip.AddrPort) map[primitives.ServiceName]netip.AddrPort {
	services := map[primitives.ServiceName]netip.AddrPort{primitives.FrontendService: frontend}
	for _, name := range []primitives.ServiceName{
		primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
	} {
		services[name] = netip.AddrPortFrom(frontend.Addr(), uint16(freeport.MustGetFreePort()))
	}
	return services
}

// staticHosts replaces the gossip protocol by which the members of a cluster find each other. Here there is one of
// each, and no membership ports are needed.
func staticHosts(services map[primitives.ServiceName]netip.AddrPort) map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts, len(services))
	for name, address := range services {
		hosts[name] = static.SingleLocalHost(address.String())
	}
	return hosts
}

func serverConfig(o options, services map[primitives.ServiceName]netip.AddrPort) *config.Config {
	off := config.ArchivalNamespaceDefaults{
		History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
		Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
	}
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     sqliteplugin.PluginName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: historyShards,
			DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: storeConfig(o.dataDir)}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: o.listen.String()},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            make(map[string]config.Service, len(services)),
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		PublicClient:      config.PublicClient{HostPort: o.listen.String()},
		NamespaceDefaults: config.NamespaceDefaults{Archival: off},
	}
	for name, address := range services {
		c.Services[string(name)] = config.Service{RPC: config.RPC{
			GRPCPort: int(address.Port()),
			BindOnIP: address.Addr().String(),
		}}
	}
	if o.metrics.IsValid() {
		c.Global.Metrics = &metrics.Config{
			Prometheus: &metrics.PrometheusConfig{ListenAddress: o.metrics.String(), HandlerPath: "/metrics"},
		}
	}
	return c
}

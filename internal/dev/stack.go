package dev

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/dev/devfile"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/store"
)

// The stages of the stack. The last stage is stopped first, so that conductors can hand over their steps while everything that
// they need still runs.
const (
	stageStorage = iota
	stageAPI
	stageRack
	stageOrchestrator
	stageConductor
)

// grace is how long a child may take to stop before it is killed. It is longer than the default of shutdown_grace.
const grace = 25 * time.Second

const database = "temper"

// Options say what runs.
type Options struct {
	config.Dev
	ConfigFile string   // settings for the roles; "" = none
	Temper     string   // the temper program
	Temporal   string   // the temporal-dev program
	Environ    []string // of the children
	// Say gets what happens, one line for people at a time.
	Say func(format string, args ...any)
}

// check refuses options that would make a late step of the start fail.
func (o Options) check() error {
	if o.Conductors == 0 && o.Enroll && o.Nodes > 0 {
		return fault.New(fault.Invalid, "enrolling nodes needs a conductor, and there is none with --conductors 0: have one, or say --enroll=false")
	}
	return nil
}

// Stack is all of Temper on one machine.
type Stack struct {
	o   Options
	dir *folder
	sup *Supervisor

	mu        sync.Mutex
	overrides map[string]any // settings of the roles that this stack sets, by key
	info      devfile.Info
	ready     bool // dev.json is there
}

// Run runs the stack until ctx ends, and then stops all of it. It calls ready once everything is ready.
func Run(ctx context.Context, o Options, ready func(devfile.Info)) error {
	if err := o.check(); err != nil {
		return err
	}
	dir, err := openFolder(o.Data)
	if err != nil {
		return err
	}
	defer func() { _ = dir.close() }() // it is only locked
	s := &Stack{o: o, dir: dir, overrides: map[string]any{}}
	s.sup = NewSupervisor(o.Restart, o.Say, s.changed)
	defer s.stop()
	if err := s.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	ready(s.snapshot())
	<-ctx.Done()
	return nil
}

func (s *Stack) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.checkDrivers, s.storage, s.api, s.workers, s.enroll} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return s.publish()
}

// stop removes dev.json before it stops the processes, because its content is only true while they run.
func (s *Stack) stop() {
	s.mu.Lock()
	s.ready = false
	err := s.dir.removeInfo()
	s.mu.Unlock()
	if err != nil {
		s.o.Say("%v", err)
	}
	s.o.Say("stopping all processes")
	s.sup.Stop()
}

func (s *Stack) publish() error {
	s.mu.Lock()
	s.ready = true
	s.mu.Unlock()
	s.sup.Refresh()
	_, err := devfile.ReadInfo(s.dir.infoFile())
	return err
}

// changed writes the running processes to dev.json.
func (s *Stack) changed(now []devfile.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return
	}
	s.info.Processes = now
	if err := devfile.WriteJSON(s.dir.infoFile(), 0o600, s.info); err != nil {
		s.o.Say("%v", err)
	}
}

// storage starts Temporal and, unless the user named a database, PostgreSQL. It brings the tables up to date.
func (s *Stack) storage(ctx context.Context) error {
	specs := []Spec{s.temporal()}
	if s.o.URL == "" {
		specs = append(specs, s.postgres())
	} else {
		s.update(func(i *devfile.Info) { i.DatabaseURL = s.o.URL })
	}
	if s.o.KeysetFile == "" && s.o.Keyset == "" {
		if err := s.dir.keyset(); err != nil {
			return err
		}
		s.override(map[string]any{"keyset_file": s.dir.keysetFile()})
	}
	if err := s.sup.Start(ctx, specs...); err != nil {
		return err
	}
	i := s.snapshot()
	err := store.Migrate(ctx, i.DatabaseURL)
	if errors.Is(err, store.ErrUnreleased) && s.o.URL == "" {
		return fmt.Errorf("the data in %s are of a Temper before its first release, which can't be upgraded: name another folder with --data, or remove this one", s.dir.path)
	}
	if err != nil {
		return fmt.Errorf("bring the tables up to date: %w", err)
	}
	s.override(map[string]any{
		"database_url": i.DatabaseURL, "temporal_address": i.TemporalAddress,
		"temporal_namespace": i.TemporalNamespace, "temporal_reconcile_namespace": i.TemporalReconcile, "temporal_ui_url": i.TemporalUIURL,
		// The rack's BMCs, images, agents and CA are on this machine.
		"allow_loopback": true, "agent_allow_loopback": true, "bmc_ca_dir": s.dir.in("rack"),
	})
	return nil
}

// reconcileNamespace returns the namespace of the reconciliations.
func reconcileNamespace(operations string) string {
	return config.Temporal{Namespace: operations}.ReconcileNamespace()
}

func (s *Stack) snapshot() devfile.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *Stack) update(what func(*devfile.Info)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.info)
}

// override sets settings of the roles that start from now on.
func (s *Stack) override(settings map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.overrides, settings)
}

func (s *Stack) environ() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return config.Without(s.o.Environ, s.overrides)
}

func (s *Stack) temporal() Spec {
	return Spec{Role: "temporal", Name: "temporal", Stage: stageStorage, Grace: grace, RestartHint: restartDev, Start: s.retryPort("temporal", func(ctx context.Context) (Child, error) {
		p, err := Command{
			Path: s.o.Temporal, Env: s.o.Environ, LogFile: s.dir.logFile("temporal"), ReadyFile: s.dir.readyFile("temporal"),
			Args: []string{
				"--data", s.dir.in("temporal"), "--listen", s.dir.listen("temporal", "127.0.0.1:0"),
				"--ui-listen", s.dir.listen("temporal ui", "127.0.0.1:0"), "--namespace", "temper",
				"--ready-file", s.dir.readyFile("temporal"),
			},
		}.Run(ctx)
		if err != nil {
			return nil, err
		}
		s.update(func(i *devfile.Info) {
			i.TemporalAddress, i.TemporalNamespace, i.TemporalUIURL = p.ready.Address, p.ready.Namespace, p.ready.UIURL
			i.TemporalReconcile = reconcileNamespace(p.ready.Namespace)
		})
		return p, s.remember(map[string]string{"temporal": p.ready.Address, "temporal ui": hostOf(p.ready.UIURL)})
	})}
}

// api starts the API. It is started before the other roles, because they must know its address.
func (s *Stack) api(ctx context.Context) error {
	if s.o.Ramdisk != "" {
		s.override(map[string]any{"ramdisk": s.o.Ramdisk})
	}
	if s.o.Machines == config.MachinesQEMU {
		// Beside other work the emulated timer may seem not to work.
		s.override(map[string]any{"allowed_hosts": []string{hostOfGuests}, "kernel_append_params": "no_timer_check"})
	}
	if err := s.writeSettings(); err != nil {
		return err
	}
	spec := s.role("api", "api", stageAPI, func() []string {
		listen := s.dir.listen("api", s.o.Listen)
		if s.o.Ramdisk == "" {
			return []string{"--listen", listen}
		}
		return []string{"--listen", listen, "--media-url", "http://" + listen, "--agent-url", s.agentURL(listen)}
	}, func(i *devfile.Info, r devfile.Ready) { i.APIURL = r.URL })
	if err := s.sup.Start(ctx, spec); err != nil {
		return err
	}
	api := s.snapshot().APIURL
	s.override(map[string]any{"api_url": api})
	if s.o.Ramdisk != "" {
		s.override(map[string]any{"media_url": api, "agent_url": s.agentURL(hostOf(api))})
	}
	return s.writeSettings()
}

// hostOfGuests is this machine, as its virtual machines see it behind QEMU's own network.
const hostOfGuests = "10.0.2.2"

// agentURL is where the servers of the rack reach an API that listens at an address.
func (s *Stack) agentURL(listen string) string {
	if _, port, err := net.SplitHostPort(listen); err == nil && s.o.Machines == config.MachinesQEMU {
		listen = net.JoinHostPort(hostOfGuests, port)
	}
	return "http://" + listen
}

// workers starts the rack, the orchestrator, the conductors and the compute services.
func (s *Stack) workers(ctx context.Context) error {
	rack := s.role("rack", "rack", stageRack, func() []string {
		return []string{
			"--listen", s.dir.listen("rack", "127.0.0.1:0"), "--servers", strconv.Itoa(onRack(s.share())),
			"--seed", strconv.FormatInt(s.o.Seed, 10), "--bmc-latency", s.o.BMCLatency.String(), "--data", s.dir.in("rack"),
			"--persona", strings.Join(s.o.Personas, ","), "--machines", s.o.Machines, "--firmware", s.o.Firmware,
		}
	}, func(i *devfile.Info, r devfile.Ready) { i.RackURL = r.URL })
	specs := []Spec{rack, s.role("orchestrator", "orchestrator", stageOrchestrator, nil, nil)}
	for i := range s.o.Conductors {
		specs = append(specs, s.conductor(i))
	}
	for i := range s.o.Computes {
		specs = append(specs, s.compute(i))
	}
	return s.sup.Start(ctx, specs...)
}

// conductor returns conductor number i.
func (s *Stack) conductor(i int) Spec {
	name := fmt.Sprintf("conductor-%d", i+1)
	return s.role("conductor", name, stageConductor, func() []string {
		return []string{
			"--name", name, "--conductor-group", s.group(i), "--enabled-drivers", strings.Join(s.o.Drivers, ","),
		}
	}, nil)
}

// compute returns compute service number i.
func (s *Stack) compute(i int) Spec {
	name := fmt.Sprintf("compute-%d", i+1)
	return s.role("compute", name, stageConductor, func() []string {
		return []string{"--host", name, "--listen", s.dir.listen(name, "127.0.0.1:0")}
	}, nil)
}

// group returns the conductor group of conductor or node number i.
func (s *Stack) group(i int) string {
	if len(s.o.Groups) == 0 {
		return ""
	}
	return s.o.Groups[i%len(s.o.Groups)]
}

// role returns a subcommand of temper as a child. args is called at every start; found gets where the child serves.
func (s *Stack) role(role, name string, stage int, args func() []string, found func(*devfile.Info, devfile.Ready)) Spec {
	again := func() string {
		if args == nil {
			return s.restartCommand(role, nil)
		}
		return s.restartCommand(role, args())
	}
	return Spec{Role: role, Name: name, Stage: stage, Grace: grace, RestartHint: again, Start: s.retryPort(name, func(ctx context.Context) (Child, error) {
		metrics := name + " metrics"
		all := []string{
			role, "--config", s.dir.settingsFile(), "--metrics-listen", s.dir.listen(metrics, "127.0.0.1:0"),
			"--ready-file", s.dir.readyFile(name),
		}
		if args != nil {
			all = append(all, args()...)
		}
		p, err := Command{
			Path: s.o.Temper, Args: all, Env: s.environ(), LogFile: s.dir.logFile(name),
			ReadyFile: s.dir.readyFile(name),
		}.Run(ctx)
		if err != nil {
			return nil, err
		}
		if found != nil {
			s.update(func(i *devfile.Info) { found(i, p.ready) })
		}
		return p, s.remember(map[string]string{name: hostOf(p.ready.URL), metrics: hostOf(p.ready.MetricsURL)})
	})}
}

// startTries is how often a child is started if its address is taken.
const startTries = 5

// retryPort returns a start that is repeated with another address if another program listens on the first one: that can
// happen between choosing a free address and listening on it.
func (s *Stack) retryPort(name string, start func(context.Context) (Child, error)) func(context.Context) (Child, error) {
	return func(ctx context.Context) (Child, error) {
		for try := 1; ; try++ {
			c, err := start(ctx)
			var taken *takenError
			if !errors.As(err, &taken) || try == startTries || ctx.Err() != nil || !s.dir.markTaken(taken.address) {
				return c, err
			}
			s.o.Say("another program listens on %s; starting %s on another port", taken.address, name)
		}
	}
}

func (s *Stack) remember(addresses map[string]string) error {
	for what, address := range addresses {
		if err := s.dir.remember(what, address); err != nil {
			return err
		}
	}
	return nil
}

// writeSettings writes the file that all roles of this stack read.
func (s *Stack) writeSettings() error {
	s.mu.Lock()
	body, err := config.Derive(s.o.ConfigFile, s.overrides)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	head := "# The settings of this stack's roles: temper conductor --config THIS --name NAME joins it.\n"
	return devfile.Write(s.dir.settingsFile(), 0o600, append([]byte(head), body...))
}

// share returns how many nodes each driver gets.
func (s *Stack) share() map[string]int {
	of := map[string]int{}
	for i := range s.o.Nodes {
		of[s.o.Drivers[i%len(s.o.Drivers)]]++
	}
	return of
}

// hostOf returns host:port of a URL, or "" if it has none.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	if _, _, err := net.SplitHostPort(host); err != nil {
		return ""
	}
	return host
}

// Programs returns the paths of the programs of the stack. They are in the folder of the running program.
func Programs() (temper, temporal string, err error) {
	if temper, err = os.Executable(); err != nil {
		return "", "", fmt.Errorf("find the program that runs: %w", err)
	}
	temporal = strings.TrimSuffix(temper, "temper") + "temporal-dev"
	if _, err := os.Stat(temporal); err != nil {
		return "", "", fmt.Errorf("find temporal-dev beside %s (make build makes both): %w", temper, err)
	}
	return temper, temporal, nil
}

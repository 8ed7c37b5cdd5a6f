// Command temporal-dev is a Temporal for one machine: server, web UI and a SQLite file in one process.
// It listens on loopback only. Production needs a Temporal cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/testing/freeport"
	"go.uber.org/zap/zapcore"
)

// stopWithin bounds an orderly stop. It may be short, because a kill loses nothing either (see storeConfig).
const stopWithin = 4 * time.Second

// gcPercent lets the heap grow further between collections than Go's default. Measured with 1,600 workflows of three
// activities: a tenth less CPU, for 600 instead of 370 MB resident. GOGC in the environment overrides it.
const gcPercent = 300

// version and commit are set by the linker in releases (deploy/release.sh).
var version, commit = "(devel)", "unknown"

// options is the command line, checked.
type options struct {
	dataDir   string
	listen    netip.AddrPort // frontend; port is never 0 once parsed
	ui        netip.AddrPort // zero means no web UI
	metrics   netip.AddrPort // zero means no metrics, which costs the least
	namespace string
	readyFile string // empty means none
	logLevel  zapcore.Level
	version   bool // to print, and nothing else
}

func main() {
	opts, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "temporal-dev:", err)
		os.Exit(2)
	}
	if opts.version {
		fmt.Printf("temporal-dev %s, commit %s, Temporal %s\n", version, commit, headers.ServerVersion)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "temporal-dev:", err)
		os.Exit(1)
	}
}

func parseOptions(args []string) (options, error) {
	var o options
	var listen, ui, metrics string
	fs := flag.NewFlagSet("temporal-dev", flag.ContinueOnError)
	fs.StringVar(&o.dataDir, "data", "", "`folder` of the SQLite file; made if absent, kept over restarts (required)")
	fs.StringVar(&listen, "listen", "127.0.0.1:0", "loopback `address` of the gRPC frontend; port 0 is a free one")
	fs.StringVar(&ui, "ui-listen", "127.0.0.1:0", "loopback `address` of the web UI; empty for none")
	fs.StringVar(&metrics, "metrics-listen", "", "loopback `address` of Prometheus metrics at /metrics; empty for none")
	fs.StringVar(&o.namespace, "namespace", "temper", "`namespace` to make at start")
	fs.StringVar(&o.readyFile, "ready-file", "", "`file` to write {address, namespace, ui_url} to once it serves")
	fs.TextVar(&o.logLevel, "log-level", zapcore.WarnLevel, "lowest `level` to log: debug, info, warn or error")
	fs.BoolVar(&o.version, "version", false, "print the version, the commit and the version of Temporal")
	if err := fs.Parse(args); err != nil {
		return options{}, err
	}
	if o.version {
		return o, nil
	}
	if fs.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.dataDir == "" {
		return options{}, errors.New("--data is required")
	}
	if o.namespace == "" {
		return options{}, errors.New("--namespace must not be empty")
	}
	var err error
	if o.listen, err = loopback("--listen", listen); err != nil {
		return options{}, err
	}
	if !o.listen.IsValid() {
		return options{}, errors.New("--listen must not be empty")
	}
	if o.ui, err = loopback("--ui-listen", ui); err != nil {
		return options{}, err
	}
	if o.metrics, err = loopback("--metrics-listen", metrics); err != nil {
		return options{}, err
	}
	return o, nil
}

// loopback reads an address that only this machine can reach, and puts a free port where it says 0.
// The server has no authentication here, so any other address is refused.
func loopback(name, s string) (netip.AddrPort, error) {
	if s == "" {
		return netip.AddrPort{}, nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%s %q: %w", name, s, err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	a, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%s %q: %w", name, s, err)
	}
	if !a.Addr().IsLoopback() {
		return netip.AddrPort{}, fmt.Errorf("%s %q is not a loopback address", name, s)
	}
	if a.Port() == 0 {
		a = netip.AddrPortFrom(a.Addr(), uint16(freeport.MustGetFreePort()))
	}
	return a, nil
}

// checkFree refuses addresses on which another process listens already. Without this check Temporal's server or its UI
// would find that out, and end the process.
func (o options) checkFree() error {
	for _, a := range []netip.AddrPort{o.listen, o.ui, o.metrics} {
		if !a.IsValid() {
			continue
		}
		l, err := net.Listen("tcp", a.String())
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// run serves until ctx is done.
func run(ctx context.Context, o options) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if err := removeReadyFile(o.readyFile); err != nil {
		return err
	}
	if err := o.checkFree(); err != nil {
		return err
	}
	s, err := startServer(o)
	if err != nil {
		return err
	}
	if err := announce(ctx, s, o); err != nil {
		s.stop(stopWithin)
		if ctx.Err() != nil {
			return nil // it was stopped before it served
		}
		return err
	}

	<-ctx.Done()
	if err := removeReadyFile(o.readyFile); err != nil {
		fmt.Fprintln(os.Stderr, "temporal-dev:", err)
	}
	if !s.stop(stopWithin) {
		fmt.Fprintf(os.Stderr, "temporal-dev: not stopped after %s, leaving as it is\n", stopWithin)
	}
	return nil
}

// announce waits until everything serves, and then writes the ready file and a line to stderr.
func announce(ctx context.Context, s *server, o options) error {
	if err := s.waitUntilServing(ctx, o.namespace); err != nil {
		return err
	}
	r := ready{Address: o.listen.String(), Namespace: o.namespace}
	if o.ui.IsValid() {
		if err := startUI(ctx, o); err != nil {
			return err
		}
		r.UIURL = "http://" + o.ui.String()
	}
	if o.metrics.IsValid() {
		r.MetricsURL = "http://" + o.metrics.String() + "/metrics"
	}
	if err := r.write(o.readyFile); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "temporal-dev: serving %s, namespace %s, ui %s\n", r.Address, r.Namespace, r.UIURL)
	return nil
}

package sim

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temper.dev/temper/internal/origin"
	"go.temper.dev/temper/internal/sim/machine"
)

// stopWithin bounds how long the end waits for requests under way.
const stopWithin = 2 * time.Second

// Run is a rack from its settings to its end: it listens, tells ready its URL,
// and serves until ctx is over.
func Run(ctx context.Context, cfg Config, ready func(url string)) error {
	r, err := New(cfg)
	if err != nil {
		return err
	}
	l, err := bind(r.store.rack.Addresses.Control, r.cfg.Listen)
	if err != nil {
		r.discard()
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-r.Ready():
			ready(r.URL())
		case <-ended:
		}
	}()
	return r.Serve(ctx, l)
}

// Serve answers on l, and on listeners of its own for agents and what the
// settings ask for, until ctx is over. Then every server's state is saved.
// A rack serves once.
func (r *Rack) Serve(ctx context.Context, l net.Listener) error {
	group := &servers{log: r.cfg.Log, failed: make(chan error, 1)}
	err := r.open(group, l)
	if err == nil {
		r.restore()
		group.start()
		saving, stopSaving := context.WithCancel(context.Background()) // outlives ctx: the last changes come at the end
		saved := make(chan struct{})
		go func() { r.store.run(saving, r.cfg.Log); close(saved) }()
		close(r.ready)
		select {
		case <-ctx.Done():
		case err = <-group.failed:
		}
		r.halt()
		group.stop(stopWithin)
		stopSaving()
		<-saved
	} else {
		group.stop(0)
		_ = l.Close() // it may not have been taken over yet
	}
	r.discard()
	if err != nil {
		return fmt.Errorf("serve rack: %w", err)
	}
	return nil
}

// discard removes what was only for this process.
func (r *Rack) discard() {
	if r.temp {
		_ = os.RemoveAll(r.dir) // a leftover in the system's temporary folder harms nobody
	}
}

// halt ends all agents; each of a thousand may have a request to give up.
func (r *Rack) halt() {
	var g sync.WaitGroup
	for _, s := range r.servers {
		g.Go(s.Halt)
		if s.Counts() != (machine.Counts{}) {
			r.store.mark(s) // counters alone mark nothing
		}
	}
	g.Wait()
}

// open starts all listeners.
func (r *Rack) open(group *servers, main net.Listener) error {
	last := r.store.rack.Addresses
	agents, err := otherPort(main, last.Agents)
	if err != nil {
		return err
	}
	cert, pem, err := r.store.agentCertificate(r.host(agents))
	if err != nil {
		return err
	}
	r.addr.agents = "https://" + r.host(agents) + "/agent"
	now := recorded{Control: main.Addr().String(), Agents: agents.Addr().String()}
	r.fleet.Advertise(r.addr.agents, pem)
	r.addr.control = "http://" + r.host(main)
	if err := r.openBMCs(group, main, &now); err != nil {
		return err
	}
	group.add(agents, http.HandlerFunc(r.serveAgent), &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	guard := origin.NewGuard(main.Addr().String(), append(slices.Clone(r.cfg.AllowedHosts), r.cfg.Host))
	group.add(main, guard.Handler(r.control()), nil)
	return r.store.record(now)
}

// openBMCs decides where the BMCs are: paths of the main listener, paths of a
// listener with TLS, or addresses of their own.
func (r *Rack) openBMCs(group *servers, main net.Listener, now *recorded) error {
	r.addr.bmc = r.addr.control
	scheme, t := "http", (*tls.Config)(nil)
	if r.cfg.TLS {
		ca, err := r.store.authority()
		if err != nil {
			return err
		}
		scheme, t = "https", &tls.Config{GetCertificate: ca.forListener(r.cfg.Host), MinVersion: tls.VersionTLS12}
	}
	if r.cfg.PerServerAddress {
		urls, err := r.listenPerServer(group, main, t, scheme)
		if err != nil {
			return err
		}
		r.addr.perBMC, now.PerBMC = urls, map[string]string{}
		for name, u := range urls {
			now.PerBMC[name] = strings.TrimPrefix(u, scheme+"://")
		}
		return nil
	}
	if t != nil {
		l, err := otherPort(main, r.store.rack.Addresses.BMC)
		if err != nil {
			return err
		}
		r.addr.bmc, now.BMC = "https://"+r.host(l), l.Addr().String()
		group.add(l, http.HandlerFunc(r.serveBMC), t)
	}
	return nil
}

// restore gives the servers the state of the last start.
func (r *Rack) restore() {
	for _, s := range r.servers {
		if st := r.store.load(s.Name); st != nil {
			s.Restore(*st)
		}
	}
}

// split takes "/prefix/NAME/rest" apart.
func split(path, prefix string) (name, rest string) {
	name, rest, _ = strings.Cut(strings.TrimPrefix(path, prefix), "/")
	return name, "/" + rest
}

func (r *Rack) serveBMC(w http.ResponseWriter, q *http.Request) {
	name, rest := split(q.URL.Path, "/bmc/")
	s := r.byName[name]
	if s == nil {
		http.NotFound(w, q)
		return
	}
	r.bmcAt(s).ServeHTTP(w, at(q, rest))
}

func (r *Rack) serveAgent(w http.ResponseWriter, q *http.Request) {
	name, rest := split(q.URL.Path, "/agent/")
	r.fleet.Serve(w, at(q, rest), name)
}

// at is q with another path.
func at(q *http.Request, path string) *http.Request {
	out := q.Clone(q.Context())
	out.URL.Path, out.URL.RawPath = path, ""
	return out
}

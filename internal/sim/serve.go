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

// stopWithin is how long a stop waits for requests that are under way.
const stopWithin = 2 * time.Second

// Run creates a rack, listens, calls ready with the rack's URL, and serves until ctx ends.
func Run(ctx context.Context, cfg Config, ready func(url string)) error {
	r, err := New(cfg)
	if err != nil {
		return err
	}
	l, err := listenAgain(r.store.rack.Addresses.Control, r.cfg.Listen)
	if err != nil {
		r.removeTempDir()
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

// Serve answers on l, and on further listeners for the agents and the BMCs, until ctx
// ends. Then it saves the state of every server. It may be called once.
func (r *Rack) Serve(ctx context.Context, l net.Listener) error {
	group := &serverGroup{log: r.cfg.Log, failed: make(chan error, 1)}
	err := r.listen(group, l)
	defer r.closeIPMI()
	if err == nil {
		r.restore()
		group.start()
		r.startIPMI()
		saving, stopSaving := context.WithCancel(context.Background()) // outlives ctx, because stopping still changes servers
		saved := make(chan struct{})
		go func() { r.store.run(saving, r.cfg.Log); close(saved) }()
		close(r.ready)
		select {
		case <-ctx.Done():
		case err = <-group.failed:
		}
		r.haltServers()
		group.stop(stopWithin)
		stopSaving()
		<-saved
	} else {
		group.stop(0)
		_ = l.Close() // group may not have it yet
	}
	r.removeTempDir()
	if err != nil {
		return fmt.Errorf("serve rack: %w", err)
	}
	return nil
}

// removeTempDir removes the folder if it is a temporary one.
func (r *Rack) removeTempDir() {
	if r.tempDir {
		_ = os.RemoveAll(r.dir) // what is left over is in the system's temporary folder
	}
}

// haltServers stops all agents, all at once: each may have a request to give up.
func (r *Rack) haltServers() {
	var g sync.WaitGroup
	for _, s := range r.servers {
		g.Go(s.Halt)
		if s.Counts() != (machine.Counts{}) {
			r.store.markDirty(s) // a change of a counter does not mark the server
		}
	}
	g.Wait()
}

// listen starts all listeners.
func (r *Rack) listen(group *serverGroup, main net.Listener) error {
	last := r.store.rack.Addresses
	agents, err := listenBeside(main, last.Agents)
	if err != nil {
		return err
	}
	cert, pem, err := r.store.agentCertificate(r.host(agents))
	if err != nil {
		return err
	}
	r.addr.agents = "https://" + r.host(agents) + "/agent"
	now := savedAddresses{Control: main.Addr().String(), Agents: agents.Addr().String()}
	r.fleet.Advertise(r.addr.agents, pem)
	r.addr.control = "http://" + r.host(main)
	if err := r.listenBMCs(group, main, &now); err != nil {
		return err
	}
	if err := r.listenIPMI(agents, &now); err != nil {
		return err
	}
	group.add(agents, http.HandlerFunc(r.serveAgent), &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	guard := origin.NewGuard(main.Addr().String(), append(slices.Clone(r.cfg.AllowedHosts), r.cfg.Host))
	group.add(main, guard.Handler(r.controlAPI()), nil)
	return r.store.saveAddresses(now)
}

// listenBMCs listens for the BMCs as the settings say: they are paths of the main
// listener, paths of a listener with TLS, or have addresses of their own.
func (r *Rack) listenBMCs(group *serverGroup, main net.Listener, now *savedAddresses) error {
	r.addr.bmc = r.addr.control
	scheme, t := "http", (*tls.Config)(nil)
	if r.cfg.TLS {
		ca, err := r.store.authority()
		if err != nil {
			return err
		}
		scheme, t = "https", &tls.Config{GetCertificate: ca.getCertificate(r.cfg.Host), MinVersion: tls.VersionTLS12}
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
		l, err := listenBeside(main, r.store.rack.Addresses.BMC)
		if err != nil {
			return err
		}
		r.addr.bmc, now.BMC = "https://"+r.host(l), l.Addr().String()
		group.add(l, http.HandlerFunc(r.serveBMC), t)
	}
	return nil
}

// restore restores the state that the servers had when the last process ended.
func (r *Rack) restore() {
	for _, s := range r.servers {
		if st := r.store.load(s.Name); st != nil {
			s.Restore(*st)
		}
	}
}

// splitName splits a path "PREFIX/NAME/rest" into NAME and "/rest".
func splitName(path, prefix string) (name, rest string) {
	name, rest, _ = strings.Cut(strings.TrimPrefix(path, prefix), "/")
	return name, "/" + rest
}

func (r *Rack) serveBMC(w http.ResponseWriter, q *http.Request) {
	name, rest := splitName(q.URL.Path, "/bmc/")
	s := r.byName[name]
	if s == nil {
		http.NotFound(w, q)
		return
	}
	r.bmcHandler(s).ServeHTTP(w, withPath(q, rest))
}

func (r *Rack) serveAgent(w http.ResponseWriter, q *http.Request) {
	name, rest := splitName(q.URL.Path, "/agent/")
	r.fleet.Serve(w, withPath(q, rest), name)
}

// withPath returns a copy of q with another path.
func withPath(q *http.Request, path string) *http.Request {
	out := q.Clone(q.Context())
	out.URL.Path, out.URL.RawPath = path, ""
	return out
}

package sim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/sim/machine"
)

var dialer = net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}

// addresses has the base URLs of a running rack.
type addresses struct {
	control string            // listing and images
	bmc     string            // of the BMCs' prefix paths
	perBMC  map[string]string // by server, where each has an address of its own
	agents  string

	ipmiHost  string
	ipmiPorts map[string]int // by server
}

func (a addresses) bmcURL(name string) string {
	if u, ok := a.perBMC[name]; ok {
		return u
	}
	return a.bmc + "/bmc/" + name
}

// savedAddresses are the addresses of the rack's last start. It listens there again, so
// that nodes that were enrolled then can still be reached.
type savedAddresses struct {
	Control string            `json:"control"`
	BMC     string            `json:"bmc,omitempty"`
	Agents  string            `json:"agents"`
	PerBMC  map[string]string `json:"per_bmc,omitempty"`
	IPMI    map[string]int    `json:"ipmi,omitempty"` // ports
}

// listenAgain listens on the address of the last start if it fits wanted, else on wanted.
func listenAgain(last, wanted string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(wanted)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", wanted, err)
	}
	if h, _, err := net.SplitHostPort(last); err != nil || h != host || port != "0" {
		last = ""
	}
	return listenFirst(last, wanted)
}

// listenFirst listens on the first of the addresses that is free. It skips empty ones.
func listenFirst(addresses ...string) (l net.Listener, err error) {
	for _, a := range addresses {
		if a == "" {
			continue
		}
		if l, err = net.Listen("tcp", a); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// serverGroup is a group of HTTP servers that start and stop together.
type serverGroup struct {
	log       *zap.Logger
	servers   []*http.Server
	listeners []net.Listener
	failed    chan error
}

// add adds a server for l, which start will start.
func (s *serverGroup) add(l net.Listener, h http.Handler, t *tls.Config) {
	if t != nil {
		l = tls.NewListener(l, t)
	}
	s.listeners = append(s.listeners, l)
	s.servers = append(s.servers, &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: zap.NewStdLog(s.log.Named("http")),
		// HTTP/1.1 only, as with real BMCs and agents; to reset a connection it must be taken over.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	})
}

func (s *serverGroup) start() {
	for i, srv := range s.servers {
		go func() {
			if err := srv.Serve(s.listeners[i]); !errors.Is(err, http.ErrServerClosed) {
				select {
				case s.failed <- err:
				default: // another server has failed already
				}
			}
		}()
	}
}

// stop stops the servers. Requests may take until within, and are cut off then.
func (s *serverGroup) stop(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var g sync.WaitGroup
	for i, srv := range s.servers {
		g.Go(func() {
			if srv.Shutdown(ctx) != nil {
				_ = srv.Close() // Shutdown ran out of time
			}
			_ = s.listeners[i].Close() // Shutdown has closed it if it was served
		})
	}
	g.Wait()
}

// host returns host and port by which clients reach the listener.
func (r *Rack) host(l net.Listener) string {
	host, port, _ := net.SplitHostPort(l.Addr().String()) // a TCP listener has both
	switch ip := net.ParseIP(host); {
	case r.cfg.Host != "":
		host = r.cfg.Host
	case ip != nil && ip.IsUnspecified():
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// listenBeside listens on the host of main and a port of its own.
func listenBeside(main net.Listener, last string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(main.Addr().String())
	if err != nil {
		return nil, err
	}
	return listenAgain(last, net.JoinHostPort(host, "0"))
}

// listenPerServer listens on an address for each BMC. The port is that of the main
// listener if it is free, so that the address can be guessed, else any.
func (r *Rack) listenPerServer(group *serverGroup, main net.Listener, t *tls.Config, scheme string) (map[string]string, error) {
	_, port, err := net.SplitHostPort(main.Addr().String())
	if err != nil {
		return nil, err
	}
	last := r.store.rack.Addresses.PerBMC
	urls := map[string]string{}
	for _, s := range r.servers {
		n := s.Index() + 1
		host := "127.100." + strconv.Itoa(n>>8) + "." + strconv.Itoa(n&255)
		l, err := listenFirst(last[s.Name], net.JoinHostPort(host, port), net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, fmt.Errorf("address of %s: %w", s.Name, err)
		}
		group.add(l, r.bmcHandler(s), t)
		urls[s.Name] = scheme + "://" + l.Addr().String()
	}
	return urls, nil
}

func (r *Rack) bmcHandler(s *machine.Server) http.Handler {
	return r.metrics.count(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.redfish.Serve(w, q, s) }))
}

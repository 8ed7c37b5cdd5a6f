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

// addresses are the base URLs of a running rack.
type addresses struct {
	control string            // listing and images
	bmc     string            // of the BMCs' prefix paths
	perBMC  map[string]string // by server, where each has an address of its own
	agents  string
}

func (a addresses) bmcOf(name string) string {
	if u, ok := a.perBMC[name]; ok {
		return u
	}
	return a.bmc + "/bmc/" + name
}

// recorded are the addresses of the last start, so that what was enrolled
// then is still right.
type recorded struct {
	Control string            `json:"control"`
	BMC     string            `json:"bmc,omitempty"`
	Agents  string            `json:"agents"`
	PerBMC  map[string]string `json:"per_bmc,omitempty"`
}

// bind listens at the address of the last start, else at wanted.
func bind(last, wanted string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(wanted)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", wanted, err)
	}
	if h, _, err := net.SplitHostPort(last); err != nil || h != host || port != "0" {
		last = ""
	}
	return firstFree(last, wanted)
}

// firstFree listens at the first of the addresses that can be had; "" is none.
func firstFree(addresses ...string) (l net.Listener, err error) {
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

// servers is a group of HTTP servers that begin and end together.
type servers struct {
	log    *zap.Logger
	all    []*http.Server
	on     []net.Listener
	failed chan error
}

// add takes l over; it is served from start on.
func (s *servers) add(l net.Listener, h http.Handler, t *tls.Config) {
	if t != nil {
		l = tls.NewListener(l, t)
	}
	s.on = append(s.on, l)
	s.all = append(s.all, &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: zap.NewStdLog(s.log.Named("http")),
		// A simulated BMC or agent speaks HTTP/1.1 only, as real ones do; resets need its connection.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	})
}

func (s *servers) start() {
	for i, srv := range s.all {
		go func() {
			if err := srv.Serve(s.on[i]); !errors.Is(err, http.ErrServerClosed) {
				select {
				case s.failed <- err:
				default: // one reason to end is enough
				}
			}
		}()
	}
}

// stop ends them: what runs may finish within the time given, and is cut off then.
func (s *servers) stop(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var g sync.WaitGroup
	for i, srv := range s.all {
		g.Go(func() {
			if srv.Shutdown(ctx) != nil {
				_ = srv.Close() // nothing more can be done for its connections
			}
			_ = s.on[i].Close() // closed already where it was served
		})
	}
	g.Wait()
}

// host is the listener's host as clients reach it.
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

// otherPort is a listener beside main: same host, any port.
func otherPort(main net.Listener, last string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(main.Addr().String())
	if err != nil {
		return nil, err
	}
	return bind(last, net.JoinHostPort(host, "0"))
}

// listenPerServer gives each BMC an address: the main listener's port where it
// is free, so that it is known without looking, else any.
func (r *Rack) listenPerServer(group *servers, main net.Listener, t *tls.Config, scheme string) (map[string]string, error) {
	_, port, err := net.SplitHostPort(main.Addr().String())
	if err != nil {
		return nil, err
	}
	last := r.store.rack.Addresses.PerBMC
	urls := map[string]string{}
	for _, s := range r.servers {
		n := s.Index() + 1
		host := "127.100." + strconv.Itoa(n>>8) + "." + strconv.Itoa(n&255)
		l, err := firstFree(last[s.Name], net.JoinHostPort(host, port), net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, fmt.Errorf("address of %s: %w", s.Name, err)
		}
		group.add(l, r.bmcAt(s), t)
		urls[s.Name] = scheme + "://" + l.Addr().String()
	}
	return urls, nil
}

func (r *Rack) bmcAt(s *machine.Server) http.Handler {
	return r.metrics.count(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.redfish.Serve(w, q, s) }))
}

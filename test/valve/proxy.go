package valve

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"
)

// Proxy is an HTTP proxy behind a valve: with it a test cuts one process off from all servers that it reaches through
// the proxy, such as the BMCs of a conductor with the setting bmc_proxy.
type Proxy struct {
	*Valve
	server *http.Server

	mu    sync.Mutex
	asked map[string]time.Time // URL of plain HTTP -> when it was asked for last
}

// Asked returns when a URL with this prefix was last requested over plain HTTP; zero = never.
func (p *Proxy) Asked(prefix string) (last time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for u, at := range p.asked {
		if strings.HasPrefix(u, prefix) && at.After(last) {
			last = at
		}
	}
	return last
}

func (p *Proxy) note(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[r.URL.String()] = time.Now()
}

// NewProxy makes a proxy that is open.
func NewProxy() (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v, err := New(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	plain := &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		ErrorLog: log.New(io.Discard, "", 0), // lost connections are the purpose of a valve
	}
	p := &Proxy{Valve: v, asked: map[string]time.Time{}}
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			tunnel(w, r)
			return
		}
		p.note(r)
		plain.ServeHTTP(w, r)
	})}
	go func() { _ = p.server.Serve(l) }() // it ends with Close
	return p, nil
}

// URL returns the proxy's URL, for the setting of the process.
func (p *Proxy) URL() string { return "http://" + p.Address() }

// Close ends the valve and the proxy.
func (p *Proxy) Close() error { return errors.Join(p.Valve.Close(), p.server.Close()) }

// tunnel connects a client with the server that it names, for TLS.
func tunnel(w http.ResponseWriter, r *http.Request) {
	far, err := net.DialTimeout("tcp", r.Host, 10*time.Second)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = far.Close() }()
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = near.Close() }()
	if _, err := io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	var once sync.WaitGroup
	once.Go(func() {
		_, _ = io.Copy(far, near) // if one side ends, both do
		_ = far.Close()
	})
	_, _ = io.Copy(near, far)
	_ = near.Close()
	once.Wait()
}

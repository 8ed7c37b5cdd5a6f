// Package metrics serves a process's Prometheus metrics and its health, on an address of their own. It defines no metrics;
// each package registers its own.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"go.temper.dev/temper/internal/origin"
)

// stopWithin is how long Stop waits for a scrape that is under way.
const stopWithin = 2 * time.Second

// NewRegistry returns a registry with the metrics of the Go runtime and of the process.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Server is a listener with /metrics and /healthz.
type Server struct {
	http *http.Server
}

// Serve answers on l until Stop what guard lets through. away returns what the process needs and does not have, in sentences
// that unauthenticated clients may read: /healthz answers 200 if there is nothing, else 503 and these sentences. It calls
// failed if l fails before Stop.
func Serve(l net.Listener, guard *origin.Guard, g prometheus.Gatherer, away func(context.Context) []string, failed func(error)) *Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(g, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		if missing := away(ctx); len(missing) > 0 {
			http.Error(w, strings.Join(missing, "\n"), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	s := &Server{http: &http.Server{
		Handler: guard.Handler(mux), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}}
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed(err)
		}
	}()
	return s
}

// Stop ends the listener.
func (s *Server) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // cut off scrapes that take too long
	}
}

package httpd

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/access"
)

func init() { gin.SetMode(gin.ReleaseMode) }

// Config is what a Server needs.
type Config struct {
	Auth Auth
	// Listen is the address that the API listens on. On loopback only requests to
	// loopback's names, to PublicURL's and to AllowedHosts are answered. Default: any.
	Listen       string
	AllowedHosts []string
	// TrustedProxies are the networks of proxies whose word on the address of a client counts. Default: none.
	TrustedProxies []netip.Prefix
	// PublicURL stands before every link. Default: http:// and the request's Host.
	PublicURL string
	Log       *zap.Logger           // default: none
	Metrics   prometheus.Registerer // default: none are registered
	Now       func() time.Time      // default: time.Now
	Audit     AuditStore            // default: requests are not audited

	// RequestTimeout bounds a request's work, body included, except a stream's.
	// Default 60 s.
	RequestTimeout time.Duration
	// StreamWriteTimeout bounds one write to the client of a stream. Default 10 s.
	StreamWriteTimeout time.Duration
	// StreamIdleTimeout ends a stream whose handler has sent nothing for so long.
	// Default 2 minutes.
	StreamIdleTimeout time.Duration
	// StreamLoginInterval is how often it is checked whether the login that a stream was
	// opened with is still valid. Default 5 s.
	StreamLoginInterval time.Duration

	// Unversioned are the first path segments that are served below /v1 and that
	// clients may ask for without it.
	Unversioned []string
	// CurrentURL returns the URL of today for one with a path of an older API, and any other URL unchanged (the same
	// pointer). Default: nothing has moved.
	CurrentURL func(*url.URL) *url.URL
	// Subjects are what the parameters of paths name, by the name of the parameter. Each of a route whose rule depends on what
	// the request is about must be there.
	Subjects map[string]Subject
	// NotFound answers a path without a route.
	NotFound Handler
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = time.Minute
	}
	if c.StreamWriteTimeout == 0 {
		c.StreamWriteTimeout = 10 * time.Second
	}
	if c.StreamIdleTimeout == 0 {
		c.StreamIdleTimeout = 2 * time.Minute
	}
	if c.StreamLoginInterval == 0 {
		c.StreamLoginInterval = 5 * time.Second
	}
	if c.NotFound == nil {
		c.NotFound = NotFound
	}
	return c
}

// hosts returns the host names that requests may have in their Host header, besides loopback's.
func (c Config) hosts() []string {
	hosts := slices.Clone(c.AllowedHosts)
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Host)
	}
	return hosts
}

// Server answers requests by its routes. It is safe for concurrent use.
type Server struct {
	Config
	logins  []access.Authenticator // none: everybody may do everything
	assign  func(*access.Identity)
	metrics *metrics
	logIns  *logIns
	bodies  *format.Budgets
	table   []Route
	byRoute map[string]Route // by method and path of the table
	engine  *gin.Engine

	stopping   context.Context // done when streams are to end
	endStreams context.CancelFunc
}

// New makes a Server for a table of routes.
func New(c Config, table []Route) (*Server, error) {
	c = c.withDefaults()
	table = slices.Concat(table, c.Auth.loginRoutes())
	logins, err := c.Auth.authenticators(c.Now, c.Log)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	bodies, err := format.NewBudgets(c.Metrics)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Config: c, logins: logins, assign: c.Auth.Assign, metrics: m, logIns: newLogIns(c), bodies: bodies,
		table: table, byRoute: map[string]Route{},
	}
	if s.assign == nil {
		s.assign = administrators
	}
	if err := s.checkRules(); err != nil {
		return nil, err
	}
	s.stopping, s.endStreams = context.WithCancel(context.Background())
	s.engine = s.routes()
	return s, nil
}

// Handler is the whole API. Timeouts of connections are the http.Server's, except
// those of streams.
func (s *Server) Handler() http.Handler { return s.Through(Door{For: Everybody, Listen: s.Listen}) }

// Routes is the table of routes.
func (s *Server) Routes() []Route { return slices.Clone(s.table) }

// EndStreams ends every stream, now and from now on. It is for
// http.Server.RegisterOnShutdown: Shutdown waits for requests, and a stream would
// not end by itself.
func (s *Server) EndStreams() { s.endStreams() }

func (s *Server) routes() *gin.Engine {
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	// Any client can put an address into a header. Through reads those of trusted proxies.
	if err := e.SetTrustedProxies(nil); err != nil {
		panic(err) // nil is always valid
	}
	e.Use(s.identified, s.observed, s.audited, s.recovered, s.bounded, s.admitted, s.bodies.Hold, s.versioned, s.authenticated, s.attributed, s.permitted)
	for _, r := range s.table {
		s.byRoute[r.Method+" "+r.Path] = r
		if r.stream != nil {
			e.Handle(r.Method, r.Path, s.streamed(r.stream))
		} else {
			e.Handle(r.Method, r.Path, answer(since(r.since, r.handler)))
		}
	}
	e.NoRoute(answer(s.NotFound))
	e.NoMethod(answer(MethodNotAllowed))
	return e
}

// routeOf is the route of a request; the zero Route where it has none.
func (s *Server) routeOf(c *gin.Context) Route { return s.byRoute[c.Request.Method+" "+c.FullPath()] }

// isOpen reports whether a path needs no login, whatever the method: 405 of an open
// path does not depend on who asks.
func (s *Server) isOpen(path string) bool {
	return slices.ContainsFunc(s.table, func(r Route) bool {
		parameter := strings.IndexAny(r.Path, ":*")
		return r.open && (path == r.Path || parameter >= 0 && strings.HasPrefix(path, r.Path[:parameter]))
	})
}

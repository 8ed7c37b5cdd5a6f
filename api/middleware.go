package api

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
)

const loggerKey = "logger"

// requestID is the form OpenStack gives to request ids; a caller's own is kept when it has it.
var requestID = regexp.MustCompile(`^req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$`)

// identified names the request, in its answer and in its log lines.
func (s *Server) identified(c *gin.Context) {
	id := "req-" + uuid.NewString()
	c.Header("OpenStack-Request-Id", id)
	log := s.Log.With(zap.String("request_id", id))
	if global := c.GetHeader("X-OpenStack-Request-Id"); requestID.MatchString(global) {
		log = log.With(zap.String("global_request_id", global))
	}
	c.Set(loggerKey, log)
	setPublicURL(c, s.PublicURL)
}

// logger is the request's own.
func logger(c *gin.Context) *zap.Logger {
	if log, ok := c.Value(loggerKey).(*zap.Logger); ok {
		return log
	}
	return zap.NewNop()
}

// annotate adds fields to every later log line of the request.
func annotate(c *gin.Context, fields ...zap.Field) {
	c.Set(loggerKey, logger(c).With(fields...))
}

// bounded gives the request a deadline.
func (s *Server) bounded(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.RequestTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// methods are the HTTP methods that have a metric label of their own. All others count
// as "other", because an unauthenticated client could invent them without end.
var methods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true,
}

// observed counts and logs requests by the template of their route, never by
// path: paths have no bound.
func (s *Server) observed(c *gin.Context) {
	began := time.Now()
	c.Next()
	route := c.FullPath()
	if route == "" {
		route = "none"
	}
	took, status := time.Since(began), c.Writer.Status()
	method := c.Request.Method
	if !methods[method] {
		method = "other"
	}
	s.metrics.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	s.metrics.seconds.WithLabelValues(method, route).Observe(took.Seconds())
	logger(c).Debug("request", zap.String("method", c.Request.Method), zap.String("path", c.Request.URL.Path),
		zap.Int("status", status), zap.Duration("took", took), zap.String("user", user(c)))
}

// guarded refuses requests that a browser sends for a web page of another origin. On
// loopback, without authentication, any page that the operator visits could otherwise
// do what the operator may. The content type is not checked: curl -d sends JSON as a
// form, and a browser always says which origin a request is from.
func (s *Server) guarded(c *gin.Context) {
	check := s.guard.Check
	if c.FullPath() == "/v1/lookup" {
		check = s.guard.CheckAll // it hands out the agent's token
	}
	if refusal := check(c.Request); refusal != nil {
		code := fault.CrossOrigin
		if refusal.Status == http.StatusMisdirectedRequest {
			code = fault.UnknownHost
		}
		c.AbortWithStatusJSON(refusal.Status, errorBody("Client", refusal.Message, code, nil))
	}
}

// recovered answers a panic with 500 and logs where it came from.
func (s *Server) recovered(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		logger(c).Error("panic", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
		if !c.Writer.Written() {
			fail(c, fault.New(fault.Internal, "panic: %v", p))
		}
	}()
	c.Next()
}

// metrics are the HTTP metrics.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer, s Store) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "temper_http_requests_total", Help: "HTTP requests by method (other: one that HTTP does not have), route template and status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "temper_http_request_seconds", Help: "Duration of HTTP requests by method and route template.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "route"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, quarantined{s}, vitals{s}} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

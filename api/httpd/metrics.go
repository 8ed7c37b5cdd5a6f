package httpd

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// methods are the HTTP methods that have a metric label of their own. All others count
// as "other", because an unauthenticated client could invent them without end.
var methods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true,
}

// observed counts requests by the template of their route. Labels with paths would have
// no bound.
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
	if s.routeOf(c).stream == nil { // how long a stream lasts says nothing of the server
		s.metrics.seconds.WithLabelValues(method, route).Observe(took.Seconds())
	}
	Logger(c).Debug("request answered", zap.String("method", c.Request.Method), zap.String("path", loggedPath(c)),
		zap.Int("status", status), zap.Duration("took", took), zap.String("user", User(c)))
}

// metrics are the HTTP metrics.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
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
	for _, c := range []prometheus.Collector{m.requests, m.seconds} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

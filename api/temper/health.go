package temper

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
)

// getHealth answers GET /temper/v1/healthz: the process serves.
func (s *Server) getHealth(*gin.Context) (int, any, error) {
	return http.StatusOK, gin.H{"status": "ok"}, nil
}

// readyTimeout bounds what /readyz waits for its dependencies.
const readyTimeout = 3 * time.Second

// Missing says in an error of Config.Ready what is not there.
type Missing struct {
	// Reason is shown to everybody: a sentence without addresses.
	Reason string
	// Err is for the log only.
	Err error
}

func (m *Missing) Error() string { return m.Err.Error() }

// Unwrap gives the cause.
func (m *Missing) Unwrap() error { return m.Err }

// Reasons returns what is missing according to err, an error of Config.Ready, in
// sentences that unauthenticated clients may read. It is empty if err is nil.
func Reasons(err error) []string {
	out := reasons(err)
	if err != nil && len(out) == 0 {
		out = []string{"the log says why"}
	}
	return out
}

// reasons are the sentences of every Missing in err, joined ones included.
func reasons(err error) []string {
	var out []string
	switch e := err.(type) { //nolint:errorlint // this walks the tree itself
	case *Missing:
		return []string{e.Reason}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			out = append(out, reasons(one)...)
		}
	case interface{ Unwrap() error }:
		return reasons(e.Unwrap())
	}
	return out
}

// getReady answers GET /temper/v1/readyz: what requests need answers, too. The
// whole error is in the log: it may hold addresses, and the path is open.
func (s *Server) getReady(c *gin.Context) (int, any, error) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		httpd.Logger(c).Warn("readiness check failed", zap.Error(err))
		return http.StatusServiceUnavailable, gin.H{
			"status": "not ready", "reasons": Reasons(err), "code": fault.ServiceUnavailable, "help": []help.Item{},
		}, nil
	}
	body := gin.H{"status": "ready", "reconciled_seconds_ago": nil}
	if v, err := s.Store.FleetHealth(ctx); err == nil {
		body["reconciled_seconds_ago"] = secondsAgo(v)
	}
	return http.StatusOK, body, nil
}

// secondsAgo is how long ago a reconciliation ended last; nil = none has.
func secondsAgo(v coverage.Health) any {
	if v.Age < 0 {
		return nil
	}
	return math.Round(v.Age.Seconds()*10) / 10
}

package format

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonlimit"
)

// sender is who may send a body. Each has a budget of its own.
type sender int

const (
	fromUsers       sender = iota // clients that the API lets in
	fromAgents                    // anybody; small bodies
	fromInspections               // anybody; large bodies
)

// An unauthenticated body must arrive within openBodyTimeout, so that a slow sender
// does not occupy the budget of the others for long.
const (
	openBodyTimeout = 30 * time.Second
	retryAfter      = "5" // seconds
)

// Budgets limit the request bodies that are held in memory at the same time. A body
// counts until its request is over, because what was decoded from it is held as long.
type Budgets struct {
	of      map[sender]*jsonlimit.Budget
	refused *prometheus.CounterVec // by the limit that was exceeded
}

// Why a body was refused, beside the bounds of package jsonlimit.
const (
	refusedBudget = "budget" // too much was being read at once
	refusedOther  = "other"  // it ended too early, or came too slowly
)

// NewBudgets makes the budgets and registers the metric of refused bodies; r may be nil.
func NewBudgets(r prometheus.Registerer) (*Budgets, error) {
	b := &Budgets{of: map[sender]*jsonlimit.Budget{
		fromUsers:  jsonlimit.NewBudget(96<<20, 64<<10, 16),
		fromAgents: jsonlimit.NewBudget(8<<20, 8<<10, 8),
		// Small inventories count, too: a decoded inventory may take a hundred times
		// its size.
		fromInspections: jsonlimit.NewBudget(32<<20, 0, 2),
	}}
	b.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "temper_http_bodies_refused_total", Help: "Request bodies that were refused, by the limit that they exceeded.",
	}, []string{"bound"})
	for _, bound := range []string{string(jsonlimit.Bytes), string(jsonlimit.Elements), string(jsonlimit.Depth), refusedBudget, refusedOther} {
		b.refused.WithLabelValues(bound)
	}
	if r == nil {
		return b, nil
	}
	return b, r.Register(b.refused)
}

func (b *Budgets) countRefusal(err error) {
	bound := string(jsonlimit.Exceeded(err))
	switch {
	case bound != "":
	case errors.Is(err, jsonlimit.ErrBusy):
		bound = refusedBudget
	default:
		bound = refusedOther
	}
	b.refused.WithLabelValues(bound).Inc()
}

const budgetKey = "body_budget"

// reading is what the bodies of one request take of the budgets.
type reading struct {
	*Budgets
	done []func()
}

// Hold is a middleware: it gives the budget of a request's body back when the request is over.
func (b *Budgets) Hold(c *gin.Context) {
	r := &reading{Budgets: b}
	c.Set(budgetKey, r)
	defer func() {
		for _, done := range r.done {
			done()
		}
	}()
	c.Next()
}

func readingOf(c *gin.Context) *reading {
	r, _ := c.Value(budgetKey).(*reading)
	return r
}

func (r *reading) read(c *gin.Context, class BodyClass) ([]byte, error) {
	if class.from != fromUsers {
		limitOpenBody(c)
	}
	raw, done, err := r.of[class.from].Read(c.Request.Context(), c.Request.Body, class.limits)
	r.done = append(r.done, done)
	if err == nil {
		return raw, nil
	}
	r.countRefusal(err)
	return nil, err
}

// limitOpenBody begins the time in which the body of a request must arrive that anybody may send.
func limitOpenBody(c *gin.Context) {
	// If the ResponseWriter does not support it, the server's own deadline applies.
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(openBodyTimeout))
}

// DiscardBody reads the body of a request that anybody may send, so that the connection can be used again, but not more than most
// bytes of it. It keeps nothing.
func DiscardBody(c *gin.Context, most int64) error {
	limitOpenBody(c)
	if _, err := io.Copy(io.Discard, io.LimitReader(c.Request.Body, most)); err != nil {
		return fault.New(fault.Invalid, "The request body could not be read: %w", err)
	}
	return nil
}

// busyReading is the 503 of a budget that is used up.
func busyReading(c *gin.Context, err error) error {
	c.Header("Retry-After", retryAfter)
	return fault.Coded(fault.TooManyBodies, "%w", err)
}

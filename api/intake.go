package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

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

// An unauthenticated body must arrive within strangersTime, so that a slow sender
// does not occupy the budget of the others for long.
const (
	strangersTime = 30 * time.Second
	retryAfter    = "5" // seconds
)

// intake limits the request bodies that are held in memory at the same time. A body
// counts until its request is over, because what was decoded from it is held as long.
type intake struct {
	budgets map[sender]*jsonlimit.Budget
	refused *refusals
}

func newIntake(refused *refusals) *intake {
	return &intake{refused: refused, budgets: map[sender]*jsonlimit.Budget{
		fromUsers:  jsonlimit.NewBudget(96<<20, 64<<10, 16),
		fromAgents: jsonlimit.NewBudget(8<<20, 8<<10, 8),
		// Small inventories count, too: a decoded inventory may take a hundred times
		// its size.
		fromInspections: jsonlimit.NewBudget(32<<20, 0, 2),
	}}
}

const intakeKey = "intake"

// reading is the intake of one request.
type reading struct {
	*intake
	done []func()
}

// heldBodies gives the budget of a request's body back when the request is over.
func (s *Server) heldBodies(c *gin.Context) {
	r := &reading{intake: s.intake}
	c.Set(intakeKey, r)
	defer func() {
		for _, done := range r.done {
			done()
		}
	}()
	c.Next()
}

func intakeOf(c *gin.Context) *reading {
	r, _ := c.Value(intakeKey).(*reading)
	return r
}

func (r *reading) read(c *gin.Context, class bodyClass) ([]byte, error) {
	if class.from != fromUsers {
		// If the ResponseWriter does not support it, the server's own deadline applies.
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(strangersTime))
	}
	raw, done, err := r.budgets[class.from].Read(c.Request.Context(), c.Request.Body, class.limits)
	r.done = append(r.done, done)
	if err == nil {
		return raw, nil
	}
	r.refused.body(err)
	return nil, err
}

// busyReading is the 503 of a budget that is used up.
func busyReading(c *gin.Context, err error) error {
	c.Header("Retry-After", retryAfter)
	return fault.Coded(fault.TooManyBodies, "%w", err)
}

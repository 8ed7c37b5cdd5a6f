package temper

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// whyTimeout bounds an explanation. If PostgreSQL does not answer in that time, the error says so.
const whyTimeout = 4 * time.Second

// getWhy answers GET /temper/v1/nodes/X/why: what happens to the node, for what
// it waits, and what somebody can do.
func (s *Server) getWhy(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), whyTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	asked := make(chan status.System, 1)
	go func() { asked <- s.system(ctx, false) }()
	n, fl, err := s.NodeAndFleet(c)
	if err != nil {
		return 0, nil, err
	}
	f := s.facts(n, fl, s.Now())
	var ended []node.Operation
	if o := n.Operation; o == nil || o.Kind.Spec().Undoes {
		if ended, err = s.Store.NewestEnded(ctx, n.UUID); err != nil {
			return 0, nil, err
		}
		f.Previous = firstOf(ended, node.OperationKind.Provisions)
	}
	if n.Operation == nil {
		f.Undo = firstOf(ended, func(k node.OperationKind) bool { return k.Spec().Undoes })
		f.Newest = firstOf(ended, func(node.OperationKind) bool { return true })
	}
	if o := n.Operation; o != nil && (o.BegunAt != nil || o.NotTakenUp(f.Now)) {
		f.Run, f.Foreign = s.runOf(ctx, o)
	}
	health, err := s.Store.NodeHealth(ctx, n.UUID)
	if err != nil {
		return 0, nil, err
	}
	f.Health, f.Withheld = health.Health, health.Withheld
	if n.ConsoleEnabled {
		if f.Console, err = s.Store.Console(ctx, n.ID); err != nil {
			return 0, nil, err
		}
	}
	switch found, err := s.Store.Hardware(ctx, n.UUID); {
	case err == nil:
		f.Hardware = found
	case !fault.Is(err, fault.NotFound): // it was never inspected
		return 0, nil, err
	}
	f.System = <-asked
	return http.StatusOK, explained(n, f), nil
}

// firstOf returns the first of the operations that is of one of the kinds; nil = there is none.
func firstOf(all []node.Operation, of func(node.OperationKind) bool) *node.Operation {
	for i := range all {
		if of(all[i].Kind) {
			return &all[i]
		}
	}
	return nil
}

// runTimeout bounds the question to Temporal. Without its answer the explanation is less
// exact.
const runTimeout = time.Second

// runOf returns what Temporal knows of o's workflow, nil if o has none or Temporal does not answer, and the workflow
// that has its id and is not its own.
func (s *Server) runOf(ctx context.Context, o *node.Operation) (run *node.RunStatus, foreign string) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	st, err := s.newestRun(ctx, o)
	if err != nil || o.BegunAt == nil {
		return nil, st.Foreign
	}
	return &st, ""
}

// newestRun is how the operation's workflow is: its run or, where that has ended,
// one that was reset from it in Temporal and has not taken the row yet.
func (s *Server) newestRun(ctx context.Context, o *node.Operation) (node.RunStatus, error) {
	st, err := s.Operations.Status(ctx, o)
	if err != nil || !st.Known || st.Open || o.RunID == "" {
		return st, err
	}
	newest := *o
	newest.RunID = ""
	reset, err := s.Operations.Status(ctx, &newest)
	if err == nil && reset.Open {
		return reset, nil
	}
	return st, err
}

// facts are those that a request has read, without the parts of Temper.
func (s *Server) facts(n *node.Node, fl *intent.Fleet, now time.Time) explain.Facts {
	return explain.Facts{
		Now: now, Covered: len(fl.Covering(n)) > 0, Fleet: fl.All,
		Supports: func(k node.OperationKind) bool { return s.Supports(n, k) },
	}
}

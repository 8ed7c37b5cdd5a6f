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
	asked := make(chan explain.System, 1)
	go func() { asked <- s.system(ctx, false) }()
	n, fl, err := s.NodeAndFleet(c)
	if err != nil {
		return 0, nil, err
	}
	var last, undo, newest *node.Operation
	if o := n.Operation; o == nil || o.Kind.Spec().Undoes {
		if last, err = s.newestEnded(ctx, n, node.OperationKind.Provisions); err != nil {
			return 0, nil, err
		}
	}
	if n.Operation == nil {
		if undo, err = s.newestEnded(ctx, n, func(k node.OperationKind) bool { return k.Spec().Undoes }); err != nil {
			return 0, nil, err
		}
		ended, err := s.Store.Operations(ctx, node.OperationFilter{Node: n.UUID, Phase: node.Ended, Limit: 1})
		if err != nil {
			return 0, nil, err
		}
		if len(ended) > 0 {
			newest = &ended[0]
		}
	}
	f := s.facts(n, fl, s.Now())
	f.Previous, f.Undo, f.Newest = last, undo, newest
	if o := n.Operation; o != nil && o.BegunAt != nil {
		f.Run = s.runOf(ctx, o)
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

// newestEnded is the newest operation of the node that has ended and is of one of the kinds; nil = there is none.
func (s *Server) newestEnded(ctx context.Context, n *node.Node, of func(node.OperationKind) bool) (newest *node.Operation, err error) {
	for _, k := range node.Kinds() {
		if !of(k) {
			continue
		}
		ops, err := s.Store.Operations(ctx, node.OperationFilter{Node: n.UUID, Kind: k, Phase: node.Ended, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(ops) > 0 && (newest == nil || ops[0].ID > newest.ID) {
			newest = &ops[0]
		}
	}
	return newest, nil
}

// runTimeout bounds the question to Temporal. Without its answer the explanation is less
// exact.
const runTimeout = time.Second

func (s *Server) runOf(ctx context.Context, o *node.Operation) *node.RunStatus {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	st, err := s.newestRun(ctx, o)
	if err != nil {
		return nil
	}
	return &st
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

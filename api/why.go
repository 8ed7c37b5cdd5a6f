package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/node"
)

// getWhy answers GET /temper/v1/nodes/X/why: what happens to the node, for what
// it waits, and what somebody can do.
func (s *Server) getWhy(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	var last *node.Operation
	if n.Operation == nil {
		ops, err := s.Store.Operations(c.Request.Context(), node.OperationFilter{Node: n.UUID, Phase: node.Ended, Limit: 5})
		if err != nil {
			return 0, nil, err
		}
		for i := range ops {
			if last == nil && ops[i].Kind.Provisions() {
				last = &ops[i]
			}
		}
	}
	return http.StatusOK, s.why(n, last, fl), nil
}

func (s *Server) why(n *node.Node, last *node.Operation, fl *fleet) node.Why {
	f := node.Facts{Now: s.Now(), Covered: len(fl.covering(n)) > 0, Previous: last}
	if n.Operation != nil {
		f.Worker = fl.alive(n.Operation.Conductor)
	}
	return node.WhyOf(n, f)
}

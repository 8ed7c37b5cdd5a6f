package temper

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

// shownHealth is the health of a node as clients see it.
type shownHealth struct {
	NodeUUID string              `json:"node_uuid"`
	NodeName any                 `json:"node_name"`
	Status   node.HealthStatus   `json:"status"`
	Reasons  []shownHealthReason `json:"reasons"`
	Since    any                 `json:"since"`   // null = it was never read
	ReadAt   any                 `json:"read_at"` // null = it was never read
	Withheld bool                `json:"withheld"`
}

type shownHealthReason struct {
	Kind     node.ComponentKind `json:"kind"`
	Name     any                `json:"name"` // null = the BMC names none
	Severity node.HealthStatus  `json:"severity"`
	Message  string             `json:"message"`
	Since    any                `json:"since"`
}

// getNodeHealth answers GET /temper/v1/nodes/X/health: what the BMC said of the node's hardware when it was asked last.
func (s *Server) getNodeHealth(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	h, err := s.Store.NodeHealth(c.Request.Context(), ident)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, showHealth(h), nil
}

// listHealth answers GET /temper/v1/nodes/health: the health of nodes, also of one status only.
func (s *Server) listHealth(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "status", "limit", "marker")
	p, after := q.PageByID(s.MaxLimit, "a number")
	f := node.HealthFilter{Status: node.HealthStatus(q.Word("status")), After: after, Limit: p.Limit, Only: httpd.View(c, access.NodeGet)}
	if f.Status != "" && !slices.Contains(node.HealthStatuses, f.Status) {
		q.Fail("status must be one of %v", node.HealthStatuses)
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	all, err := s.Store.HealthList(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[node.NodeHealth]{
		Name: "nodes", Path: "/temper/v1/nodes/health", Marker: func(h *node.NodeHealth) string { return strconv.FormatInt(h.ID, 10) },
		Show: func(h *node.NodeHealth) any { return showHealth(h) },
	}.Body(q, p, all), nil
}

func showHealth(h *node.NodeHealth) shownHealth {
	out := shownHealth{
		NodeUUID: h.UUID, NodeName: format.OrNull(h.Name), Status: h.Status, Reasons: make([]shownHealthReason, len(h.Reasons)),
		Since: format.Timestamp(h.Since), ReadAt: format.Timestamp(h.ReadAt), Withheld: h.Withheld,
	}
	for i, r := range h.Reasons {
		out.Reasons[i] = shownHealthReason{Kind: r.Kind, Name: format.OrNull(r.Name), Severity: r.Severity, Message: r.Message, Since: format.Timestamp(&r.Since)}
	}
	return out
}

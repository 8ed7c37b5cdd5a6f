package temper

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/audit"
)

// listAudit answers GET /temper/v1/audit: who asked for which change, and what came of it, the newest first.
func (s *Server) listAudit(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "since", "until", "actor", "node", "rule", "outcome", "limit", "marker")
	p, marker := q.PageByID(s.MaxLimit, "a number")
	f := audit.Filter{
		Since: q.Time("since"), Until: q.Time("until"), User: q.Word("actor"), Node: q.Node("node"), Rule: q.Word("rule"),
		Outcome: audit.Outcome(q.Word("outcome")), Limit: p.Limit, Marker: marker,
	}
	if f.Outcome != "" && !slices.Contains(audit.Outcomes(), f.Outcome) {
		q.Fail("outcome is one of %v", audit.Outcomes())
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	rows, err := s.Store.AuditEntries(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[audit.Entry]{
		Name: "audit", Path: "/temper/v1/audit", Marker: func(e *audit.Entry) string { return strconv.FormatInt(e.Seq, 10) }, Show: showAudit,
	}.Body(q, p, rows), nil
}

func showAudit(e *audit.Entry) any {
	out := gin.H{
		"id": strconv.FormatInt(e.Seq, 10), "at": format.Timestamp(&e.At), "user": format.OrNull(e.User), "method": format.OrNull(string(e.Method)),
		"from": format.OrNull(e.From), "request_id": format.OrNull(e.RequestID), "rule": e.Rule, "route": format.OrNull(e.Route),
		"node_uuid": format.OrNull(e.NodeUUID), "node_name": format.OrNull(e.NodeName), "kind": format.OrNull(e.Kind), "target": format.OrNull(e.Target),
		"operation": nil, "what": e.What, "reason": format.OrNull(e.Reason), "outcome": e.Outcome, "status": nil, "count": e.Count,
	}
	if e.Operation != 0 {
		out["operation"] = strconv.FormatInt(e.Operation, 10)
	}
	if e.Status != 0 {
		out["status"] = e.Status
	}
	return out
}

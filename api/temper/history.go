package temper

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
)

// listWholeHistory answers GET /temper/v1/nodes/X/history: of the node, and of
// those that had its uuid before and were deleted. Ironic's history is 404 for a
// node that is not there.
func (s *Server) listWholeHistory(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "limit", "marker")
	p := q.PageByUUID(s.MaxLimit, format.Unsortable)
	if q.Err != nil {
		return 0, nil, q.Err
	}
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	events, err := s.Store.WholeHistory(c.Request.Context(), ident, p.Marker, p.Limit)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[node.HistoryEvent]{
		Name: "history", Path: "/temper/v1/nodes/" + url.PathEscape(c.Param("node")) + "/history",
		Marker: func(e *node.HistoryEvent) string { return e.UUID }, Show: showWholeEvent,
	}.Body(q, p, events), nil
}

func showWholeEvent(e *node.HistoryEvent) any {
	operation := any(nil)
	if e.Operation != 0 {
		operation = strconv.FormatInt(e.Operation, 10)
	}
	return gin.H{
		"uuid": e.UUID, "node_uuid": e.NodeUUID, "node_deleted_at": format.Timestamp(e.DeletedAt), "created_at": format.Timestamp(&e.CreatedAt),
		"severity": format.OrNull(e.Severity), "event": e.Event, "event_type": format.OrNull(e.EventType), "conductor": format.OrNull(e.Conductor),
		"user": format.OrNull(e.User), "operation": operation,
	}
}

package api

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/node"
)

// listDeleted answers GET /temper/v1/nodes/deleted: nodes that were deleted,
// newest first, as long as what is known of them is kept.
func (s *Server) listDeleted(c *gin.Context) (int, any, error) {
	q := readQuery(c, "node", "limit", "marker")
	p, marker := q.pageByID(s.MaxLimit, "a number")
	f := node.DeletedFilter{Node: q.node("node"), Limit: p.limit, Marker: marker}
	if q.err != nil {
		return 0, nil, q.err
	}
	nodes, err := s.Store.DeletedNodes(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, collection[node.Deleted]{
		name: "nodes", path: "/temper/v1/nodes/deleted", marker: func(d *node.Deleted) string { return strconv.FormatInt(d.ID, 10) },
		show: func(d *node.Deleted) any {
			return gin.H{
				"id": strconv.FormatInt(d.ID, 10), "uuid": d.UUID, "name": orNull(d.Name), "driver": d.Driver, "conductor_group": d.Group,
				"resource_class": orNull(d.ResourceClass), "provision_state": orNull(string(d.ProvisionState)), "created_at": timestamp(d.CreatedAt),
				"deleted_at": timestamp(&d.DeletedAt), "deleted_by": orNull(d.DeletedBy),
			}
		},
	}.body(q, p, nodes), nil
}

// listWholeHistory answers GET /temper/v1/nodes/X/history: of the node, and of
// those that had its uuid before and were deleted. Ironic's history is 404 for a
// node that is not there.
func (s *Server) listWholeHistory(c *gin.Context) (int, any, error) {
	q := readQuery(c, "limit", "marker")
	p := q.pageByUUID(s.MaxLimit, unsortable)
	if q.err != nil {
		return 0, nil, q.err
	}
	ident, err := s.ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	events, err := s.Store.WholeHistory(c.Request.Context(), ident, p.marker, p.limit)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, collection[node.HistoryEvent]{
		name: "history", path: "/temper/v1/nodes/" + url.PathEscape(c.Param("node")) + "/history",
		marker: func(e *node.HistoryEvent) string { return e.UUID }, show: showWholeEvent,
	}.body(q, p, events), nil
}

func showWholeEvent(e *node.HistoryEvent) any {
	operation := any(nil)
	if e.Operation != 0 {
		operation = strconv.FormatInt(e.Operation, 10)
	}
	return gin.H{
		"uuid": e.UUID, "node_uuid": e.NodeUUID, "node_deleted_at": timestamp(e.DeletedAt), "created_at": timestamp(&e.CreatedAt),
		"severity": orNull(e.Severity), "event": e.Event, "event_type": orNull(e.EventType), "conductor": orNull(e.Conductor),
		"user": orNull(e.User), "operation": operation,
	}
}

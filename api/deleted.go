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
	p := q.page(s.MaxLimit, unsortable)
	f := node.DeletedFilter{Node: q.node("node"), Limit: p.limit}
	if q.has("marker") {
		id, err := strconv.ParseInt(p.marker, 10, 64)
		if err != nil || id <= 0 {
			q.fail("Expected a number for marker: %s", clip(p.marker))
		}
		f.Marker = id
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	nodes, err := s.Store.DeletedNodes(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	out := make([]gin.H, 0, len(nodes))
	for _, d := range nodes {
		out = append(out, gin.H{
			"id": strconv.FormatInt(d.ID, 10), "uuid": d.UUID, "name": orNull(d.Name), "driver": d.Driver, "conductor_group": d.Group,
			"resource_class": orNull(d.ResourceClass), "provision_state": orNull(string(d.ProvisionState)), "created_at": timestamp(d.CreatedAt),
			"deleted_at": timestamp(&d.DeletedAt), "deleted_by": orNull(d.DeletedBy),
		})
	}
	body := gin.H{"nodes": out, "next": nil}
	if len(nodes) == p.limit {
		body["next"] = s.publicURL(c) + "/temper/v1/" + q.next("nodes/deleted", out[len(out)-1]["id"].(string), p.limit)
	}
	return http.StatusOK, body, nil
}

// listWholeHistory answers GET /temper/v1/nodes/X/history: of the node, and of
// those that had its uuid before and were deleted. Ironic's history is 404 for a
// node that is not there.
func (s *Server) listWholeHistory(c *gin.Context) (int, any, error) {
	q := readQuery(c, "limit", "marker")
	p := q.page(s.MaxLimit, unsortable)
	q.uuid("marker")
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
	out := make([]gin.H, 0, len(events))
	for _, e := range events {
		operation := any(nil)
		if e.Operation != 0 {
			operation = strconv.FormatInt(e.Operation, 10)
		}
		out = append(out, gin.H{
			"uuid": e.UUID, "node_uuid": e.NodeUUID, "node_deleted_at": timestamp(e.DeletedAt), "created_at": timestamp(&e.CreatedAt),
			"severity": orNull(e.Severity), "event": e.Event, "event_type": orNull(e.EventType), "conductor": orNull(e.Conductor),
			"user": orNull(e.User), "operation": operation,
		})
	}
	body := gin.H{"history": out, "next": nil}
	if len(events) == p.limit {
		body["next"] = s.publicURL(c) + "/temper/v1/" + q.next("nodes/"+url.PathEscape(c.Param("node"))+"/history", events[len(events)-1].UUID, p.limit)
	}
	return http.StatusOK, body, nil
}

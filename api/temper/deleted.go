package temper

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
)

// listDeleted answers GET /temper/v1/nodes/deleted: nodes that were deleted,
// newest first, as long as what is known of them is kept.
func (s *Server) listDeleted(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "node", "limit", "marker")
	p, marker := q.PageByID(s.MaxLimit, "a number")
	f := node.DeletedFilter{Node: q.Node("node"), Limit: p.Limit, Marker: marker}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	nodes, err := s.Store.DeletedNodes(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[node.Deleted]{
		Name: "nodes", Path: "/temper/v1/nodes/deleted", Marker: func(d *node.Deleted) string { return strconv.FormatInt(d.ID, 10) },
		Show: func(d *node.Deleted) any {
			return gin.H{
				"id": strconv.FormatInt(d.ID, 10), "uuid": d.UUID, "name": format.OrNull(d.Name), "driver": d.Driver, "conductor_group": d.Group,
				"resource_class": format.OrNull(d.ResourceClass), "provision_state": format.OrNull(string(d.ProvisionState)), "created_at": format.Timestamp(d.CreatedAt),
				"deleted_at": format.Timestamp(&d.DeletedAt), "deleted_by": format.OrNull(d.DeletedBy),
			}
		},
	}.Body(q, p, nodes), nil
}

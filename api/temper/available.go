package temper

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
)

// listAvailable answers GET /temper/v1/nodes/available: what a scheduler may be
// offered, by the conductors' heartbeats of this moment.
func (s *Server) listAvailable(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "resource_class", "traits", "conductor_group", "owner", "limit", "marker")
	p := q.PageByUUID(s.MaxLimit, format.Unsortable)
	f := node.AvailableFilter{
		ResourceClass: q.Text("resource_class"), ConductorGroup: format.Lower(q.Text("conductor_group")), Owner: q.Text("owner"),
		Dedicated: s.DedicatedNodes, Limit: p.Limit, Marker: p.Marker,
	}
	for _, t := range strings.Split(q.Word("traits"), ",") {
		if t = strings.TrimSpace(t); t == "" {
			continue
		}
		if err := node.ValidTrait(t); err != nil {
			q.Fail("%w", err)
		}
		f.Traits = append(f.Traits, t)
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	nodes, err := s.Store.Available(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[node.Offer]{
		Name: "nodes", Path: "/temper/v1/nodes/available", Marker: func(n *node.Offer) string { return n.UUID },
		Show: func(n *node.Offer) any {
			return gin.H{
				"uuid": n.UUID, "name": format.OrNull(n.Name), "resource_class": format.OrNull(n.ResourceClass), "traits": format.List(n.Traits),
				"conductor_group": n.ConductorGroup, "requires": format.List(n.Requires),
			}
		},
	}.Body(q, p, nodes), nil
}

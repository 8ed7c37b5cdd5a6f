package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/node"
)

// listAvailable answers GET /temper/v1/nodes/available: what a scheduler may be
// offered, by the conductors' heartbeats of this moment.
func (s *Server) listAvailable(c *gin.Context) (int, any, error) {
	q := readQuery(c, "resource_class", "traits", "conductor_group", "owner", "limit", "marker")
	p := q.pageByUUID(s.MaxLimit, unsortable)
	f := node.AvailableFilter{
		ResourceClass: q.text("resource_class"), ConductorGroup: lower(q.text("conductor_group")), Owner: q.text("owner"),
		Dedicated: s.DedicatedNodes, Limit: p.limit, Marker: p.marker,
	}
	for _, t := range strings.Split(q.word("traits"), ",") {
		if t = strings.TrimSpace(t); t == "" {
			continue
		}
		if err := node.ValidTrait(t); err != nil {
			q.fail("%w", err)
		}
		f.Traits = append(f.Traits, t)
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	nodes, err := s.Store.Available(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, collection[node.Offer]{
		name: "nodes", path: "/temper/v1/nodes/available", marker: func(n *node.Offer) string { return n.UUID },
		show: func(n *node.Offer) any {
			return gin.H{
				"uuid": n.UUID, "name": orNull(n.Name), "resource_class": orNull(n.ResourceClass), "traits": list(n.Traits),
				"conductor_group": n.ConductorGroup, "requires": list(n.Requires),
			}
		},
	}.body(q, p, nodes), nil
}

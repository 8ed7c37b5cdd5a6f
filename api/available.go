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
	p := q.page(s.MaxLimit, unsortable)
	if q.has("marker") && !isUUID(p.marker) {
		q.fail("Expected UUID for marker: %s", clip(p.marker))
	}
	f := node.AvailableFilter{
		ResourceClass: q.text("resource_class"), ConductorGroup: lower(q.text("conductor_group")), Owner: q.text("owner"),
		Dedicated: s.DedicatedNodes, Limit: p.limit, Marker: canonicalUUID(p.marker),
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
	out := make([]gin.H, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, gin.H{
			"uuid": n.UUID, "name": orNull(n.Name), "resource_class": orNull(n.ResourceClass), "traits": list(n.Traits),
			"conductor_group": n.ConductorGroup, "requires": list(n.Requires),
		})
	}
	body := gin.H{"nodes": out, "next": nil}
	if len(nodes) == p.limit {
		body["next"] = s.publicURL(c) + "/temper/v1/" + q.next("nodes/available", nodes[len(nodes)-1].UUID, p.limit)
	}
	return http.StatusOK, body, nil
}

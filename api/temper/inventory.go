package temper

import (
	"maps"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/inventory"
)

// getInventory answers GET /temper/v1/nodes/X/inventory: how the hardware that the last inspection found differs from the inspection
// before, and from other nodes of the resource class.
func (s *Server) getInventory(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	h, err := s.Store.Hardware(c.Request.Context(), ident)
	if err != nil {
		return 0, nil, err
	}
	found, _, err := s.Store.Inventory(c.Request.Context(), h.NodeUUID)
	if err != nil {
		return 0, nil, err
	}
	out := compared(h)
	out["disks"] = inventory.Disks(found)
	return http.StatusOK, out, nil
}

func compared(h *inventory.Comparison) gin.H {
	facts := make([]gin.H, 0, len(h.Facts))
	for _, name := range slices.Sorted(maps.Keys(h.Facts)) {
		facts = append(facts, gin.H{"name": name, "value": h.Facts[name]})
	}
	changes := make([]gin.H, 0, len(h.Changes.List))
	for _, one := range h.Changes.List {
		changes = append(changes, gin.H{
			"kind": one.Kind, "name": one.Name, "before": format.OrNull(one.Before), "after": format.OrNull(one.After), "text": one.String(),
		})
	}
	differences := make([]gin.H, 0, len(h.Differences))
	for _, d := range h.Differences {
		differences = append(differences, gin.H{"name": d.Fact, "value": d.Here, "usual": d.Usual, "nodes": d.Servers, "of": d.Of})
	}
	return gin.H{
		"node_uuid": h.NodeUUID, "collected_at": format.Timestamp(&h.CollectedAt), "facts": facts,
		"changed_since": format.Timestamp(h.ChangedSince), "changes": changes, "more_changes": h.Changes.More,
		"siblings": gin.H{"resource_class": format.OrNull(h.ResourceClass), "compared": h.Siblings, "differences": differences},
	}
}

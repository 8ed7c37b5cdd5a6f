package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
)

// getInventory answers GET /v1/nodes/X/inventory; 404 where no inspection found one.
func (s *Server) getInventory(c *gin.Context) (int, any, error) {
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	inventory, plugin, err := s.Store.Inventory(c.Request.Context(), ident)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"inventory": format.Dict(inventory), "plugin_data": format.Dict(plugin)}, nil
}

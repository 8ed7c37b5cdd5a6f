package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
)

// listFirmware answers GET /v1/nodes/X/firmware. Ironic lists the components that were read before. Nothing reads them
// yet, so the list is empty, whatever the node's driver and the version.
func (s *Server) listFirmware(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	if _, err := s.Find(c, c.Param("node")); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"firmware": []any{}}, nil
}

package temper

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
)

// getLogs answers GET /temper/v1/nodes/X/logs: what agents wrote before steps of the node failed.
func (s *Server) getLogs(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	logs, err := s.Store.Logs(c.Request.Context(), n.ID)
	if err != nil {
		return 0, nil, err
	}
	shown := make([]gin.H, 0, len(logs))
	for _, l := range logs {
		shown = append(shown, gin.H{
			"operation": l.Operation, "kind": l.Kind, "step": l.Step, "conductor": l.Conductor, "at": format.Timestamp(&l.At), "content": l.Content,
		})
	}
	return http.StatusOK, gin.H{"node_uuid": n.UUID, "logs": shown}, nil
}

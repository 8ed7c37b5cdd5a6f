package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
)

// minorShards is the version that added shards.
const minorShards = 82

// listShards answers GET /v1/shards. The list has no pages, and no shard has an address of its own (Ironic api/controllers/v1/shard.py).
func (s *Server) listShards(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	shards, err := s.Store.Shards(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	out := make([]gin.H, len(shards))
	for i, one := range shards {
		out[i] = gin.H{"name": one.Name, "count": one.Count}
	}
	return http.StatusOK, gin.H{"shards": out}, nil
}

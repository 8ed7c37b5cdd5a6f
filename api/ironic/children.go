package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

// minorChildren is the version that added parent_node.
const minorChildren = 83

// listChildren answers GET /v1/nodes/X/children: the uuids of the nodes whose parent_node is X, as far as the user may see them. There are
// no pages; the list ends with MaxLimit nodes.
func (s *Server) listChildren(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	page := format.Page{Limit: s.MaxLimit}
	nodes, err := s.Store.Nodes(c.Request.Context(), node.Filter{ParentNode: &n.UUID}, page.Of(httpd.View(c, access.NodeGet)))
	if err != nil {
		return 0, nil, err
	}
	children := make([]string, len(nodes))
	for i := range nodes {
		children[i] = nodes[i].UUID
	}
	return http.StatusOK, gin.H{"children": children}, nil
}

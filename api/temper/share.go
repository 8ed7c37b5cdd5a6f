package temper

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// maxShare bounds a page of a share. It is large, because a service reads its whole share
// in each cycle.
const maxShare = 10_000

// getShare answers GET /temper/v1/compute-services/HOST/nodes. A page of another
// epoch than the published one is 409.
func (s *Server) getShare(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "epoch", "knows", "limit", "marker")
	p := q.PageByUUID(maxShare, format.Unsortable)
	epoch := int64(0)
	if q.Has("epoch") {
		n, err := strconv.ParseInt(q.Word("epoch"), 10, 64)
		if err != nil || n < 0 {
			q.Fail("Expected an epoch: %s", format.Clip(q.Word("epoch")))
		}
		epoch = n
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	page, err := s.Store.SharePage(c.Request.Context(), c.Param("host"), epoch, p.Marker, p.Limit)
	if err != nil {
		return 0, nil, err
	}
	knows := slices.Contains(q.List("knows"), "requires")
	body := format.Collection[share.Capacity]{
		Name: "nodes", Path: "/temper/v1/compute-services/" + page.Host + "/nodes", Marker: func(n *share.Capacity) string { return n.UUID },
		Show: func(n *share.Capacity) any { return showCapacity(n, knows && page.Live, page.Live) },
	}.Body(q, p, page.Nodes)
	body["epoch"], body["host"], body["live"] = page.Epoch, page.Host, page.Live
	return http.StatusOK, body, nil
}

// capacity is a node of a share.
type capacity struct {
	UUID          string     `json:"uuid"`
	Name          any        `json:"name"`
	ResourceClass any        `json:"resource_class"`
	Traits        []string   `json:"traits"`
	State         node.State `json:"provision_state"`
	InstanceUUID  any        `json:"instance_uuid"`
	InstanceGone  bool       `json:"instance_gone"`
	Total         int        `json:"total"`
	Used          int        `json:"used"`
	Reserved      int        `json:"reserved"`
	Requires      []string   `json:"requires"`
}

// showCapacity is a node as a service publishes it. If the lease of the service has
// ended, a free node is shown as reserved.
func showCapacity(n *share.Capacity, knows, live bool) capacity {
	out := capacity{
		UUID: n.UUID, Name: format.OrNull(n.Name), ResourceClass: format.OrNull(n.ResourceClass), Traits: format.List(n.Traits), State: node.State(n.State),
		InstanceUUID: format.OrNull(n.Instance), InstanceGone: n.Absent, Total: 1, Used: n.Used(), Reserved: n.Reserved(knows), Requires: []string{},
	}
	if n.Maintenance {
		out.Requires = append(out.Requires, node.TraitMaintenance)
	}
	if !live && out.Used == 0 {
		out.Reserved = 1
	}
	return out
}

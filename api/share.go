package api

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// maxShare bounds a page of a share: a service reads the whole of it in each cycle.
const maxShare = 10_000

// getShare answers GET /temper/v1/compute-services/HOST/nodes. A page of another
// epoch than the published one is 409.
func (s *Server) getShare(c *gin.Context) (int, any, error) {
	q := readQuery(c, "epoch", "knows", "limit", "marker")
	p := q.page(maxShare, unsortable)
	epoch := int64(0)
	if q.has("epoch") {
		n, err := strconv.ParseInt(q.word("epoch"), 10, 64)
		if err != nil || n < 0 {
			q.fail("Expected an epoch: %s", clip(q.word("epoch")))
		}
		epoch = n
	}
	marker := q.uuid("marker")
	if q.err != nil {
		return 0, nil, q.err
	}
	page, err := s.Store.SharePage(c.Request.Context(), c.Param("host"), epoch, marker, p.limit)
	if err != nil {
		return 0, nil, err
	}
	knows := slices.Contains(q.list("knows"), "requires")
	nodes := make([]capacity, 0, len(page.Nodes))
	for i := range page.Nodes {
		nodes = append(nodes, showCapacity(&page.Nodes[i], knows && page.Live, page.Live))
	}
	body := gin.H{"epoch": page.Epoch, "host": page.Host, "live": page.Live, "nodes": nodes, "next": nil}
	if len(nodes) == p.limit {
		at := q.next("nodes", nodes[len(nodes)-1].UUID, p.limit)
		body["next"] = s.publicURL(c) + "/temper/v1/compute-services/" + page.Host + "/" + at
	}
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

// showCapacity is a node as a service publishes it; one of a service whose lease
// has ended is not to be had.
func showCapacity(n *share.Capacity, knows, live bool) capacity {
	out := capacity{
		UUID: n.UUID, Name: orNull(n.Name), ResourceClass: orNull(n.ResourceClass), Traits: list(n.Traits), State: node.State(n.State),
		InstanceUUID: orNull(n.Instance), InstanceGone: n.Absent, Total: 1, Used: n.Used(), Reserved: n.Reserved(knows), Requires: []string{},
	}
	if n.Maintenance {
		out.Requires = append(out.Requires, node.TraitMaintenance)
	}
	if !live && out.Used == 0 {
		out.Reserved = 1
	}
	return out
}

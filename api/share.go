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
	p := q.pageByUUID(maxShare, unsortable)
	epoch := int64(0)
	if q.has("epoch") {
		n, err := strconv.ParseInt(q.word("epoch"), 10, 64)
		if err != nil || n < 0 {
			q.fail("Expected an epoch: %s", clip(q.word("epoch")))
		}
		epoch = n
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	page, err := s.Store.SharePage(c.Request.Context(), c.Param("host"), epoch, p.marker, p.limit)
	if err != nil {
		return 0, nil, err
	}
	knows := slices.Contains(q.list("knows"), "requires")
	body := collection[share.Capacity]{
		name: "nodes", path: "/temper/v1/compute-services/" + page.Host + "/nodes", marker: func(n *share.Capacity) string { return n.UUID },
		show: func(n *share.Capacity) any { return showCapacity(n, knows && page.Live, page.Live) },
	}.body(q, p, page.Nodes)
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

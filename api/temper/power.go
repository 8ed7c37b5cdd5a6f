package temper

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
)

// shownPower is the power of a node: what is wanted, what was seen, and when. null = nobody wants a change, not known, never
// read.
type shownPower struct {
	Wanted any    `json:"wanted"`
	Seen   any    `json:"seen"`
	SeenAt any    `json:"seen_at"`
	Text   string `json:"text"`
	Short  string `json:"short"`
}

func powerOf(v finding.PowerView) shownPower {
	return shownPower{
		Wanted: format.OrNull(string(v.Wanted)), Seen: format.OrNull(string(v.Seen)), SeenAt: format.Timestamp(v.SeenAt), Text: v.Text, Short: v.Short,
	}
}

// maxPowers is the number of nodes that one request may name.
const maxPowers = 100

type shownNodePower struct {
	UUID      string     `json:"uuid"`
	Name      any        `json:"name"`
	Power     shownPower `json:"power"`
	Operation any        `json:"operation"` // shownHolder; null = none is open
}

// shownHolder is the open operation that holds a node, also while Ironic's reservation is null because it waits.
type shownHolder struct {
	ID    string             `json:"id"`
	Kind  node.OperationKind `json:"kind"`
	State node.Phase         `json:"state"`
}

func holderOf(n *node.Node) any {
	if n.Operation == nil {
		return nil
	}
	return shownHolder{ID: strconv.FormatInt(n.Operation.ID, 10), Kind: n.Operation.Kind, State: n.Operation.State()}
}

// listPowers answers GET /temper/v1/nodes/power?node=UUID&node=...: the power of these nodes, and the
// operations that hold them. Nodes that are not there are left out.
func (s *Server) listPowers(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c, "node"); q.Err != nil {
		return 0, nil, q.Err
	}
	uuids := c.QueryArray("node")
	switch {
	case len(uuids) == 0:
		return 0, nil, fault.New(fault.Invalid, "Which nodes? Give their uuids: ?node=UUID, and again for more.")
	case len(uuids) > maxPowers:
		return 0, nil, fault.New(fault.Invalid, "%d nodes are too many for one request, at most %d.", len(uuids), maxPowers)
	}
	for _, u := range uuids {
		if !node.IsUUIDLike(u) {
			return 0, nil, fault.New(fault.Invalid, "Expected a UUID but received %s.", format.Clip(u))
		}
	}
	nodes, err := s.Store.NodesByUUID(c.Request.Context(), uuids)
	if err != nil {
		return 0, nil, err
	}
	view := httpd.View(c, access.NodeGet)
	out := make([]shownNodePower, 0, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if !view.Shows(n.Owners()) {
			continue
		}
		out = append(out, shownNodePower{UUID: n.UUID, Name: format.OrNull(n.Name), Power: powerOf(finding.Power(n, s.Now())), Operation: holderOf(n)})
	}
	return http.StatusOK, gin.H{"nodes": out}, nil
}

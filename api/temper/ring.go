package temper

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

// getRing answers GET /temper/v1/ring: who owns which node, or who owns one. A node that
// nobody covers has no owner.
func (s *Server) getRing(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "node", "conductor_group", "driver", "limit", "marker")
	ident := q.Node("node")
	if ident != "" && (q.Has("conductor_group") || q.Has("driver") || q.Has("marker")) {
		q.Fail("node and conductor_group, driver or marker exclude each other")
	}
	p := q.PageByUUID(s.MaxLimit, format.Unsortable)
	f := node.Filter{ConductorGroup: format.Lower(q.Text("conductor_group")), Driver: q.Text("driver"), IncludeChildren: true}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	ctx := c.Request.Context()
	v, err := s.Store.FleetHealth(ctx)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	nodes, err := s.ringNodes(ctx, ident, f, p)
	if err != nil {
		return 0, nil, err
	}
	if ident != "" {
		p.Limit = 0 // there is no next page
	}
	body := format.Collection[node.Node]{
		Name: "owners", Path: "/temper/v1/ring", Marker: func(n *node.Node) string { return n.UUID },
		Show: func(n *node.Node) any {
			return gin.H{"node_uuid": n.UUID, "node_name": format.OrNull(n.Name), "conductor": format.OrNull(fl.Owner(n))}
		},
	}.Body(q, p, nodes)
	body["epoch"] = v.Epoch
	return http.StatusOK, body, nil
}

// ringNodes returns a page of nodes, or the one of that name or uuid if ident is not empty.
func (s *Server) ringNodes(ctx context.Context, ident string, f node.Filter, p format.Page) ([]node.Node, error) {
	if ident == "" {
		return s.Store.Nodes(ctx, f, p.Of(nil))
	}
	n, err := s.Store.Node(ctx, ident)
	if err != nil {
		return nil, err
	}
	return []node.Node{*n}, nil
}

// maxWhatIf is how many nodes an answer of what-if names.
const maxWhatIf = 1000

// getWhatIf answers GET /temper/v1/ring/what-if: what would move, and what nobody
// would cover, were some conductors gone. It changes nothing.
func (s *Server) getWhatIf(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "without", "conductor_group")
	without := q.List("without")
	group := format.Lower(q.Text("conductor_group"))
	if q.Err == nil && len(without) == 0 {
		q.Fail("without must name the conductors to do without, comma-separated")
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	ctx := c.Request.Context()
	f, err := s.Store.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, host := range without {
		if !slices.ContainsFunc(f.Conductors, func(k coverage.Conductor) bool { return k.Hostname == host }) {
			return 0, nil, intent.ConductorNotFound(host)
		}
	}
	what, err := s.ringWithout(ctx, f, without, group)
	if err != nil {
		return 0, nil, err
	}
	var named []string
	for _, moves := range [][]coverage.Move{what.Moves, what.Quarantined} {
		for _, m := range moves[:min(len(moves), maxWhatIf)] {
			named = append(named, m.Node.UUID)
		}
	}
	names, err := s.Store.Names(ctx, named)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, whatIfBody(f, without, what, names), nil
}

func (s *Server) ringWithout(ctx context.Context, f *coverage.Fleet, without []string, group *string) (coverage.WhatIf, error) {
	var out coverage.WhatIf
	now, then := coverage.Rings(f), coverage.Rings(coverage.Without(f, without))
	for i := range now {
		if now[i].Covers == then[i].Covers || group != nil && now[i].Group != *group {
			continue
		}
		var needs []int64
		for _, d := range now[i].Requirements {
			needs = append(needs, d.ID)
		}
		nodes, err := s.Store.RingNodes(ctx, needs)
		if err != nil {
			return out, err
		}
		out.Add(&now[i], &then[i], nodes)
	}
	return out, nil
}

func whatIfBody(f *coverage.Fleet, without []string, what coverage.WhatIf, names map[string]string) gin.H {
	hosts := map[int64]string{}
	for _, k := range f.Conductors {
		hosts[k.ID] = k.Hostname
	}
	gains := map[string]int{}
	for _, m := range what.Moves {
		gains[hosts[m.To]]++
	}
	shown := func(moves []coverage.Move) []gin.H {
		out := make([]gin.H, 0, min(len(moves), maxWhatIf))
		for _, m := range moves[:min(len(moves), maxWhatIf)] {
			out = append(out, gin.H{
				"node_uuid": m.Node.UUID, "node_name": format.OrNull(names[m.Node.UUID]), "from": format.OrNull(hosts[m.From]), "to": format.OrNull(hosts[m.To]),
			})
		}
		return out
	}
	return gin.H{
		"epoch": f.Epoch, "without": without, "moved": len(what.Moves), "quarantined": len(what.Quarantined), "gains": gains,
		"moves": shown(what.Moves), "quarantines": shown(what.Quarantined),
	}
}

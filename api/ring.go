package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// getRing answers GET /temper/v1/ring: who owns which node. A node that nobody
// covers has no owner.
func (s *Server) getRing(c *gin.Context) (int, any, error) {
	q := readQuery(c, "conductor_group", "driver", "limit", "marker")
	p := q.pageByUUID(s.MaxLimit, unsortable)
	f := node.Filter{ConductorGroup: lower(q.text("conductor_group")), Driver: q.text("driver"), IncludeChildren: true}
	if q.err != nil {
		return 0, nil, q.err
	}
	ctx := c.Request.Context()
	v, err := s.Store.Vitals(ctx)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	nodes, err := s.Store.Nodes(ctx, f, p.store())
	if err != nil {
		return 0, nil, err
	}
	body := collection[node.Node]{
		name: "owners", path: "/temper/v1/ring", marker: func(n *node.Node) string { return n.UUID },
		show: func(n *node.Node) any {
			return gin.H{"node_uuid": n.UUID, "node_name": orNull(n.Name), "conductor": orNull(fl.owner(n))}
		},
	}.body(q, p, nodes)
	body["epoch"] = v.Epoch
	return http.StatusOK, body, nil
}

// maxWhatIf is how many nodes an answer of what-if names.
const maxWhatIf = 1000

// getWhatIf answers GET /temper/v1/ring/what-if: what would move, and what nobody
// would cover, were some conductors gone. It changes nothing.
func (s *Server) getWhatIf(c *gin.Context) (int, any, error) {
	q := readQuery(c, "without", "conductor_group")
	without := q.list("without")
	group := lower(q.text("conductor_group"))
	if q.err == nil && len(without) == 0 {
		q.fail("without must name the conductors to do without, comma-separated")
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	ctx := c.Request.Context()
	f, err := s.Store.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, host := range without {
		if !slices.ContainsFunc(f.Conductors, func(k coverage.Conductor) bool { return k.Hostname == host }) {
			return 0, nil, noConductor(host)
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
		for _, d := range now[i].Needs {
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
				"node_uuid": m.Node.UUID, "node_name": orNull(names[m.Node.UUID]), "from": orNull(hosts[m.From]), "to": orNull(hosts[m.To]),
			})
		}
		return out
	}
	return gin.H{
		"epoch": f.Epoch, "without": without, "moved": len(what.Moves), "quarantined": len(what.Quarantined), "gains": gains,
		"moves": shown(what.Moves), "quarantines": shown(what.Quarantined),
	}
}

// getCoverage answers GET /temper/v1/coverage: which live conductors have which
// interface of which driver, and how many nodes need it.
func (s *Server) getCoverage(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	ctx := c.Request.Context()
	served, err := s.Store.Served(ctx)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"coverage": fl.coverage(served)}, nil
}

// covered is a row of the coverage.
type covered struct {
	Group  string `json:"conductor_group"`
	Driver string `json:"driver"`
	// Interfaces: interface -> implementation -> conductors.
	Interfaces  map[string]map[string][]string `json:"interfaces"`
	Conductors  []string                       `json:"conductors"`
	Nodes       int                            `json:"nodes"`
	Quarantined int                            `json:"quarantined"`
}

func (f *fleet) coverage(served []coverage.Served) []covered {
	out := []covered{}
	row := func(group, driver string) *covered {
		for i := range out {
			if out[i].Group == group && out[i].Driver == driver {
				return &out[i]
			}
		}
		out = append(out, covered{Group: group, Driver: driver, Interfaces: map[string]map[string][]string{}, Conductors: []string{}})
		return &out[len(out)-1]
	}
	for _, v := range served {
		r := row(v.Group, v.Driver)
		r.Nodes, r.Quarantined = v.Nodes, v.Quarantined
	}
	for _, k := range f.all { // by name
		if !k.TakesWork() {
			continue
		}
		for driver, enabled := range k.Interfaces {
			row(k.Group, driver).add(k.Hostname, enabled)
		}
	}
	slices.SortFunc(out, func(a, b covered) int {
		if a.Group != b.Group {
			return strings.Compare(a.Group, b.Group)
		}
		return strings.Compare(a.Driver, b.Driver)
	})
	return out
}

func (r *covered) add(host string, enabled map[string][]string) {
	r.Conductors = append(r.Conductors, host)
	for kind, impls := range enabled {
		if r.Interfaces[kind] == nil {
			r.Interfaces[kind] = map[string][]string{}
		}
		for _, impl := range impls {
			r.Interfaces[kind][impl] = append(r.Interfaces[kind][impl], host)
		}
	}
}

// postReconcile answers POST /temper/v1/reconcile: it is queued, or once more
// where one runs. An orchestrator runs it; the answer says when one did last.
func (s *Server) postReconcile(c *gin.Context) (int, any, error) {
	if _, err := readObject(c, maxBody); err != nil {
		return 0, nil, err
	}
	if s.Reconcile == nil {
		return 0, nil, silent(fault.New(fault.Unavailable, "nothing reconciles here"))
	}
	if err := s.Reconcile(c.Request.Context()); err != nil {
		return 0, nil, silent(err)
	}
	v, err := s.Store.Vitals(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, gin.H{"queued": true, "late": v.Age < 0 || v.Age > s.ReconcileLate, "reconciled_seconds_ago": secondsAgo(v)}, nil
}

// reconcileSoon is for a change that the next epoch should not wait for. Without
// it, it comes at its time.
func (s *Server) reconcileSoon(c *gin.Context) {
	if s.Reconcile == nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.StartTimeout)
	defer cancel()
	if err := s.Reconcile(ctx); err != nil {
		logger(c).Warn("the reconciliation comes at its time", zap.Error(err))
	}
}

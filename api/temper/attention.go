package temper

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// maxAttentionNodes is how many nodes a request may name.
const maxAttentionNodes = 500

// shownAttention is a node that needs a person, as clients see it.
type shownAttention struct {
	NodeUUID  string      `json:"node_uuid"`
	NodeName  any         `json:"node_name"`
	State     node.State  `json:"provision_state"`
	Reason    node.Reason `json:"reason"`
	Cause     any         `json:"cause"` // null = there is none
	Sentence  string      `json:"sentence"`
	Since     any         `json:"since"`     // null = not known
	Operation any         `json:"operation"` // null = none
	Help      []help.Item `json:"help"`
}

// shownAttentionGroup counts nodes that need a person for the same reason and cause.
type shownAttentionGroup struct {
	Reason   node.Reason `json:"reason"`
	Cause    any         `json:"cause"` // null = there is none
	Nodes    int         `json:"nodes"`
	Sentence string      `json:"sentence"`
	Advice   any         `json:"advice"` // what to do about the cause; null = nobody knows
	Since    any         `json:"since"`
	Names    []string    `json:"names"` // of some of the nodes
	Help     []help.Item `json:"help"`
}

// listAttention answers GET /temper/v1/why: the nodes that need a person, the worst first, or with
// group=cause how many do for the same reason and cause.
func (s *Server) listAttention(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "group", "node", "reason", "cause", "conductor_group", "driver", "resource_class", "provision_state", "limit", "marker")
	p := q.Page(s.MaxLimit, format.Unsortable)
	group := q.Word("group")
	if group != "" && group != "cause" {
		q.Fail("group must be cause")
	}
	f := node.AttentionFilter{
		Reason: node.Reason(q.Word("reason")), Cause: fault.Code(q.Word("cause")), ConductorGroup: format.Lower(q.Text("conductor_group")),
		Driver: q.Word("driver"), ResourceClass: q.Word("resource_class"), State: node.State(q.Word("provision_state")), Limit: p.Limit,
	}
	switch {
	case f.Reason != "" && !slices.Contains(node.Reasons, f.Reason):
		q.Fail("reason must be one of %v", node.Reasons)
	case f.Cause != "" && !slices.Contains(fault.Causes(), f.Cause):
		q.Fail("There is no cause %s.", format.Clip(string(f.Cause)))
	case f.State != "" && !slices.Contains(node.States(), f.State):
		q.Fail("There is no provision state %s.", format.Clip(string(f.State)))
	}
	f.Only = httpd.View(c, access.NodeWhy)
	names := c.QueryArray("node")
	if len(names) > maxAttentionNodes {
		q.Fail("At most %d nodes can be named", maxAttentionNodes)
	}
	for _, name := range names {
		if !node.IsUUID(node.CanonicalUUID(name)) && !node.ValidName(name, format.MaxMinor) {
			q.Fail("Expected a logical name or UUID but received %s.", format.Clip(name))
		}
	}
	if p.Marker != "" && !readMarker(p.Marker, group != "", &f) {
		q.Fail("the marker is none of this list: %s", format.Clip(p.Marker))
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	ctx := c.Request.Context()
	asked := make(chan status.System, 1) // clients who may not read what its parts are get no list of the broken ones
	if access.FleetGet.AllowsAll(httpd.IdentityOf(c)) {
		go func() { asked <- s.system(ctx, false) }()
	} else {
		asked <- status.System{}
	}
	if len(names) > 0 {
		uuids, err := s.Store.NodeUUIDs(ctx, names, f.Only)
		if err != nil {
			return 0, nil, err
		}
		f.Nodes = []string{}
		for _, name := range names {
			if uuids[name] == "" {
				return 0, nil, fault.Coded(fault.NodeNotFound, "Node %s could not be found.", format.Clip(name))
			}
			f.Nodes = append(f.Nodes, uuids[name])
		}
	}
	if group == "" {
		all, err := s.Store.Attention(ctx, f)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, withBroken(<-asked, format.Collection[node.Attention]{
			Name: "nodes", Path: "/temper/v1/why", Show: showAttention,
			Marker: func(a *node.Attention) string { return fmt.Sprintf("%d.%d", a.Rank, a.ID) },
		}.Body(q, p, all)), nil
	}
	groups, err := s.Store.AttentionGroups(ctx, f)
	if err != nil {
		return 0, nil, err
	}
	members, err := s.membersOf(ctx, groups)
	if err != nil {
		return 0, nil, err
	}
	system := <-asked
	return http.StatusOK, withBroken(system, format.Collection[node.AttentionGroup]{
		Name: "groups", Path: "/temper/v1/why", Show: func(g *node.AttentionGroup) any { return showAttentionGroup(g, members, system) },
		Marker: func(g *node.AttentionGroup) string { return fmt.Sprintf("%d.%d.%s", g.Rank, g.Nodes, g.Cause) },
	}.Body(q, p, groups)), nil
}

// withBroken adds to a list of nodes which parts of Temper are broken: nodes do not say that nothing goes on.
func withBroken(s status.System, body gin.H) gin.H {
	broken := []shownPart{}
	for _, p := range status.Parts(s) {
		if p.Broken() {
			broken = append(broken, showPart(p))
		}
	}
	body["broken"] = broken
	return body
}

// readMarker reads the place in a list after which a page begins.
func readMarker(marker string, groups bool, f *node.AttentionFilter) bool {
	words := strings.SplitN(marker, ".", 3)
	if want := 2; len(words) != want && !groups || len(words) != want+1 && groups {
		return false
	}
	rank, err := strconv.Atoi(words[0])
	place, bad := strconv.ParseInt(words[1], 10, 64)
	if err != nil || bad != nil || rank < 1 || rank > len(node.Reasons) || place < 1 {
		return false
	}
	f.AfterRank = rank
	if !groups {
		f.AfterNode = place
		return true
	}
	f.AfterCount, f.AfterCause = int(place), fault.Code(words[2])
	return f.AfterCause == "" || slices.Contains(fault.Causes(), f.AfterCause)
}

func showAttention(a *node.Attention) any {
	n := &node.Node{UUID: a.NodeUUID, Name: a.NodeName}
	out := shownAttention{
		NodeUUID: a.NodeUUID, NodeName: format.OrNull(a.NodeName), State: a.ProvisionState, Reason: a.Reason, Cause: format.OrNull(string(a.Cause)),
		Sentence: finding.NeedsAttention(a), Since: format.Timestamp(a.Since), Help: []help.Item{help.Of(n, help.Action{Do: fault.ExplainNode})},
	}
	if a.Operation != 0 {
		out.Operation = strconv.FormatInt(a.Operation, 10)
	}
	return out
}

// membersOf returns the first named node of each group of nodes that take too long, by that name. What somebody can do about such nodes
// depends on how they are reached, and on their operations.
func (s *Server) membersOf(ctx context.Context, groups []node.AttentionGroup) (map[string]*node.Node, error) {
	var names []string
	for i := range groups {
		if g := &groups[i]; g.Reason == node.ReasonLate && len(g.Names) > 0 {
			names = append(names, g.Names[0])
		}
	}
	if names == nil {
		return nil, nil
	}
	uuids, err := s.Store.NodeUUIDs(ctx, names, nil)
	if err != nil {
		return nil, err
	}
	read, err := s.Store.NodesByUUID(ctx, slices.Collect(maps.Values(uuids)))
	if err != nil {
		return nil, err
	}
	out := map[string]*node.Node{}
	for i := range read {
		out[read[i].Name], out[read[i].UUID] = &read[i], &read[i]
	}
	return out, nil
}

func showAttentionGroup(g *node.AttentionGroup, members map[string]*node.Node, system status.System) any {
	items, member := make([]help.Item, 0, 3), (*node.Node)(nil)
	if len(g.Names) > 0 {
		member = members[g.Names[0]]
		items = append(items, help.Of(&node.Node{UUID: g.Names[0], Name: g.Names[0]}, help.Action{Do: fault.ExplainNode}))
	}
	for _, a := range explain.OfGroup(g.Reason, g.Cause, member, system) {
		items = append(items, help.Of(member, a))
	}
	return shownAttentionGroup{
		Help:   items,
		Reason: g.Reason, Cause: format.OrNull(string(g.Cause)), Nodes: g.Nodes, Since: format.Timestamp(g.Since), Names: g.Names,
		Sentence: finding.NeedsPerson(g.Nodes, g.Reason, g.Cause), Advice: format.OrNull(explain.GroupAdvice(g.Reason, g.Cause, system)),
	}
}

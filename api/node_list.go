package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// nodeFilters are the filters of a list of nodes, by the version that added
// each. conductor is not in the row: it is computed (ownedBy).
var nodeFilters = []struct {
	name  string
	since int
}{
	{"associated", 1},
	{"chassis_uuid", 1},
	{"instance_uuid", 1},
	{"maintenance", 1},
	{"provision_state", 9},
	{"driver", 16},
	{"resource_class", 21},
	{"fault", 42},
	{"conductor_group", 46},
	{"conductor", 49},
	{"owner", 50},
	{"description_contains", 51},
	{"retired", 61},
	{"lessee", 65},
	{"project", 65},
	{"shard", 82},
	{"sharded", 82},
	{"parent_node", 83},
	{"include_children", 83},
	{"instance_name", 104},
}

var nodeListParameters = func() []string {
	out := slices.Concat(pageParameters, []string{"fields", "detail"})
	for _, f := range nodeFilters {
		out = append(out, f.name)
	}
	return out
}()

// validFaults are the values of the filter fault.
var validFaults = []string{node.FaultPower, node.FaultClean, node.FaultRescueAbort, node.FaultService, node.FaultNoConductor}

// nodeFilter reads the filters, and the conductor, which is not the row's.
func nodeFilter(q *query) (f node.Filter, conductor *string) {
	for _, one := range nodeFilters {
		q.need(one.since, one.name)
	}
	f = node.Filter{
		Driver: q.text("driver"), ResourceClass: q.text("resource_class"), ConductorGroup: lower(q.text("conductor_group")),
		Owner: q.text("owner"), Lessee: q.text("lessee"), Project: q.text("project"),
		DescriptionContains: q.text("description_contains"), Fault: q.text("fault"),
		Associated: q.boolean("associated"), Maintenance: q.boolean("maintenance"),
		Retired: q.boolean("retired"), Sharded: q.boolean("sharded"),
	}
	for name, to := range map[string]**string{
		"instance_uuid": &f.InstanceUUID, "chassis_uuid": &f.ChassisUUID, "parent_node": &f.ParentNode,
	} {
		if id := q.uuid(name); q.has(name) {
			*to = &id
		}
	}
	if state := q.text("provision_state"); state != nil {
		s := node.State(*state)
		if !slices.Contains(node.States(), s) {
			q.failCode(fault.UnknownState, "Provision state \"%s\" is not valid", clip(*state))
		}
		f.ProvisionState = &s
	}
	if f.Fault != nil && !slices.Contains(validFaults, *f.Fault) {
		q.fail("Unrecognized fault \"%s\" is specified, allowed faults are %v", clip(*f.Fault), validFaults)
	}
	if q.has("shard") {
		f.Shards = q.list("shard")
	}
	if include := q.boolean("include_children"); include != nil {
		f.IncludeChildren = *include
	}
	return f, q.text("conductor")
}

// listNodes answers GET /v1/nodes.
func (s *Server) listNodes(c *gin.Context) (int, any, error) {
	q := readQuery(c, nodeListParameters...)
	q.need(8, "fields")
	names, detail := q.list("fields"), q.boolean("detail")
	switch {
	case detail != nil && q.minor < 43:
		q.fail("Invalid query parameter ?detail=%v received.", *detail)
	case detail != nil && *detail && names != nil:
		q.fail("Can not specify ?detail=True and fields in the same request.")
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	var attrs []*nodeAttribute
	var err error
	whole := detail != nil && *detail
	if names == nil && !whole {
		attrs = defaultFields(defaultNodeFields, q.minor)
	} else if attrs, err = nodeAttributes.fields(names, q.minor); err != nil {
		return 0, nil, err
	}
	return s.nodeCollection(c, q, "nodes", attrs, whole)
}

// listNodesDetail answers GET /v1/nodes/detail.
func (s *Server) listNodesDetail(c *gin.Context) (int, any, error) {
	q := readQuery(c, slices.DeleteFunc(slices.Clone(nodeListParameters), func(p string) bool { return p == "fields" || p == "detail" })...)
	return s.nodeCollection(c, q, "nodes/detail", nodeAttributes.upTo(q.minor), true)
}

func (s *Server) nodeCollection(c *gin.Context, q *query, path string, attrs []*nodeAttribute, whole bool) (int, any, error) {
	f, conductor := nodeFilter(q)
	p := q.pageByUUID(s.MaxLimit, nodeAttributes.sortable(q.minor))
	if q.err != nil {
		return 0, nil, q.err
	}
	ctx := c.Request.Context()
	fl, err := s.fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	var nodes []node.Node
	if conductor != nil {
		nodes, err = s.ownedBy(ctx, fl, *conductor, f, p)
	} else {
		nodes, err = s.Store.Nodes(ctx, f, p.store())
	}
	if err != nil {
		return 0, nil, err
	}
	body := collection[node.Node]{
		name: "nodes", path: "/v1/" + path, marker: func(n *node.Node) string { return n.UUID },
		show: func(n *node.Node) any { return s.render(c, s.viewOf(c, n, fl), attrs, whole) },
	}.body(q, p, nodes)
	if f.InstanceUUID != nil { // at most one node has it
		delete(body, "next")
	}
	return http.StatusOK, body, nil
}

// ownedBy pages through the nodes that a conductor may own until a page of those
// that it does is full. Ironic filters after the page was cut, and so loses some.
func (s *Server) ownedBy(ctx context.Context, fl *fleet, conductor string, f node.Filter, p page) ([]node.Node, error) {
	var out []node.Node
	at := p.store()
	at.Limit = s.MaxLimit
	f.Conductor = &conductor
	for _, k := range fl.all {
		if k.TakesWork() {
			f.Working = append(f.Working, k.Hostname)
		}
	}
	for {
		nodes, err := s.Store.Nodes(ctx, f, at)
		if err != nil {
			return nil, err
		}
		for i := range nodes {
			if fl.owner(&nodes[i]) != conductor {
				continue
			}
			if out = append(out, nodes[i]); len(out) == p.limit {
				return out, nil
			}
		}
		if len(nodes) < at.Limit {
			return out, nil
		}
		at.Marker = nodes[len(nodes)-1].UUID
	}
}

// getNode answers GET /v1/nodes/X.
func (s *Server) getNode(c *gin.Context) (int, any, error) {
	q := readQuery(c, "fields")
	q.need(8, "fields")
	if q.err != nil {
		return 0, nil, q.err
	}
	names := q.list("fields")
	attrs, err := nodeAttributes.fields(names, q.minor)
	if err != nil {
		return 0, nil, err
	}
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	body, err := s.nodeBody(c, n, attrs, names == nil)
	return http.StatusOK, body, err
}

// nodeBody shows one node.
func (s *Server) nodeBody(c *gin.Context, n *node.Node, attrs []*nodeAttribute, whole bool) (any, error) {
	fl, err := s.fleet(c.Request.Context())
	if err != nil {
		return nil, err
	}
	return s.render(c, s.viewOf(c, n, fl), attrs, whole), nil
}

func (s *Server) viewOf(c *gin.Context, n *node.Node, fl *fleet) *view {
	v := &view{Node: n, minor: minor(c), fleet: fl}
	if n.Operation != nil {
		v.workflowURL = s.WorkflowURL(n.Operation)
	}
	return v
}

// find gives the node of a path; names are known from 1.5 on.
func (s *Server) find(c *gin.Context, ident string) (*node.Node, error) {
	ident, err := s.ident(c, ident)
	if err != nil {
		return nil, err
	}
	return s.Store.Node(c.Request.Context(), ident)
}

// nodeAndFleet are the node of the path, and the conductors.
func (s *Server) nodeAndFleet(c *gin.Context) (*node.Node, *fleet, error) {
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return nil, nil, err
	}
	fl, err := s.fleet(c.Request.Context())
	return n, fl, err
}

// ident checks a node's name or uuid from a path. Where ".json" was taken off
// the path and no node is called so, the name has it.
func (s *Server) ident(c *gin.Context, ident string) (string, error) {
	if isUUID(ident) {
		return canonicalUUID(ident), nil
	}
	switch {
	case minor(c) < 5:
		return "", node.NotFound(clip(ident))
	case !node.ValidName(ident, minor(c)):
		return "", fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", clip(ident))
	}
	if hadJSONSuffix(c.Request.Context()) {
		if _, err := s.Store.Node(c.Request.Context(), ident); fault.Is(err, fault.NotFound) {
			return ident + ".json", nil
		}
	}
	return ident, nil
}

func lower(s *string) *string {
	if s == nil {
		return nil
	}
	l := strings.ToLower(*s)
	return &l
}

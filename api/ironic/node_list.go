package ironic

import (
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// nodeFilters are the filters of a list of nodes, by the first version that may use
// each. Ironic does not look at the version for retired, description_contains and
// project. conductor is not in the row: it is computed (ownedBy).
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
	{"description_contains", 1},
	{"retired", 1},
	{"lessee", 65},
	{"project", 1},
	{"shard", 82},
	{"sharded", 82},
	{"parent_node", 83},
	{"include_children", 83},
	{"instance_name", 104},
	{"health", minorHealth},
}

var nodeListParameters = func() []string {
	out := slices.Concat(format.PageParameters, []string{"fields", "detail"})
	for _, f := range nodeFilters {
		out = append(out, f.name)
	}
	return out
}()

// validFaults are the values of the filter fault.
var validFaults = []string{node.FaultPower, node.FaultClean, node.FaultRescueAbort, node.FaultService, node.FaultNoConductor}

// nodeFilter reads the filters, and the conductor, which is not the row's.
func nodeFilter(q *format.Query) (f node.Filter, conductor *string) {
	for _, one := range nodeFilters {
		q.RequireVersion(one.since, one.name)
	}
	f = node.Filter{
		Driver: q.Text("driver"), ResourceClass: q.Text("resource_class"), ConductorGroup: format.Lower(q.Text("conductor_group")),
		Owner: q.Text("owner"), Lessee: q.Text("lessee"), Project: q.Text("project"),
		DescriptionContains: q.Text("description_contains"), Fault: q.Text("fault"), InstanceName: q.Text("instance_name"),
		Associated: q.Boolean("associated"), Maintenance: q.Boolean("maintenance"),
		Retired: q.Boolean("retired"), Sharded: q.Boolean("sharded"),
	}
	for name, to := range map[string]**string{
		"instance_uuid": &f.InstanceUUID, "chassis_uuid": &f.ChassisUUID, "parent_node": &f.ParentNode,
	} {
		if id := q.UUID(name); q.Has(name) {
			*to = &id
		}
	}
	if state := q.Text("provision_state"); state != nil {
		s := node.State(*state)
		if !slices.Contains(node.States(), s) {
			q.FailCode(fault.UnknownState, "Provision state \"%s\" is not valid", format.Clip(*state))
		}
		f.ProvisionState = &s
	}
	if f.Fault != nil && !slices.Contains(validFaults, *f.Fault) {
		q.Fail("Unrecognized fault \"%s\" is specified, allowed faults are %v", format.Clip(*f.Fault), validFaults)
	}
	if health := q.Text("health"); health != nil {
		s := node.HealthStatus(strings.ToLower(*health))
		if shownHealth(s) == nil {
			q.Fail("Unrecognized health \"%s\" is specified, allowed are OK, Warning and Critical", format.Clip(*health))
		}
		f.Health = &s
	}
	if q.Has("shard") {
		f.Shards = q.List("shard")
	}
	if include := q.Boolean("include_children"); include != nil {
		f.IncludeChildren = *include
	}
	return f, q.Text("conductor")
}

// listNodes answers GET /v1/nodes.
func (s *Server) listNodes(c *gin.Context) (int, any, error) { return s.listNodesIn(c, "", "nodes") }

// listNodesIn lists the nodes in a chassis, or all ("").
func (s *Server) listNodesIn(c *gin.Context, chassis, path string) (int, any, error) {
	q := format.ReadQuery(c, nodeListParameters...)
	q.RequireVersion(8, "fields")
	names, detail := q.List("fields"), q.Boolean("detail")
	switch {
	case detail != nil && q.Minor < 43:
		q.Fail("Invalid query parameter ?detail=%v received.", *detail)
	case detail != nil && *detail && names != nil:
		q.Fail("Can not specify ?detail=True and fields in the same request.")
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	var attrs []*nodeAttribute
	var err error
	whole := detail != nil && *detail
	if names == nil && !whole {
		attrs = defaultFields(defaultNodeFields, q.Minor)
	} else if attrs, err = nodeAttributes.Fields(names, q.Minor); err != nil {
		return 0, nil, err
	}
	return s.nodeCollection(c, q, chassis, path, attrs, whole)
}

// listNodesDetail answers GET /v1/nodes/detail.
func (s *Server) listNodesDetail(c *gin.Context) (int, any, error) {
	return s.listNodesDetailIn(c, "", "nodes/detail")
}

// listNodesDetailIn is listNodesIn with all fields.
func (s *Server) listNodesDetailIn(c *gin.Context, chassis, path string) (int, any, error) {
	q := format.ReadQuery(c, slices.DeleteFunc(slices.Clone(nodeListParameters), func(p string) bool { return p == "fields" || p == "detail" })...)
	return s.nodeCollection(c, q, chassis, path, nodeAttributes.UpTo(q.Minor), true)
}

func (s *Server) nodeCollection(c *gin.Context, q *format.Query, chassis, path string, attrs []*nodeAttribute, whole bool) (int, any, error) {
	f, conductor := nodeFilter(q)
	p := q.PageByUUID(s.MaxLimit, nodeAttributes.Sortable(q.Minor))
	if q.Err != nil {
		return 0, nil, q.Err
	}
	ctx := c.Request.Context()
	if chassis == "" && f.ChassisUUID != nil {
		chassis = *f.ChassisUUID
	}
	if chassis != "" && !access.ChassisGet.AllowsAll(httpd.IdentityOf(c)) {
		chassis = node.CanonicalUUID(chassis) // whether there is such a chassis is none of the client's business
		f.ChassisUUID = &chassis
	} else if chassis != "" {
		found, err := chassisResource.named(c, chassis, s.Store.Chassis)
		if err != nil {
			return 0, nil, err
		}
		f.ChassisUUID = &found.UUID
	}
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	nodes := s.Store.EachNode(ctx, f, p.Of(httpd.View(c, access.NodeGet)))
	if conductor != nil {
		nodes = s.ownedBy(c, fl, *conductor, f, p)
	}
	if f.InstanceUUID != nil { // at most one node has it
		p.Limit = 0
	}
	shown := s.nodesShown(c, fl, attrs, whole)
	return http.StatusOK, format.Collection[node.Listed]{
		Name: "nodes", Path: "/v1/" + path, Marker: func(n *node.Listed) string { return n.UUID }, Show: func(n *node.Listed) any { return shown(n) },
	}.Parts(q, p, nodes), nil
}

// ownedBy pages through the nodes that a conductor may own until a page of those
// that it does is full. Ironic filters after the page was cut, and so loses some.
func (s *Server) ownedBy(c *gin.Context, fl *intent.Fleet, conductor string, f node.Filter, p format.Page) iter.Seq2[*node.Listed, error] {
	at := p.Of(httpd.View(c, access.NodeGet))
	at.Limit = s.MaxLimit
	f.Conductor = &conductor
	for _, k := range fl.All {
		if k.TakesWork() {
			f.Working = append(f.Working, k.Hostname)
		}
	}
	return func(yield func(*node.Listed, error) bool) {
		for left := p.Limit; ; {
			read := 0
			for n, err := range s.Store.EachNode(c.Request.Context(), f, at) {
				if err != nil {
					yield(nil, err)
					return
				}
				read, at.Marker = read+1, n.UUID
				if fl.Owner(&n.Node) != conductor {
					continue
				}
				if left--; !yield(n, nil) || left == 0 {
					return
				}
			}
			if read < at.Limit {
				return
			}
		}
	}
}

// getNode answers GET /v1/nodes/X.
func (s *Server) getNode(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "fields")
	q.RequireVersion(8, "fields")
	if q.Err != nil {
		return 0, nil, q.Err
	}
	names := q.List("fields")
	attrs, err := nodeAttributes.Fields(names, q.Minor)
	if err != nil {
		return 0, nil, err
	}
	n, fl, err := s.FindListed(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	body, err := s.nodesShown(c, fl, attrs, names == nil)(n).AppendJSON(nil)
	return http.StatusOK, jsonvalue.Text(body), err
}

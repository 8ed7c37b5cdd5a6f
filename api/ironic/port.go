package ironic

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// minorConductorGroups is the version in which ports and port groups can be listed by the conductor groups of their nodes.
const minorConductorGroups = 99

type portAttribute = format.Attribute[node.Port, node.Port]

// portAttributes is the port resource (Ironic api/controllers/v1/port.py).
var portAttributes = format.Attributes[node.Port, node.Port]{
	{Name: "uuid", Since: 1, Value: func(p *node.Port) any { return p.UUID }, Set: portSet.UUID("uuid", func(p *node.Port) *string { return &p.UUID }), Create: true},
	{Name: "created_at", Since: 1, Value: func(p *node.Port) any { return format.Timestamp(&p.CreatedAt) }},
	{Name: "updated_at", Since: 1, Value: func(p *node.Port) any { return format.Timestamp(p.UpdatedAt) }},
	{Name: "address", Since: 1, Value: func(p *node.Port) any { return p.Address }, Set: setAddress, Create: true, Patch: true},
	{
		Name: "extra", Since: 1, Value: func(p *node.Port) any { return format.Dict(p.Extra) }, Nosort: true,
		Set: portSet.Dict("extra", func(p *node.Port) *map[string]any { return &p.Extra }), Create: true, Patch: true,
	},
	{Name: "node_uuid", Since: 1, Value: func(p *node.Port) any { return p.NodeUUID }, Set: setNodeUUID, Create: true, Patch: true},
	{Name: "internal_info", Since: 18, Value: func(p *node.Port) any { return format.Dict(p.InternalInfo) }, Nosort: true},
	{
		Name: "local_link_connection", Since: 19, Value: func(p *node.Port) any { return format.Dict(p.LocalLinkConnection) }, Nosort: true,
		Set: setLocalLink, Create: true, Patch: true,
	},
	{Name: "pxe_enabled", Since: 19, Value: func(p *node.Port) any { return p.PXEEnabled }, Set: portSet.Boolean("pxe_enabled", true, func(p *node.Port) *bool { return &p.PXEEnabled }), Create: true, Patch: true},
	{
		Name: "portgroup_uuid", Since: minorPortgroupsOf, Value: func(p *node.Port) any { return format.OrNull(p.PortgroupUUID) },
		Set: portSet.UUID("portgroup_uuid", func(p *node.Port) *string { return &p.PortgroupUUID }), Create: true, Patch: true,
	},
	{Name: "physical_network", Since: 34, Value: func(p *node.Port) any { return format.OrNull(p.PhysicalNetwork) }, Set: setPhysicalNetwork, Create: true, Patch: true},
	{Name: "is_smartnic", Since: 53, Value: func(p *node.Port) any { return p.IsSmartNIC }, Set: portSet.Boolean("is_smartnic", false, func(p *node.Port) *bool { return &p.IsSmartNIC }), Create: true, Patch: true},
	{Name: "name", Since: 88, Value: func(p *node.Port) any { return format.OrNull(p.Name) }, Set: setPortName, Create: true, Patch: true},
	{
		Name: "description", Since: 97, Value: func(p *node.Port) any { return format.OrNull(p.Description) },
		Set: portSet.Text("description", 255, func(p *node.Port) *string { return &p.Description }), Create: true, Patch: true,
	},
	{
		Name: "vendor", Since: 100, Value: func(p *node.Port) any { return format.OrNull(p.Vendor) },
		Set: portSet.Text("vendor", 32, func(p *node.Port) *string { return &p.Vendor }), Create: true, Patch: true,
	},
	{
		Name: "category", Since: 101, Value: func(p *node.Port) any { return format.OrNull(p.Category) },
		Set: portSet.Text("category", 80, func(p *node.Port) *string { return &p.Category }), Create: true, Patch: true,
	},
	{
		Name: "available_for_dynamic_portgroup", Since: 111, Value: func(p *node.Port) any { return p.AvailableForDynamicPortgroup },
		Set: portSet.Boolean("available_for_dynamic_portgroup", true, func(p *node.Port) *bool { return &p.AvailableForDynamicPortgroup }), Create: true, Patch: true,
	},
}

func (s *Server) portBody(c *gin.Context, p *node.Port, attrs []*portAttribute) map[string]any {
	out := format.Show(p, attrs)
	out["links"] = format.Links(format.PublicURL(c), "ports/"+p.UUID)
	return out
}

var portListParameters = slices.Concat(format.PageParameters,
	[]string{"fields", "detail", "node", "node_uuid", "address", "portgroup", "shard", "description_contains", "conductor_groups"})

// listPorts answers GET /v1/ports.
func (s *Server) listPorts(c *gin.Context) (int, any, error) {
	return s.portCollection(c, "ports", node.PortFilter{}, false)
}

// listPortsDetail answers GET /v1/ports/detail.
func (s *Server) listPortsDetail(c *gin.Context) (int, any, error) {
	return s.portCollection(c, "ports/detail", node.PortFilter{}, true)
}

// listNodePorts answers GET /v1/nodes/X/ports.
func (s *Server) listNodePorts(c *gin.Context) (int, any, error) {
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return s.portCollection(c, "nodes/"+url.PathEscape(c.Param("node"))+"/ports", node.PortFilter{Node: &n.UUID}, false)
}

// listNodePortsDetail answers GET /v1/nodes/X/ports/detail.
func (s *Server) listNodePortsDetail(c *gin.Context) (int, any, error) {
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return s.portCollection(c, "nodes/"+url.PathEscape(c.Param("node"))+"/ports/detail", node.PortFilter{Node: &n.UUID}, true)
}

// portCollection lists the ports of a node or port group, which within says, or all.
func (s *Server) portCollection(c *gin.Context, path string, within node.PortFilter, whole bool) (int, any, error) {
	q := format.ReadQuery(c, portListParameters...)
	q.RequireVersion(8, "fields")
	q.RequireVersion(minorPortgroupsOf, "portgroup")
	q.RequireVersion(82, "shard")
	q.RequireVersion(97, "description_contains")
	names, detail := q.List("fields"), q.Boolean("detail")
	if detail != nil {
		if q.Minor < 43 {
			q.Fail("Invalid query parameter ?detail=%v received.", *detail)
		}
		if *detail && names != nil {
			q.Fail("Can not specify ?detail=True and fields in the same request.")
		}
		whole = whole || *detail
	}
	if names == nil && !whole {
		names = []string{"uuid", "address"}
	}
	p := q.PageByUUID(s.MaxLimit, portAttributes.Sortable(q.Minor))
	f, none, err := s.portFilter(c, q, within)
	if err != nil {
		return 0, nil, err
	}
	attrs, err := portAttributes.Fields(names, q.Minor)
	if err != nil {
		return 0, nil, err
	}
	var ports []node.Port
	if !none {
		if ports, err = s.Store.Ports(c.Request.Context(), f, p.Of(httpd.View(c, access.PortGet))); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusOK, format.Collection[node.Port]{
		Name: "ports", Path: "/v1/" + path, Marker: func(p *node.Port) string { return p.UUID },
		Show: func(p *node.Port) any { return s.portBody(c, p, attrs) },
	}.Body(q, p, ports), nil
}

// portFilter adds the filters to within; none says that nothing can match.
func (s *Server) portFilter(c *gin.Context, q *format.Query, within node.PortFilter) (f node.PortFilter, none bool, err error) {
	f = within
	ident := q.UUID("node_uuid")
	if ident == "" {
		ident = q.Word("node")
	}
	if f.Node != nil {
		ident = *f.Node
	}
	group := q.Word("portgroup")
	if f.Portgroup != nil {
		group = *f.Portgroup
	}
	if a := q.Text("address"); a != nil {
		mac, ok := normalMAC(*a)
		if !ok {
			q.Fail("Expected valid MAC address for address: %s", format.Clip(*a))
		}
		f.Address = &mac
	}
	if q.Has("shard") {
		f.Shards = q.List("shard")
	}
	f.DescriptionContains = q.Text("description_contains")
	f.ConductorGroups = conductorGroups(q)
	exclusive := 0
	for _, given := range []bool{ident != "", group != "", len(f.Shards) > 0} {
		if given {
			exclusive++
		}
	}
	if q.Err != nil {
		return f, false, q.Err
	}
	if exclusive > 1 {
		return f, false, fault.New(fault.Forbidden, "Operation not permitted.")
	}
	if group != "" && f.Portgroup == nil {
		g, err := portgroupResource.named(c, group, s.Store.Portgroup)
		if err != nil {
			return f, false, err
		}
		if _, err := s.Store.PortgroupOwners(c.Request.Context(), g.UUID, httpd.View(c, access.PortgroupGet)); err != nil {
			return f, false, fault.New(fault.NotFound, "Portgroup %s could not be found.", format.Clip(group))
		}
		f.Portgroup = &g.UUID
	}
	if ident != "" && f.Node == nil {
		n, err := s.Find(c, ident)
		if err != nil {
			return f, false, err
		}
		f.Node = &n.UUID
	}
	return f, q.Has("shard") && len(f.Shards) == 0, nil
}

// conductorGroups reads the filter of that name.
func conductorGroups(q *format.Query) []string {
	q.RequireVersion(minorConductorGroups, "conductor_groups")
	out := q.List("conductor_groups")
	if q.Has("conductor_groups") && len(out) == 0 {
		out = []string{""} // the group of nodes that name none
	}
	return out
}

// getPort answers GET /v1/ports/X.
func (s *Server) getPort(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "fields")
	q.RequireVersion(8, "fields")
	if q.Err != nil {
		return 0, nil, q.Err
	}
	attrs, err := portAttributes.Fields(q.List("fields"), q.Minor)
	if err != nil {
		return 0, nil, err
	}
	ident, err := portIdent(c)
	if err != nil {
		return 0, nil, err
	}
	p, err := s.Store.Port(c.Request.Context(), ident)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.portBody(c, p, attrs), nil
}

// portIdent is the port of a path: by uuid, and by name from 1.88 on.
func portIdent(c *gin.Context) (string, error) {
	ident := c.Param("port")
	switch {
	case node.IsUUID(ident):
		return node.CanonicalUUID(ident), nil
	case format.Minor(c) < 88:
		return "", fault.New(fault.Invalid, "Expected UUID for port_uuid: %s", format.Clip(ident))
	case !node.ValidName(ident, format.Minor(c)):
		return "", fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", format.Clip(ident))
	}
	return ident, nil
}

// createPort answers POST /v1/ports.
func (s *Server) createPort(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, portAttributes.Creatable()...)
	if err != nil {
		return 0, nil, err
	}
	for _, name := range []string{"address", "node_uuid"} {
		if !in.Has(name) {
			in.Fail("Schema error for port: '%s' is a required property", name)
		}
	}
	p := &node.Port{PXEEnabled: true, AvailableForDynamicPortgroup: true}
	for _, a := range portAttributes {
		if v, given := in.Fields[a.Name]; given && in.Err == nil {
			if a.Since > format.Minor(c) && v != nil {
				return 0, nil, format.TooNew(a.Since)
			}
			in.Err = a.Set(p, v)
		}
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	if err := checkPort(&node.Port{}, p, format.Minor(c)); err != nil {
		return 0, nil, err
	}
	if p.UUID == "" {
		p.UUID = uuid.NewString()
	}
	ctx := c.Request.Context()
	if _, err := s.VisibleFor(c, p.NodeUUID, access.PortCreate); err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	if err := s.checkMember(c, p); err != nil {
		return 0, nil, err
	}
	if err := s.Store.CreatePort(ctx, p); err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	format.Located(c, "ports/"+p.UUID)
	return http.StatusCreated, s.portBody(c, p, portAttributes.UpTo(format.Minor(c))), nil
}

// deletePort answers DELETE /v1/ports/X.
func (s *Server) deletePort(c *gin.Context) (int, any, error) {
	ident, err := portIdent(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.DeletePort(c.Request.Context(), ident)
}

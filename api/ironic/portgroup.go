package ironic

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// The versions that added port groups, what is below them or a node, and their mode.
const (
	minorPortgroups     = 23
	minorPortgroupsOf   = 24
	minorPortgroupModes = 26
)

var portgroupSet = format.Setters[node.Portgroup]{Resource: "portgroup"}

func portgroupRecord(g *node.Portgroup) *node.Record { return &g.Record }

// portgroupResource is the port group (Ironic api/controllers/v1/portgroup.py).
var portgroupResource = resource[node.Portgroup]{
	noun: "portgroup", path: "portgroups", items: "portgroups", param: "portgroup", names: minorPortgroups,
	defaults: []string{"uuid", "address", "name"}, required: []string{"node_uuid"}, detail: 43,
	record: portgroupRecord, below: []collectionLink{{"ports", minorPortgroups}},
	fresh: func() *node.Portgroup {
		return &node.Portgroup{Mode: node.DefaultPortgroupMode, StandalonePortsSupported: true}
	},
	attributes: append(recordFields(minorPortgroups, portgroupSet, portgroupRecord), format.Attributes[node.Portgroup, node.Portgroup]{
		{Name: "address", Since: minorPortgroups, Value: func(g *node.Portgroup) any { return format.OrNull(g.Address) }, Set: setPortgroupAddress, Create: true, Patch: true},
		{
			Name: "extra", Since: minorPortgroups, Value: func(g *node.Portgroup) any { return format.Dict(g.Extra) }, Nosort: true,
			Set: portgroupSet.Dict("extra", func(g *node.Portgroup) *map[string]any { return &g.Extra }), Create: true, Patch: true,
		},
		{Name: "internal_info", Since: minorPortgroups, Value: func(g *node.Portgroup) any { return format.Dict(g.InternalInfo) }, Nosort: true},
		{Name: "mode", Since: minorPortgroupModes, Value: func(g *node.Portgroup) any { return g.Mode }, Set: setPortgroupMode, Create: true, Patch: true},
		{Name: "name", Since: minorPortgroups, Value: func(g *node.Portgroup) any { return format.OrNull(g.Name) }, Set: setPortgroupName, Create: true, Patch: true},
		{
			Name: "node_uuid", Since: minorPortgroups, Value: func(g *node.Portgroup) any { return g.NodeUUID },
			Set: ownerField(portgroupSet, func(g *node.Portgroup) *string { return &g.NodeUUID }), Create: true, Patch: true,
		},
		{
			Name: "properties", Since: minorPortgroupModes, Value: func(g *node.Portgroup) any { return format.Dict(g.Properties) }, Nosort: true,
			Set: portgroupSet.Dict("properties", func(g *node.Portgroup) *map[string]any { return &g.Properties }), Create: true, Patch: true,
		},
		{
			Name: "standalone_ports_supported", Since: minorPortgroups, Value: func(g *node.Portgroup) any { return g.StandalonePortsSupported },
			Set: portgroupSet.Boolean("standalone_ports_supported", true, func(g *node.Portgroup) *bool { return &g.StandalonePortsSupported }), Create: true, Patch: true,
		},
		{
			Name: "physical_network", Since: 102, Value: func(g *node.Portgroup) any { return format.OrNull(g.PhysicalNetwork) },
			Set: portgroupSet.Text("physical_network", 64, func(g *node.Portgroup) *string { return &g.PhysicalNetwork }), Create: true, Patch: true,
		},
		{
			Name: "category", Since: 103, Value: func(g *node.Portgroup) any { return format.OrNull(g.Category) },
			Set: portgroupSet.Text("category", 80, func(g *node.Portgroup) *string { return &g.Category }), Create: true, Patch: true,
		},
		{Name: "dynamic_portgroup", Since: 111, Value: func(g *node.Portgroup) any { return g.DynamicPortgroup }},
	}...),
}

func setPortgroupAddress(g *node.Portgroup, v any) error {
	s, ok := v.(string)
	if !ok && v != nil {
		return portgroupSet.WrongType("address", "'string', 'null'", v)
	}
	mac, valid := normalMAC(s)
	if v != nil && !valid {
		return fault.New(fault.Invalid, "Expected valid MAC address for address: %s", format.Clip(s))
	}
	g.Address = mac
	return nil
}

func setPortgroupMode(g *node.Portgroup, v any) error {
	if v == nil || v == "" {
		return fault.New(fault.Invalid, "'mode' is a mandatory attribute and can not be removed")
	}
	return portgroupSet.Text("mode", 255, func(g *node.Portgroup) *string { return &g.Mode })(g, v)
}

func setPortgroupName(g *node.Portgroup, v any) error {
	if s, ok := v.(string); ok && s != "" && !node.ValidName(s, format.MaxMinor) {
		return fault.New(fault.Invalid, "Cannot create portgroup with invalid name '%s'", format.Clip(s))
	}
	return portgroupSet.Text("name", node.MaxName, func(g *node.Portgroup) *string { return &g.Name })(g, v)
}

// listPortgroups answers GET /v1/portgroups.
func (s *Server) listPortgroups(c *gin.Context) (int, any, error) {
	return s.portgroupCollection(c, "portgroups", "", false)
}

// listPortgroupsDetail answers GET /v1/portgroups/detail.
func (s *Server) listPortgroupsDetail(c *gin.Context) (int, any, error) {
	return s.portgroupCollection(c, "portgroups/detail", "", true)
}

// listNodePortgroups answers GET /v1/nodes/X/portgroups.
func (s *Server) listNodePortgroups(c *gin.Context) (int, any, error) {
	return s.portgroupCollection(c, "nodes/"+url.PathEscape(c.Param("node"))+"/portgroups", c.Param("node"), false)
}

// listNodePortgroupsDetail answers GET /v1/nodes/X/portgroups/detail.
func (s *Server) listNodePortgroupsDetail(c *gin.Context) (int, any, error) {
	return s.portgroupCollection(c, "nodes/"+url.PathEscape(c.Param("node"))+"/portgroups/detail", c.Param("node"), true)
}

// portgroupCollection lists the port groups of the node of, or of all nodes if that is "".
func (s *Server) portgroupCollection(c *gin.Context, path, of string, detailed bool) (int, any, error) {
	l, err := portgroupResource.read(c, s.MaxLimit, detailed, "node", "address", "shard", "conductor_groups")
	if err != nil {
		return 0, nil, err
	}
	l.RequireVersion(106, "shard")
	var f node.PortgroupFilter
	if a := l.Text("address"); a != nil {
		mac, ok := normalMAC(*a)
		if !ok {
			l.Fail("Expected valid MAC address for address: %s", format.Clip(*a))
		}
		f.Address = &mac
	}
	if of == "" {
		of = l.Word("node")
	}
	f.Shards, f.ConductorGroups = l.List("shard"), conductorGroups(l.Query)
	if of != "" && f.Address != nil || len(f.Shards) > 0 && (of != "" || f.Address != nil) {
		l.Fail("Filtering by node, address, or shard simultaneously is not supported.")
	}
	if l.Err != nil {
		return 0, nil, l.Err
	}
	if of != "" {
		n, err := s.Find(c, of)
		if err != nil {
			return 0, nil, err
		}
		f.Node = &n.UUID
	}
	all, err := s.Store.Portgroups(c.Request.Context(), f, l.page.Of(httpd.View(c, access.PortgroupGet)))
	if err != nil {
		return 0, nil, err
	}
	return portgroupResource.list(c, path, l, all)
}

// getPortgroup answers GET /v1/portgroups/X.
func (s *Server) getPortgroup(c *gin.Context) (int, any, error) {
	return portgroupResource.show(c, s.Store.Portgroup)
}

// createPortgroup answers POST /v1/portgroups.
func (s *Server) createPortgroup(c *gin.Context) (int, any, error) {
	g, err := portgroupResource.posted(c)
	if err != nil {
		return 0, nil, err
	}
	if _, err := s.VisibleFor(c, g.NodeUUID, access.PortgroupCreate); err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	if err := s.Store.CreatePortgroup(c.Request.Context(), g); err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	return portgroupResource.created(c, g)
}

// patchPortgroup answers PATCH /v1/portgroups/X.
func (s *Server) patchPortgroup(c *gin.Context) (int, any, error) {
	p, err := portgroupResource.patched(c, s.Store.Portgroup)
	if err != nil {
		return 0, nil, err
	}
	if err := s.permitMove(c, p.before.NodeUUID, p.after.NodeUUID, access.PortgroupCreate); err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	var g *node.Portgroup
	err = s.InTurn(ctx, fl, func(t *lockwait.Turn) (err error) {
		g, err = s.Store.UpdatePortgroup(ctx, p.before.UUID, p.after.NodeUUID, func(n *node.Node, g *node.Portgroup) error {
			return portgroupResource.apply(p, func(before, after *node.Portgroup) error {
				return s.Admit(t, n, func(n *node.Node) error {
					return portgroupChangeAllowed(n, before, after, format.Minor(c), fl.Reservation(n))
				})
			})(g)
		})
		return err
	})
	if err != nil {
		return 0, nil, nodeNotFoundIsInvalid(err)
	}
	return http.StatusOK, portgroupResource.whole(c, g), nil
}

// portgroupChangeAllowed are Ironic's rules for changing a port group, which belongs to n afterwards (Ironic conductor/manager.py,
// update_portgroup); held is the node's reservation as clients see it.
func portgroupChangeAllowed(n *node.Node, before, after *node.Portgroup, minor int, held string) error {
	switch {
	case n.ProvisionState == node.Inspecting && minor >= 39:
		return fault.New(fault.Conflict, "Cannot update portgroup \"%s\" on node \"%s\" while it is in state \"%s\".", after.UUID, n.UUID, n.ProvisionState)
	case held != "" && !sameBond(before, after):
		return node.Locked(n, held)
	case before.NodeUUID != after.NodeUUID && !n.Maintenance && !slices.Contains(connectable, n.ProvisionState):
		return fault.New(fault.Conflict, "Portgroup %s can not be associated to node %s unless the node is in a enroll, inspecting, inspect wait, manageable state or in maintenance mode.",
			after.UUID, n.UUID)
	}
	return nil
}

// sameBond compares what of two port groups decides how the node is connected.
func sameBond(a, b *node.Portgroup) bool {
	return a.NodeUUID == b.NodeUUID && a.Address == b.Address && a.Mode == b.Mode && a.StandalonePortsSupported == b.StandalonePortsSupported &&
		a.PhysicalNetwork == b.PhysicalNetwork && reflect.DeepEqual(format.Dict(a.Properties), format.Dict(b.Properties))
}

// deletePortgroup answers DELETE /v1/portgroups/X.
func (s *Server) deletePortgroup(c *gin.Context) (int, any, error) {
	g, err := portgroupResource.find(c, s.Store.Portgroup)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.DeletePortgroup(c.Request.Context(), g.UUID)
}

// listPortgroupPorts answers GET /v1/portgroups/X/ports.
func (s *Server) listPortgroupPorts(c *gin.Context) (int, any, error) {
	return s.portsOfGroup(c, "/ports", false)
}

// listPortgroupPortsDetail answers GET /v1/portgroups/X/ports/detail.
func (s *Server) listPortgroupPortsDetail(c *gin.Context) (int, any, error) {
	return s.portsOfGroup(c, "/ports/detail", true)
}

func (s *Server) portsOfGroup(c *gin.Context, below string, detailed bool) (int, any, error) {
	g, err := portgroupResource.find(c, s.Store.Portgroup)
	if err != nil {
		return 0, nil, err
	}
	return s.portCollection(c, "portgroups/"+url.PathEscape(c.Param("portgroup"))+below, node.PortFilter{Portgroup: &g.UUID}, detailed)
}

package api

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

type portAttribute = attribute[node.Port, node.Port]

// portAttributes is the port resource (Ironic api/controllers/v1/port.py).
// Port groups are not built, so portgroup_uuid is null and stays so.
var portAttributes = attributes[node.Port, node.Port]{
	{name: "uuid", since: 1, value: func(p *node.Port) any { return p.UUID }, set: portSet.uuid("uuid", func(p *node.Port) *string { return &p.UUID }), create: true},
	{name: "created_at", since: 1, value: func(p *node.Port) any { return timestamp(&p.CreatedAt) }},
	{name: "updated_at", since: 1, value: func(p *node.Port) any { return timestamp(p.UpdatedAt) }},
	{name: "address", since: 1, value: func(p *node.Port) any { return p.Address }, set: setAddress, create: true, patch: true},
	{
		name: "extra", since: 1, value: func(p *node.Port) any { return dict(p.Extra) }, nosort: true,
		set: portSet.dict("extra", func(p *node.Port) *map[string]any { return &p.Extra }), create: true, patch: true,
	},
	{name: "node_uuid", since: 1, value: func(p *node.Port) any { return p.NodeUUID }, set: setNodeUUID, create: true, patch: true},
	{name: "internal_info", since: 18, value: func(p *node.Port) any { return dict(p.InternalInfo) }, nosort: true},
	{
		name: "local_link_connection", since: 19, value: func(p *node.Port) any { return dict(p.LocalLinkConnection) }, nosort: true,
		set: setLocalLink, create: true, patch: true,
	},
	{name: "pxe_enabled", since: 19, value: func(p *node.Port) any { return p.PXEEnabled }, set: portSet.boolean("pxe_enabled", true, func(p *node.Port) *bool { return &p.PXEEnabled }), create: true, patch: true},
	{name: "portgroup_uuid", since: 24, value: func(*node.Port) any { return nil }, set: setPortgroup, create: true, patch: true},
	{name: "physical_network", since: 34, value: func(p *node.Port) any { return orNull(p.PhysicalNetwork) }, set: setPhysicalNetwork, create: true, patch: true},
	{name: "is_smartnic", since: 53, value: func(p *node.Port) any { return p.IsSmartNIC }, set: portSet.boolean("is_smartnic", false, func(p *node.Port) *bool { return &p.IsSmartNIC }), create: true, patch: true},
	{name: "name", since: 88, value: func(p *node.Port) any { return orNull(p.Name) }, set: setPortName, create: true, patch: true},
	{
		name: "description", since: 97, value: func(p *node.Port) any { return orNull(p.Description) },
		set: portSet.text("description", 255, func(p *node.Port) *string { return &p.Description }), create: true, patch: true,
	},
}

func (s *Server) portBody(c *gin.Context, p *node.Port, attrs []*portAttribute) map[string]any {
	out := shown(p, attrs)
	out["links"] = links(publicURL(c), "ports/"+p.UUID)
	return out
}

var portListParameters = slices.Concat(pageParameters,
	[]string{"fields", "detail", "node", "node_uuid", "address", "portgroup", "shard", "description_contains", "conductor_groups"})

// listPorts answers GET /v1/ports.
func (s *Server) listPorts(c *gin.Context) (int, any, error) {
	return s.portCollection(c, "ports", "", false)
}

// listPortsDetail answers GET /v1/ports/detail.
func (s *Server) listPortsDetail(c *gin.Context) (int, any, error) {
	return s.portCollection(c, "ports/detail", "", true)
}

// listNodePorts answers GET /v1/nodes/X/ports.
func (s *Server) listNodePorts(c *gin.Context) (int, any, error) {
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return s.portCollection(c, "nodes/"+url.PathEscape(c.Param("node"))+"/ports", n.UUID, false)
}

// listNodePortsDetail answers GET /v1/nodes/X/ports/detail.
func (s *Server) listNodePortsDetail(c *gin.Context) (int, any, error) {
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return s.portCollection(c, "nodes/"+url.PathEscape(c.Param("node"))+"/ports/detail", n.UUID, true)
}

func (s *Server) portCollection(c *gin.Context, path, nodeUUID string, whole bool) (int, any, error) {
	q := readQuery(c, portListParameters...)
	q.need(8, "fields")
	q.need(24, "portgroup")
	q.need(82, "shard")
	q.need(97, "description_contains")
	q.need(99, "conductor_groups")
	names, detail := q.list("fields"), q.boolean("detail")
	if detail != nil {
		if q.minor < 43 {
			q.fail("Invalid query parameter ?detail=%v received.", *detail)
		}
		if *detail && names != nil {
			q.fail("Can not specify ?detail=True and fields in the same request.")
		}
		whole = whole || *detail
	}
	if names == nil && !whole {
		names = []string{"uuid", "address"}
	}
	p := q.pageByUUID(s.MaxLimit, portAttributes.sortable(q.minor))
	f, none, err := s.portFilter(c, q, nodeUUID)
	if err != nil {
		return 0, nil, err
	}
	attrs, err := portAttributes.fields(names, q.minor)
	if err != nil {
		return 0, nil, err
	}
	var ports []node.Port
	if !none {
		if ports, err = s.Store.Ports(c.Request.Context(), f, p.store()); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusOK, collection[node.Port]{
		name: "ports", path: "/v1/" + path, marker: func(p *node.Port) string { return p.UUID },
		show: func(p *node.Port) any { return s.portBody(c, p, attrs) },
	}.body(q, p, ports), nil
}

// portFilter reads the filters; none says that nothing can match.
func (s *Server) portFilter(c *gin.Context, q *query, nodeUUID string) (f node.PortFilter, none bool, err error) {
	ident := nodeUUID
	if ident == "" {
		if ident = q.uuid("node_uuid"); ident == "" {
			ident = q.word("node")
		}
	}
	if a := q.text("address"); a != nil {
		mac, ok := normalMAC(*a)
		if !ok {
			q.fail("Expected valid MAC address for address: %s", clip(*a))
		}
		f.Address = &mac
	}
	if q.has("shard") {
		f.Shards = q.list("shard")
	}
	exclusive := 0
	for _, given := range []bool{ident != "", q.word("portgroup") != "", len(f.Shards) > 0} {
		if given {
			exclusive++
		}
	}
	if q.err != nil {
		return f, false, q.err
	}
	if exclusive > 1 {
		return f, false, fault.New(fault.Forbidden, "Operation not permitted.")
	}
	if group := q.word("portgroup"); group != "" {
		return f, false, fault.New(fault.NotFound, "Portgroup %s could not be found.", clip(group))
	}
	if ident != "" {
		n, err := s.find(c, ident)
		if err != nil {
			return f, false, err
		}
		f.Node = &n.UUID
	}
	return f, q.has("shard") && len(f.Shards) == 0, nil
}

// getPort answers GET /v1/ports/X.
func (s *Server) getPort(c *gin.Context) (int, any, error) {
	q := readQuery(c, "fields")
	q.need(8, "fields")
	if q.err != nil {
		return 0, nil, q.err
	}
	attrs, err := portAttributes.fields(q.list("fields"), q.minor)
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
	case isUUID(ident):
		return canonicalUUID(ident), nil
	case minor(c) < 88:
		return "", fault.New(fault.Invalid, "Expected UUID for port_uuid: %s", clip(ident))
	case !node.ValidName(ident, minor(c)):
		return "", fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", clip(ident))
	}
	return ident, nil
}

// createPort answers POST /v1/ports.
func (s *Server) createPort(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, portAttributes.creatable()...)
	if err != nil {
		return 0, nil, err
	}
	for _, name := range []string{"address", "node_uuid"} {
		if !in.has(name) {
			in.fail("Schema error for port: '%s' is a required property", name)
		}
	}
	p := &node.Port{PXEEnabled: true}
	for _, a := range portAttributes {
		if v, given := in.fields[a.name]; given && in.err == nil {
			if a.since > minor(c) && v != nil {
				return 0, nil, tooNew(a.since)
			}
			in.err = a.set(p, v)
		}
	}
	if in.err != nil {
		return 0, nil, in.err
	}
	if err := checkPort(p, minor(c)); err != nil {
		return 0, nil, err
	}
	if p.UUID == "" {
		p.UUID = uuid.NewString()
	}
	ctx := c.Request.Context()
	if _, err := s.Store.Node(ctx, p.NodeUUID); err != nil {
		return 0, nil, notFoundIsInvalid(err)
	}
	if err := s.Store.CreatePort(ctx, p); err != nil {
		return 0, nil, notFoundIsInvalid(err)
	}
	located(c, "ports/"+p.UUID)
	return http.StatusCreated, s.portBody(c, p, portAttributes.upTo(minor(c))), nil
}

// notFoundIsInvalid: a request that names another resource in its body is
// wrong, its own path is there.
func notFoundIsInvalid(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.Invalid, "%w", err)
	}
	return err
}

// deletePort answers DELETE /v1/ports/X.
func (s *Server) deletePort(c *gin.Context) (int, any, error) {
	ident, err := portIdent(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.DeletePort(c.Request.Context(), ident)
}

package store

import (
	"context"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

var ports = newRecords(
	records[node.Port]{
		name: "ports", what: "port", missing: "Port %s could not be found.", code: fault.PortNotFound, named: true,
		event: "port", told: []string{"address"},
		record: func(p *node.Port) *node.Record { return &p.Record },
		node:   func(p *node.Port) *string { return &p.NodeUUID },
	},
	text("address", func(p *node.Port) *string { return &p.Address }).by(onCreate|onPatch).sorted("r"),
	optionalText("name", func(p *node.Port) *string { return &p.Name }).by(onCreate|onPatch).sorted("r"),
	optionalText("description", func(p *node.Port) *string { return &p.Description }).by(onCreate|onPatch).sorted("r"),
	flag("pxe_enabled", func(p *node.Port) *bool { return &p.PXEEnabled }).by(onCreate|onPatch).sorted("r"),
	dictionary("local_link_connection", func(p *node.Port) *map[string]any { return &p.LocalLinkConnection }).by(onCreate|onPatch),
	optionalText("physical_network", func(p *node.Port) *string { return &p.PhysicalNetwork }).by(onCreate|onPatch).sorted("r"),
	flag("is_smartnic", func(p *node.Port) *bool { return &p.IsSmartNIC }).by(onCreate|onPatch).sorted("r"),
	dictionary("extra", func(p *node.Port) *map[string]any { return &p.Extra }).by(onCreate|onPatch),
	dictionary("internal_info", func(p *node.Port) *map[string]any { return &p.InternalInfo }).by(onCreate|onPatch),
	optionalUUID("portgroup_uuid", func(p *node.Port) *string { return &p.PortgroupUUID }).by(onCreate|onPatch).sorted("r"),
	optionalText("vendor", func(p *node.Port) *string { return &p.Vendor }).by(onCreate|onPatch).sorted("r"),
	optionalText("category", func(p *node.Port) *string { return &p.Category }).by(onCreate|onPatch).sorted("r"),
	flag("available_for_dynamic_portgroup", func(p *node.Port) *bool { return &p.AvailableForDynamicPortgroup }).by(onCreate|onPatch).sorted("r"),
)

// Ports is a page of the ports that pass the filter, in order of age without a sort key.
func (s *Store) Ports(ctx context.Context, f node.PortFilter, p node.Page) ([]node.Port, error) {
	q := &query{args: args{}}
	if err := s.ofNode(ctx, q, f.Node); err != nil {
		return nil, err
	}
	q.ports(f)
	return ports.list(ctx, s, q, p)
}

// ports are the conditions but for that on the node, which is looked up before.
func (q *query) ports(f node.PortFilter) {
	equal(q, "r.address", "address", f.Address)
	q.uuidEqual("r.portgroup_uuid", "portgroup", f.Portgroup)
	if len(f.Shards) > 0 {
		q.and("n.shard = ANY(@shards)")
		q.args["shards"] = f.Shards
	}
	q.inGroups(f.ConductorGroups)
	if f.DescriptionContains != nil {
		q.and("position(lower(@description) in lower(r.description)) > 0")
		q.args["description"] = *f.DescriptionContains
	}
}

// inGroups selects what belongs to a node of one of these conductor groups. nil selects everything.
func (q *query) inGroups(groups []string) {
	if len(groups) > 0 {
		q.and("n.conductor_group = ANY(@groups)")
		q.args["groups"] = groups
	}
}

// NodePorts are all ports of a node, in order of age.
func (s *Store) NodePorts(ctx context.Context, nodeUUID string) ([]node.Port, error) {
	return s.Ports(ctx, node.PortFilter{Node: &nodeUUID}, node.Page{})
}

// Port is the port of that uuid or name.
func (s *Store) Port(ctx context.Context, ident string) (*node.Port, error) {
	return ports.find(ctx, s, ident)
}

// CreatePort inserts the port of the node NodeUUID. It fills in UUID where there is none, ID and CreatedAt.
func (s *Store) CreatePort(ctx context.Context, p *node.Port) error {
	return ports.create(ctx, s, p)
}

// UpdatePort edits the port while its row and that of a node are locked: the node of, a uuid, to which it belongs before or after the
// change. NodeUUID may be changed too.
func (s *Store) UpdatePort(ctx context.Context, ident, of string, edit func(*node.Node, *node.Port) error) (*node.Port, error) {
	return ports.updateUnder(ctx, s, ident, &underNode{uuid: of}, edit)
}

// DeletePort removes the port of that uuid or name.
func (s *Store) DeletePort(ctx context.Context, ident string) error {
	return ports.delete(ctx, s, ident)
}

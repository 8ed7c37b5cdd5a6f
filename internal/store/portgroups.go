package store

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

var portgroups = newRecords(
	records[node.Portgroup]{
		name: "portgroups", what: "port group", missing: "Portgroup %s could not be found.", named: true,
		event: "portgroup", told: []string{"address"},
		record: func(g *node.Portgroup) *node.Record { return &g.Record },
		node:   func(g *node.Portgroup) *string { return &g.NodeUUID },
	},
	optionalText("address", func(g *node.Portgroup) *string { return &g.Address }).by(onCreate|onPatch).sorted("r"),
	optionalText("name", func(g *node.Portgroup) *string { return &g.Name }).by(onCreate|onPatch).sorted("r"),
	text("mode", func(g *node.Portgroup) *string { return &g.Mode }).by(onCreate|onPatch).sorted("r"),
	dictionary("properties", func(g *node.Portgroup) *map[string]any { return &g.Properties }).by(onCreate|onPatch),
	flag("standalone_ports_supported", func(g *node.Portgroup) *bool { return &g.StandalonePortsSupported }).by(onCreate|onPatch).sorted("r"),
	optionalText("physical_network", func(g *node.Portgroup) *string { return &g.PhysicalNetwork }).by(onCreate|onPatch).sorted("r"),
	optionalText("category", func(g *node.Portgroup) *string { return &g.Category }).by(onCreate|onPatch).sorted("r"),
	flag("dynamic_portgroup", func(g *node.Portgroup) *bool { return &g.DynamicPortgroup }).by(onCreate).sorted("r"),
	dictionary("extra", func(g *node.Portgroup) *map[string]any { return &g.Extra }).by(onCreate|onPatch),
	dictionary("internal_info", func(g *node.Portgroup) *map[string]any { return &g.InternalInfo }).by(onCreate|onPatch),
)

// Portgroups is a page of the port groups that pass the filter.
func (s *Store) Portgroups(ctx context.Context, f node.PortgroupFilter, p node.Page) ([]node.Portgroup, error) {
	q := &query{args: args{}}
	if err := s.ofNode(ctx, q, f.Node); err != nil {
		return nil, err
	}
	q.portgroups(f)
	return portgroups.list(ctx, s, q, p)
}

// portgroups adds the conditions of the filter, except for the one on the node.
func (q *query) portgroups(f node.PortgroupFilter) {
	equal(q, "r.address", "address", f.Address)
	if len(f.Shards) > 0 {
		q.and("n.shard = ANY(@shards)")
		q.args["shards"] = f.Shards
	}
	q.inGroups(f.ConductorGroups)
}

// Portgroup is the port group of that uuid or name.
func (s *Store) Portgroup(ctx context.Context, ident string) (*node.Portgroup, error) {
	return portgroups.find(ctx, s, ident)
}

// CreatePortgroup inserts the port group of the node NodeUUID. It fills in UUID where there is none, ID and CreatedAt.
func (s *Store) CreatePortgroup(ctx context.Context, g *node.Portgroup) error {
	return portgroups.create(ctx, s, g)
}

// UpdatePortgroup edits the port group while its row and that of a node are locked: the node of, to which it belongs before or after
// the change. NodeUUID may be changed too, unless it has ports.
func (s *Store) UpdatePortgroup(ctx context.Context, ident, of string, edit func(*node.Node, *node.Portgroup) error) (*node.Portgroup, error) {
	return portgroups.updateUnder(ctx, s, ident, &underNode{uuid: of}, edit)
}

// DeletePortgroup removes the port group of that uuid or name. The error is fault.Invalid if it has ports.
func (s *Store) DeletePortgroup(ctx context.Context, ident string) error {
	return portgroups.delete(ctx, s, ident)
}

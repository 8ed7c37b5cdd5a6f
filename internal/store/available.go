package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// freeSQL: node n is free to be taken, coverage aside. The first line is the
// predicate of indexes nodes_free and nodes_free_by_class. Maintenance is none
// of it: such a node is offered under a trait.
const freeSQL = freeOrHeldSQL + `
	AND NOT EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)`

// freeOrHeldSQL: node n is free, or would be if no operation held it.
const freeOrHeldSQL = `
	n.provision_state = 'available' AND n.instance_uuid IS NULL AND NOT n.retired
	AND n.allocation_uuid IS NULL AND n.fault IS NULL AND n.power_state IN ('power on', 'power off')
	AND NOT (` + withheldSQL + `)`

// availableSQL: node n can be offered now, in a statement withCoverageSQL. It is
// the one condition of whoever offers nodes.
const availableSQL = servableSQL + ` AND` + freeSQL

const availableNodesSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT n.uuid::text, coalesce(n.name, ''), coalesce(n.resource_class, ''), n.conductor_group, n.traits, n.maintenance
  FROM nodes n`

// Available is a page of the nodes that can be offered to a scheduler, computed
// from the conductors' heartbeats of this moment, in order of age.
func (s *Store) Available(ctx context.Context, f node.AvailableFilter) ([]node.Offer, error) {
	q := s.availableQuery(f)
	if err := q.page("nodes", "n", nil, node.Page{Limit: f.Limit, Marker: f.Marker}); err != nil {
		return nil, err
	}
	out, err := list(ctx, s, "list available nodes", availableNodesSQL+q.String(), q.args, scanAvailable)
	if err == nil && len(out) == 0 && f.Marker != "" {
		err = s.needMarker(ctx, nodeMarkerSQL, f.Marker, "Node %s could not be found.")
	}
	return out, err
}

func (s *Store) availableQuery(f node.AvailableFilter) *query {
	q := &query{args: args{"timeout": micros(s.conductorTimeout), "withhold": s.withhold}}
	q.and(availableSQL)
	equal(q, "n.resource_class", "resource_class", f.ResourceClass)
	equal(q, "n.conductor_group", "conductor_group", f.ConductorGroup)
	switch {
	case f.Owner != nil:
		q.and("(n.owner = @owner OR n.lessee = @owner)")
		q.args["owner"] = *f.Owner
	case f.Dedicated:
		q.and("n.owner IS NULL AND n.lessee IS NULL")
	}
	q.traits(f.Traits)
	return q
}

// traits adds that a node has all of these. TraitMaintenance is what nodes in
// maintenance have, and who asks for traits and not for it gets none of them.
func (q *query) traits(want []string) {
	if len(want) == 0 {
		return
	}
	stored := slices.DeleteFunc(slices.Clone(want), func(t string) bool { return t == node.TraitMaintenance })
	q.and("n.traits @> @traits")
	q.args["traits"] = stored
	if len(stored) < len(want) {
		q.and("n.maintenance")
	} else {
		q.and("NOT n.maintenance")
	}
}

func scanAvailable(r pgx.Row) (a node.Offer, err error) {
	var maintenance bool
	err = r.Scan(&a.UUID, &a.Name, &a.ResourceClass, &a.ConductorGroup, &a.Traits, &maintenance)
	if maintenance {
		a.Requires = []string{node.TraitMaintenance}
	}
	return a, err
}

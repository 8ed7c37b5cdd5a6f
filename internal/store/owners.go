package store

import (
	"context"
	"maps"
	"strconv"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// owned is a table whose rows belong to projects, by themselves or by their node.
type owned struct {
	byUUID, byName string // the statement; "" = such rows have no names
	missing        func(ident string) error
}

// ofNodesSQL selects the projects of the node of a row.
const ofNodesSQL = "SELECT coalesce(n.owner, ''), coalesce(n.lessee, ''), false FROM "

func ownedByNode[T any](r *records[T]) owned {
	sql := ofNodesSQL + r.name + " r JOIN nodes n ON n.id = r.node_id"
	o := owned{byUUID: sql + " WHERE r.uuid = @ident", missing: r.notFound}
	if r.named {
		o.byName = sql + " WHERE r.name = @ident"
	}
	return o
}

const (
	ownersOfAllocationSQL = "SELECT coalesce(a.owner, ''), '', false FROM allocations a WHERE "
	ownersOfRunbookSQL    = "SELECT coalesce(r.owner, ''), '', r.public FROM runbooks r WHERE "
)

var (
	ownedNodes       = owned{byUUID: ofNodesSQL + "nodes n WHERE n.uuid = @ident", byName: ofNodesSQL + "nodes n WHERE n.name = @ident", missing: node.NotFound}
	ownedAllocations = owned{
		byUUID: ownersOfAllocationSQL + "a.uuid = @ident", byName: ownersOfAllocationSQL + "a.name = @ident",
		missing: func(ident string) error { return node.AllocationNotFound(words(ident, 255)) },
	}
	ownedRunbooks = owned{byUUID: ownersOfRunbookSQL + "r.uuid = @ident", byName: ownersOfRunbookSQL + "r.name = @ident", missing: runbooks.notFound}
)

// owners returns whose the row is. The error of a row that the view does not show is that of one that does not exist.
func (o owned) owners(ctx context.Context, s *Store, ident string, v *node.View) (node.Owners, error) {
	sql := byIdent(ident, o.byUUID, o.byName)
	if sql == "" {
		return node.Owners{}, o.missing(ident)
	}
	return s.owners(ctx, sql, args{"ident": ident}, v, o.missing(ident))
}

// marker returns an error if the marker of a page is something that the page's view does not show: its place in the order would tell of it.
func (o owned) marker(ctx context.Context, s *Store, p node.Page, missing string) error {
	if p.Only == nil || p.Marker == "" {
		return nil
	}
	_, err := o.owners(ctx, s, p.Marker, p.Only)
	if fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, missing, p.Marker)
	}
	return err
}

func (s *Store) owners(ctx context.Context, sql string, a args, v *node.View, missing error) (of node.Owners, err error) {
	var public bool
	found, err := s.one(ctx, "read who owns what is asked for", sql, a, func(r pgx.Row) error { return r.Scan(&of.Owner, &of.Lessee, &public) })
	if err == nil && (!found || !public && !v.Shows(of)) {
		err = missing
	}
	return of, err
}

// NodeOwners returns the projects of the node of that uuid or name, which the view must show.
func (s *Store) NodeOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error) {
	return ownedNodes.owners(ctx, s, ident, v)
}

// PortOwners returns the projects of the node of a port.
func (s *Store) PortOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error) {
	return ownedByNode(ports).owners(ctx, s, ident, v)
}

// PortgroupOwners returns the projects of the node of a port group.
func (s *Store) PortgroupOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error) {
	return ownedByNode(portgroups).owners(ctx, s, ident, v)
}

// VolumeConnectorOwners returns the projects of the node of a volume connector.
func (s *Store) VolumeConnectorOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error) {
	return ownedByNode(volumeConnectors).owners(ctx, s, ident, v)
}

// VolumeTargetOwners returns the projects of the node of a volume target.
func (s *Store) VolumeTargetOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error) {
	return ownedByNode(volumeTargets).owners(ctx, s, ident, v)
}

// AllocationOwners returns the project of an allocation.
func (s *Store) AllocationOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error) {
	return ownedAllocations.owners(ctx, s, ident, v)
}

// RunbookOwners returns the project of a runbook. Every view shows a public one.
func (s *Store) RunbookOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error) {
	return ownedRunbooks.owners(ctx, s, ident, v)
}

// OperationOwners returns the projects of the node of an operation. An operation of a deleted node has none.
func (s *Store) OperationOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error) {
	id, err := strconv.ParseInt(ident, 10, 64)
	if err != nil {
		return node.Owners{}, node.OperationNotFound(ident)
	}
	return s.owners(ctx, ofNodesSQL+"operations o LEFT JOIN nodes n ON n.id = o.node_id WHERE o.id = @id", args{"id": id}, v, noOperation(id))
}

// OwnersOfNodes returns the projects of the nodes of these uuids that exist.
func (s *Store) OwnersOfNodes(ctx context.Context, uuids []string) (map[string]node.Owners, error) {
	out := make(map[string]node.Owners, len(uuids))
	_, err := list(ctx, s, "read who owns nodes", "SELECT n.uuid::text, coalesce(n.owner, ''), coalesce(n.lessee, '') FROM nodes n WHERE n.uuid = ANY (@uuids::uuid[])",
		args{"uuids": uuids}, func(r pgx.Row) (uuid string, err error) {
			var of node.Owners
			err = r.Scan(&uuid, &of.Owner, &of.Lessee)
			out[uuid] = of
			return uuid, err
		})
	return out, err
}

// only selects the rows that the view shows. alias has the columns owner and lessee.
func (q *query) only(v *node.View, alias string) {
	if v == nil {
		return
	}
	q.and("(" + alias + ".owner = ANY(@view_owners) OR " + alias + ".lessee = ANY(@view_lessees))")
	q.views(v)
}

// onlyOwned is only for rows that have an owner and no lessee; or is a further condition under which a row is shown.
func (q *query) onlyOwned(v *node.View, alias, or string) {
	if v == nil {
		return
	}
	q.and("(" + alias + ".owner = ANY(@view_owners)" + or + ")")
	q.args["view_owners"] = append([]string{}, v.Owners...)
}

// withView returns the parameters a and those of a view: @all, @view_owners and @view_lessees.
func withView(a args, v *node.View) args {
	out := args{"all": v == nil, "view_owners": []string{}, "view_lessees": []string{}}
	if v != nil {
		out["view_owners"], out["view_lessees"] = append([]string{}, v.Owners...), append([]string{}, v.Lessees...)
	}
	maps.Copy(out, a)
	return out
}

func (q *query) views(v *node.View) {
	// An empty array, because NULL would leave the answer open.
	q.args["view_owners"], q.args["view_lessees"] = append([]string{}, v.Owners...), append([]string{}, v.Lessees...)
}

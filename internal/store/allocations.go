package store

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// allocationTable says of each column of allocations who writes it, and whether lists can be
// sorted by it.
var allocationTable = newTable(
	number("id", func(a *node.Allocation) *int64 { return &a.ID }),
	text("uuid", func(a *node.Allocation) *string { return &a.UUID }).by(onCreate).sorted("t"),
	optionalText("name", func(a *node.Allocation) *string { return &a.Name }).by(onCreate|onPatch).sorted("t"),
	unread[node.Allocation]("node_id"), // activeAllocationSQL writes it
	text("state", func(a *node.Allocation) *node.AllocationState { return &a.State }).by(onCreate).sorted("t"),
	optionalText("last_error", func(a *node.Allocation) *string { return &a.LastError }).by(onCreate).sorted("t"),
	optionalText("resource_class", func(a *node.Allocation) *string { return &a.ResourceClass }).by(onCreate).sorted("t"),
	other("traits", func(a *node.Allocation) *[]string { return &a.Traits }, func(a *node.Allocation, _ *dicts) any {
		return sortedTraits(a.Traits)
	}).by(onCreate),
	other("candidate_nodes", func(a *node.Allocation) *[]string { return &a.CandidateNodes }, func(a *node.Allocation, _ *dicts) any {
		return append([]string{}, a.CandidateNodes...) // never null
	}).by(onCreate),
	optionalText("owner", func(a *node.Allocation) *string { return &a.Owner }).by(onCreate).sorted("t"),
	dictionary("extra", func(a *node.Allocation) *map[string]any { return &a.Extra }).by(onCreate|onPatch),
	instant("created_at", func(a *node.Allocation) *time.Time { return &a.CreatedAt }).sorted("t"),
	optional("updated_at", "'-infinity'", func(a *node.Allocation) **time.Time { return &a.UpdatedAt }).sorted("t"),
)

const (
	allocationsSQL      = `SELECT t.*, coalesce(n.uuid::text, '') FROM allocations t LEFT JOIN nodes n ON n.id = t.node_id`
	allocationByUUIDSQL = `SELECT t.*, coalesce(n.uuid::text, '') FROM allocations t LEFT JOIN nodes n ON n.id = t.node_id WHERE t.uuid = @ident`
	allocationByNameSQL = `SELECT t.*, coalesce(n.uuid::text, '') FROM allocations t LEFT JOIN nodes n ON n.id = t.node_id WHERE t.name = @ident`
	allocationMarkerSQL = `SELECT true FROM allocations WHERE uuid = @marker`
)

// allocationSort has the SQL expression of each sort key of allocations.
var allocationSort = allocationTable.sorts()

// eachAllocation returns a scan of rows of allocations (t.*) and the uuid of their node, "" = none.
func eachAllocation() func(pgx.Row) (node.Allocation, error) {
	var uuid string
	scan := eachRow(allocationTable, &uuid)
	return func(r pgx.Row) (node.Allocation, error) {
		a, err := scan(r)
		a.NodeUUID = uuid
		return a, err
	}
}

// Allocation returns the allocation whose uuid or name is ident.
func (s *Store) Allocation(ctx context.Context, ident string) (*node.Allocation, error) {
	var a node.Allocation
	found, err := s.one(ctx, "read allocation "+words(ident, 64), byIdent(ident, allocationByUUIDSQL, allocationByNameSQL), args{"ident": ident}, func(r pgx.Row) (err error) {
		a, err = eachAllocation()(r)
		return err
	})
	if err == nil && !found {
		err = node.AllocationNotFound(words(ident, 255))
	}
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// allocationMissing is the error for a marker that is no allocation.
const allocationMissing = "Allocation %s could not be found."

// Allocations returns a page of the allocations that the filter selects. Without a sort key the
// oldest come first.
func (s *Store) Allocations(ctx context.Context, f node.AllocationFilter, p node.Page) ([]node.Allocation, error) {
	q := &query{args: args{}}
	if f.Node != nil {
		id, _, err := s.nodeID(ctx, *f.Node)
		if err != nil {
			return nil, err
		}
		q.and("t.node_id = @node")
		q.args["node"] = id
	}
	q.allocations(f)
	q.onlyOwned(p.Only, "t", "")
	if err := q.page("allocations", "t", allocationSort, p); err != nil {
		return nil, err
	}
	if err := ownedAllocations.marker(ctx, s, p, allocationMissing); err != nil {
		return nil, err
	}
	out, err := list(ctx, s, "list allocations", allocationsSQL+q.String(), q.args, eachAllocation())
	if err == nil && len(out) == 0 && p.Marker != "" {
		err = s.needMarker(ctx, allocationMarkerSQL, p.Marker, allocationMissing)
	}
	return out, err
}

// allocations adds the conditions of the filter, except for the one on the node.
func (q *query) allocations(f node.AllocationFilter) {
	equal(q, "t.resource_class", "resource_class", f.ResourceClass)
	equal(q, "t.state", "state", f.State)
	equal(q, "t.owner", "owner", f.Owner)
}

const lockAllocationSQL = `SELECT t.id FROM allocations t WHERE t.uuid = @uuid FOR NO KEY UPDATE`

var updateAllocationSQL = allocationTold("update", "").with(`
UPDATE allocations SET `+allocationTable.assignments(onPatch)+`, updated_at = clock_timestamp() WHERE uuid = @uuid RETURNING *`) + ` SELECT r.updated_at FROM r`

// allocationTold describes the event of an allocation that was created, perhaps in vain, changed or deleted.
func allocationTold(verb, where string) telling {
	eventType := ofType("baremetal.allocation." + verb + ".end")
	if verb == "create" {
		eventType = "CASE r.state WHEN 'error' THEN " + ofType("baremetal.allocation.create.error") + " ELSE " + eventType + " END"
	}
	return telling{
		eventType: eventType, of: ofAnyNode, where: where,
		data: "'allocation_uuid', r.uuid, 'allocation_name', r.name, 'allocation_state', r.state, 'resource_class', r.resource_class, " +
			"'last_error', CASE r.state WHEN 'error' THEN r.last_error END",
	}
}

// UpdateAllocation has edit change the allocation while its row is locked, and writes Name and Extra.
func (s *Store) UpdateAllocation(ctx context.Context, ident string, edit func(*node.Allocation) error) (*node.Allocation, error) {
	known, err := s.Allocation(ctx, ident)
	if err != nil {
		return nil, err
	}
	var a node.Allocation
	var found bool
	err = s.inTx(ctx, "update allocation "+known.UUID, func(b *pgx.Batch) {
		b.Queue(lockAllocationSQL, args{"uuid": known.UUID}).QueryRow(maybe(&found, func(r pgx.Row) error { return r.Scan(nil) }))
		b.Queue(allocationByUUIDSQL, args{"ident": known.UUID}).QueryRow(maybe(&found, func(r pgx.Row) (err error) {
			a, err = eachAllocation()(r)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if !found {
			return node.AllocationNotFound(words(ident, 255))
		}
		audit.Of(ctx).OnNode(a.NodeUUID, "")
		if err := edit(&a); err != nil {
			return err
		}
		change, err := allocationTable.args(&a, onPatch)
		if err != nil {
			return err
		}
		change["uuid"] = known.UUID
		b.Queue(updateAllocationSQL, change).QueryRow(func(r pgx.Row) error { return r.Scan(&a.UpdatedAt) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &a, nil
}

var deleteUnboundSQL = allocationTold("delete", "").with(`DELETE FROM allocations WHERE uuid = @uuid AND node_id IS NULL RETURNING *`) + ` SELECT r.id FROM r`

// deallocateSQL writes what node.Deallocate has changed.
var deallocateSQL = nodeUpdate(`
UPDATE nodes SET allocation_uuid = NULL, instance_uuid = NULL, instance_info = @instance_info, updated_at = clock_timestamp() WHERE id = @id`)

const (
	// disownSQL takes only the allocation off the node. The instance stays on it until the node is undeployed, and its record
	// says that it is not wanted any more.
	disownSQL = `UPDATE nodes SET allocation_uuid = NULL, updated_at = clock_timestamp() WHERE id = @id`

	recordedSQL = `SELECT true FROM instances i JOIN nodes n ON instance_stands(i, n) WHERE i.uuid = @uuid`
)

// queueDeallocate deletes the allocation of a locked node, which is free afterwards.
func (l *lockedNode) queueDeallocate(b *pgx.Batch, user string) error {
	uuid, event := l.AllocationUUID, deallocatedEvent(&l.Node, "", user)
	l.Deallocate()
	var d dicts
	_, err := l.queueUpdate(b, deallocateSQL, args{"id": l.ID, "instance_info": d.dict(l.InstanceInfo)})
	b.Queue(dropAllocationSQL, args{"node": l.ID})
	b.Queue(unrecordSQL, args{"uuid": uuid})
	queueHistory(b, l.ID, event)
	return cmp.Or(err, d.err)
}

// queueDisown deletes the allocation of a locked node that still has something of the instance on
// it. It records that the instance is not wanted any more. The node is not free until it has been
// undeployed.
func queueDisown(b *pgx.Batch, n *node.Node, user string) {
	b.Queue(disownSQL, args{"id": n.ID})
	b.Queue(dropAllocationSQL, args{"node": n.ID})
	b.Queue(absentSQL, args{"uuid": n.AllocationUUID})
	queueHistory(b, n.ID, deallocatedEvent(n, ": its instance is not wanted any more, and still on the node", user))
}

func deallocatedEvent(n *node.Node, more, user string) node.HistoryEvent {
	return node.HistoryEvent{Event: "allocation " + n.AllocationUUID + " deleted" + more, EventType: node.HistoryState, User: user}
}

// DeleteAllocation deletes the allocation whose uuid or name is ident, unless allow, which gets the
// node while its row is locked, returns an error. If the node has nothing of the instance on it, it
// is free at once. Otherwise the record of the instance says from now on that it is not wanted any
// more. An instance_uuid without a record was set by hand, and is removed.
func (s *Store) DeleteAllocation(ctx context.Context, ident, user string, allow func(*node.Node) error) error {
	a, err := s.Allocation(ctx, ident)
	if err != nil {
		return err
	}
	if a.NodeUUID == "" {
		found, err := s.changeOne(ctx, "delete allocation "+a.UUID, deleteUnboundSQL, args{"uuid": a.UUID}, func(r pgx.Row) error { return r.Scan(nil) })
		if err == nil && !found {
			err = node.AllocationNotFound(words(ident, 255))
		}
		return err
	}
	var recorded bool
	queueReads := func(b *pgx.Batch) {
		b.Queue(recordedSQL, args{"uuid": a.UUID}).QueryRow(maybe(&recorded, func(r pgx.Row) error { return r.Scan(nil) }))
	}
	err = s.inNodeTxAfter(ctx, a.NodeUUID, "delete allocation "+a.UUID, queueReads, func(l *lockedNode, b *pgx.Batch) error {
		if l.AllocationUUID != a.UUID {
			return node.AllocationNotFound(words(ident, 255))
		}
		if err := allow(&l.Node); err != nil {
			return err
		}
		if recorded && !l.Undeployed() {
			queueDisown(b, &l.Node, user)
			return nil
		}
		return l.queueDeallocate(b, user)
	})
	if fault.Is(err, fault.NotFound) { // the node was deleted meanwhile, and its allocation with it
		return node.AllocationNotFound(words(ident, 255))
	}
	return err
}

var backfillSQL = nodeUpdate(`
UPDATE nodes SET instance_uuid = @uuid, allocation_uuid = @uuid, updated_at = clock_timestamp(),
	instance_info = instance_info || jsonb_build_object('traits', to_jsonb(@asked::text[]))
 WHERE id = @id`)

// Backfill records the allocation a for a node that is in use already, unless allow returns an
// error. allow gets the node while its row is locked, and may set fields of a.
func (s *Store) Backfill(ctx context.Context, ident string, a *node.Allocation, user string, allow func(*node.Node) error) error {
	return s.inNodeTx(ctx, ident, "backfill an allocation for node "+words(ident, 64), func(l *lockedNode, b *pgx.Batch) error {
		if err := allow(&l.Node); err != nil {
			return err
		}
		a.State, a.NodeUUID = node.Allocated, l.UUID
		row, err := allocationArgs(a, node.Allocating)
		if err != nil {
			return err
		}
		b.Queue(insertAllocationSQL, row).QueryRow(func(r pgx.Row) error { return r.Scan(&a.ID, &a.CreatedAt) })
		b.Queue(activeAllocationSQL, args{"uuid": a.UUID, "node": l.ID})
		if _, err := l.queueUpdate(b, backfillSQL, args{"id": l.ID, "uuid": a.UUID, "asked": sortedTraits(a.Traits)}, "instance_info", "instance_uuid"); err != nil {
			return err
		}
		if l.InstanceUUID == "" { // otherwise a claim has set and recorded it before, or somebody has set it by hand
			b.Queue(recordSQL, args{"uuid": a.UUID, "node": l.ID})
		}
		queueHistory(b, l.ID, allocatedEvent(a, user))
		return nil
	})
}

const candidatesSQL = `
SELECT w.ident, coalesce(u.uuid, m.uuid)::text
  FROM unnest(@idents::text[], @uuids::uuid[]) AS w (ident, uuid)
  LEFT JOIN nodes u ON u.uuid = w.uuid AND (@all OR u.owner = ANY(@view_owners) OR u.lessee = ANY(@view_lessees))
  LEFT JOIN nodes m ON w.uuid IS NULL AND m.name = w.ident AND (@all OR m.owner = ANY(@view_owners) OR m.lessee = ANY(@view_lessees))`

// NodeUUIDs returns the uuids of the nodes that idents, uuids or names, stand for. An ident without a
// node that the view shows is not in the map.
func (s *Store) NodeUUIDs(ctx context.Context, idents []string, v *node.View) (map[string]string, error) {
	uuids := make([]*string, len(idents))
	for i, ident := range idents {
		if node.IsHyphenatedUUID(ident) {
			uuids[i] = &ident
		}
	}
	type found struct {
		ident string
		uuid  *string
	}
	all, err := list(ctx, s, "find nodes", candidatesSQL, withView(args{"idents": idents, "uuids": uuids}, v), func(r pgx.Row) (f found, err error) {
		return f, r.Scan(&f.ident, &f.uuid)
	})
	out := make(map[string]string, len(all))
	for _, f := range all {
		if f.uuid != nil {
			out[f.ident] = *f.uuid
		}
	}
	return out, err
}

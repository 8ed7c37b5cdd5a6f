package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	// deletedBySQL completes the record that the trigger on nodes has made.
	deletedBySQL = `UPDATE deleted_nodes SET deleted_by = @by WHERE node_id = @id`

	deletedNodesSQL = `
SELECT d.id, d.uuid::text, coalesce(d.name, ''), d.driver, d.conductor_group, coalesce(d.resource_class, ''),
	d.provision_state, d.created_at, d.deleted_at, d.deleted_by
  FROM deleted_nodes d
 WHERE d.id < coalesce(nullif(@marker::bigint, 0), 9223372036854775807)
 ORDER BY d.id DESC LIMIT @limit`

	deletedNodesOfUUIDSQL = `
SELECT d.id, d.uuid::text, coalesce(d.name, ''), d.driver, d.conductor_group, coalesce(d.resource_class, ''),
	d.provision_state, d.created_at, d.deleted_at, d.deleted_by
  FROM deleted_nodes d
 WHERE d.uuid = @node AND d.id < coalesce(nullif(@marker::bigint, 0), 9223372036854775807)
 ORDER BY d.id DESC LIMIT @limit`

	deletedNodesOfNameSQL = `
SELECT d.id, d.uuid::text, coalesce(d.name, ''), d.driver, d.conductor_group, coalesce(d.resource_class, ''),
	d.provision_state, d.created_at, d.deleted_at, d.deleted_by
  FROM deleted_nodes d
 WHERE d.name = @node AND d.id < coalesce(nullif(@marker::bigint, 0), 9223372036854775807)
 ORDER BY d.id DESC LIMIT @limit`

	deletedUUIDSQL = `SELECT d.uuid::text FROM deleted_nodes d WHERE d.uuid = @ident LIMIT 1`
	deletedNameSQL = `SELECT d.uuid::text FROM deleted_nodes d WHERE d.name = @ident ORDER BY d.id DESC LIMIT 1`
)

// DeletedNodes returns a page of the deleted nodes, newest first.
func (s *Store) DeletedNodes(ctx context.Context, f node.DeletedFilter) ([]node.Deleted, error) {
	sql, a := deletedNodesSQL, args{"limit": pageLimit(f.Limit), "marker": f.Marker}
	if f.Node != "" {
		sql = byIdent(f.Node, deletedNodesOfUUIDSQL, deletedNodesOfNameSQL)
		a["node"] = f.Node
	}
	return list(ctx, s, "list deleted nodes", sql, a, func(r pgx.Row) (d node.Deleted, err error) {
		return d, r.Scan(&d.ID, &d.UUID, &d.Name, &d.Driver, &d.Group, &d.ResourceClass, &d.ProvisionState, &d.CreatedAt, &d.DeletedAt, &d.DeletedBy)
	})
}

// onceNode returns the uuid of the node with this uuid or name, or of the deleted node
// that had it last. living reports whether the node still exists.
func (s *Store) onceNode(ctx context.Context, ident string) (uuid string, living bool, err error) {
	if _, uuid, err = s.nodeID(ctx, ident); !fault.Is(err, fault.NotFound) {
		return uuid, err == nil, err
	}
	found, lookup := false, err
	found, err = s.one(ctx, "find deleted node "+words(ident, 64), byIdent(ident, deletedUUIDSQL, deletedNameSQL), args{"ident": ident}, func(r pgx.Row) error {
		return r.Scan(&uuid)
	})
	if err == nil && !found {
		err = lookup
	}
	return uuid, false, err
}

// The nodes that have had a uuid, one after the other. A later one has the higher number.
const livesSQL = `
WITH lives AS (
	SELECT n.id, n.uuid, NULL::timestamptz AS deleted_at FROM nodes n WHERE n.uuid = @uuid
	UNION ALL
	SELECT d.node_id, d.uuid, d.deleted_at FROM deleted_nodes d WHERE d.uuid = @uuid)
SELECT ` + historyColumns + `, l.uuid::text, l.deleted_at
  FROM lives l JOIN events h ON h.node_id = l.id
 WHERE h.event_type <> '' AND h.seq > @marker
 ORDER BY h.seq LIMIT @limit`

// WholeHistory returns a page of the events of all nodes that have had this uuid, or
// the uuid that belongs to this name, oldest first. The marker is the uuid of an event.
func (s *Store) WholeHistory(ctx context.Context, ident, marker string, limit int) ([]node.HistoryEvent, error) {
	uuid, _, err := s.onceNode(ctx, ident)
	if err != nil {
		return nil, err
	}
	seq, ok, err := historyMarker(marker)
	if err != nil || !ok {
		return nil, err
	}
	return list(ctx, s, "list the whole history of node "+words(ident, 64), livesSQL, args{"uuid": uuid, "limit": pageLimit(limit), "marker": seq},
		func(r pgx.Row) (node.HistoryEvent, error) {
			of, deletedAt := "", (*time.Time)(nil)
			e, err := scanEvent(r, &of, &deletedAt)
			e.NodeUUID, e.DeletedAt = of, deletedAt
			return e, err
		})
}

// The history and the operations of a deleted node are deleted with its row, but for events that are still kept for streams: ForgetEvents
// deletes these later. Operations have no number
// of their node any more. Those that were accepted before the node was deleted are its own, or of an earlier node of that
// uuid, which was deleted longer ago.
const (
	forgottenSQL = `
SELECT d.id FROM deleted_nodes d WHERE d.deleted_at < clock_timestamp() - @age * interval '1 microsecond'
 ORDER BY d.deleted_at LIMIT @limit FOR UPDATE SKIP LOCKED`

	forgetSQL = `
WITH gone AS (DELETE FROM deleted_nodes d WHERE d.id = ANY(@ids) RETURNING d.node_id, d.uuid, d.deleted_at),
history AS (
	DELETE FROM events e WHERE e.seq IN (SELECT h.seq FROM event_retention f CROSS JOIN gone g CROSS JOIN LATERAL (
		SELECT h.seq FROM events h WHERE h.node_id = g.node_id AND h.event_type <> '' AND h.seq <= f.swept_through OFFSET 0) h)),
done AS (DELETE FROM operations o USING gone g WHERE o.node_uuid = g.uuid AND o.node_id IS NULL AND o.accepted_at <= g.deleted_at RETURNING o.id)` + forgetTimelinesSQL

	// forgetAtOnce bounds the work of one reconciliation.
	forgetAtOnce = 200
)

// ForgetDeleted deletes the records of nodes that were deleted longer ago, but of a
// bounded number of nodes at a time. It returns that number.
func (s *Store) ForgetDeleted(ctx context.Context, olderThan time.Duration) (int, error) {
	return s.forget(ctx, "forget deleted nodes", forgottenSQL, args{"age": micros(olderThan), "limit": forgetAtOnce}, forgetSQL)
}

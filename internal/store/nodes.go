package store

import (
	"context"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
	"go.temper.dev/temper/internal/share"
)

var (
	// selectNode and selectShown read rows of nodeScan; the latter also have what eachShownNode reads.
	selectNode  = `SELECT n.*, o.*, a.*, ` + relationsSQL + fromNode
	selectShown = `SELECT n.*, o.*, a.*, ` + relationsSQL + `, v.quarantined, v.held AND v.covered, v.since, v.draining, coalesce(h.status, '')` + fromNode + `
  LEFT JOIN node_health h ON h.node_id = n.id CROSS JOIN LATERAL need_coverage(n.need_id, @timeout) v`
	fromNode = `
  FROM nodes n
  LEFT JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
  LEFT JOIN agents a ON a.node_id = n.id`

	shownByUUIDSQL = selectShown + ` WHERE n.uuid = @ident`
	shownByNameSQL = selectShown + ` WHERE n.name = @ident`
	nodeByUUIDSQL  = selectNode + ` WHERE n.uuid = @ident`
	nodeByNameSQL  = selectNode + ` WHERE n.name = @ident`
	nodesByUUIDSQL = selectNode + ` WHERE n.uuid = ANY (@uuids::uuid[]) ORDER BY n.id LIMIT @limit`
)

const (
	// The lock comes before the read, in a statement of its own: a statement that
	// waited for a row's lock sees the other rows as they were before it waited.
	// NO KEY leaves agents, ports and history of the node writable.
	lockByUUIDSQL = `SELECT n.id, clock_timestamp() FROM nodes n WHERE n.uuid = @ident FOR NO KEY UPDATE`
	lockByNameSQL = `SELECT n.id, clock_timestamp() FROM nodes n WHERE n.name = @ident FOR NO KEY UPDATE`
)

// Node is the node of that uuid or name, with its open operation, its agent, its
// quarantine and its health.
func (s *Store) Node(ctx context.Context, ident string) (*node.Node, error) {
	var n node.Node
	a := args{"ident": ident, "timeout": micros(s.conductorTimeout)}
	found, err := s.one(ctx, "read node "+words(ident, 64), byIdent(ident, shownByUUIDSQL, shownByNameSQL), a, func(r pgx.Row) (err error) {
		n, err = eachShownNode()(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, node.NotFound(ident)
	}
	return &n, nil
}

// NodesByUUID returns the nodes of these uuids that exist, with their open operations and agents, in order of age.
func (s *Store) NodesByUUID(ctx context.Context, uuids []string) ([]node.Node, error) {
	return list(ctx, s, "read nodes", nodesByUUIDSQL, args{"uuids": uuids, "limit": node.MaxLimit}, eachNode())
}

func byIdent(ident, uuidSQL, nameSQL string) string {
	if node.IsHyphenatedUUID(ident) {
		return uuidSQL
	}
	return nameSQL
}

// lockedNode is a node whose row is locked, and the database's clock then.
type lockedNode struct {
	node.Node
	locked int64 // the number of the node whose row is locked, 0 = none
	now    time.Time
	was    node.Node // as its row was read or written last
	// What the row has: the places of secrets, and the allocation_uuid.
	had       map[string]secret.Destination
	allocated string
	// What transitions have taken off the node, and their line for its history.
	clearInstance, clearAgent bool
	history                   node.HistoryEvent
	lasted                    *float64 // seconds that the node had been in the state that they have left
}

// found reports whether there is such a node, and its row is locked. While the lock was waited for,
// the name may have gone to another node: that one is read, and not locked.
func (l *lockedNode) found() bool { return l.locked != 0 && l.locked == l.ID }

func (l *lockedNode) scanLock(r pgx.Row) error { return r.Scan(&l.locked, &l.now) }

// read takes the node from its row, which may have more columns behind those of nodeScan.
func (l *lockedNode) read(r pgx.Row, more ...any) (err error) {
	l.Node, err = scanNode(r, more...)
	l.keep()
	return err
}

// readAlone is read for a row that eachNodeAlone scans.
func (l *lockedNode) readAlone(r pgx.Row) (err error) {
	l.Node, err = eachNodeAlone()(r)
	l.keep()
	return err
}

// keep notes what the row has, before the node is changed.
func (l *lockedNode) keep() {
	l.had, l.allocated, l.was = secret.Destinations(&l.Node), l.AllocationUUID, l.Snapshot()
}

// queueLock queues the lock of a node's row and the read of the node.
func (l *lockedNode) queueLock(b *pgx.Batch, ident string) {
	l.queueLockBy(b, ident, byIdent(ident, lockByUUIDSQL, lockByNameSQL))
}

// queueLockBoth is queueLock for who may write the node's open operation, too, whose row it locks after that of the node.
func (l *lockedNode) queueLockBoth(b *pgx.Batch, ident string) {
	l.queueLockBy(b, ident, byIdent(ident, lockByUUIDSQL, lockByNameSQL), byIdent(ident, lockOpenByUUIDSQL, lockOpenByNameSQL))
}

// queueLockBy is queueLock with other statements that lock. The first one locks the node.
func (l *lockedNode) queueLockBy(b *pgx.Batch, ident, lock string, more ...string) {
	a := args{"ident": ident}
	b.Queue(lock, a).QueryRow(maybe(new(bool), l.scanLock))
	for _, sql := range more {
		b.Queue(sql, a)
	}
	b.Queue(byIdent(ident, nodeByUUIDSQL, nodeByNameSQL), a).QueryRow(maybe(new(bool), func(r pgx.Row) error { return l.read(r) }))
}

// inNodeTx locks and reads the node, and commits what decide queues.
func (s *Store) inNodeTx(ctx context.Context, ident, what string, decide func(*lockedNode, *pgx.Batch) error) error {
	return s.inNodeTxAfter(ctx, ident, what, func(*pgx.Batch) {}, decide)
}

// inNodeTxAfter is inNodeTx where more is read under the lock.
func (s *Store) inNodeTxAfter(ctx context.Context, ident, what string, queueReads func(*pgx.Batch), decide func(*lockedNode, *pgx.Batch) error) error {
	var l lockedNode
	return s.inTx(ctx, what, func(b *pgx.Batch) {
		l.queueLock(b, ident)
		queueReads(b)
	}, func(b *pgx.Batch) error {
		if !l.found() {
			return node.NotFound(ident)
		}
		audit.Of(ctx).OnNode(l.UUID, l.Name)
		return decide(&l, b)
	})
}

// A node's creation and end are told with its driver and state.
const lifeData = "'driver', r.driver, 'provision_state', r.provision_state"

var insertNodeSQL = telling{eventType: ofType("baremetal.node.create.end"), of: ofThatNode, data: lifeData}.with(`
INSERT INTO nodes (`+nodeTable.names(onCreate)+`)
VALUES (`+nodeTable.values(onCreate)+`) RETURNING *`) + ` SELECT r.id, r.created_at FROM r`

// CreateNode inserts the node and seals its secrets. It fills in UUID where
// there is none, ID and CreatedAt. A state that is not set is enroll.
func (s *Store) CreateNode(ctx context.Context, n *node.Node, secrets node.Secrets, user string) error {
	if n.UUID == "" {
		n.UUID = uuid.NewString()
	}
	if n.ProvisionState == "" {
		n.ProvisionState = node.Enroll
	}
	secrets = s.hide(n, secrets)
	a, err := nodeTable.args(n, onCreate)
	if err != nil {
		return err
	}
	sealed, err := s.sealAll(n, secrets)
	if err != nil {
		return err
	}
	audit.Of(ctx).OnNode(n.UUID, n.Name)
	return s.inTx(ctx, "create node "+words(n.UUID, 64), func(b *pgx.Batch) {
		b.Queue(insertNodeSQL, a).QueryRow(func(r pgx.Row) error { return r.Scan(&n.ID, &n.CreatedAt) })
	}, func(b *pgx.Batch) error {
		sealed.queue(b, n.ID)
		queueHistory(b, n.ID, node.HistoryEvent{Event: "created in " + string(n.ProvisionState), EventType: node.HistoryState, User: user})
		return nil
	})
}

var updateUserSQL = nodeUpdate(`
UPDATE nodes SET `+nodeTable.assignments(onPatch)+`,
	maintenance_by_fault = maintenance_by_fault AND maintenance AND @maintenance AND maintenance_reason IS NOT DISTINCT FROM nullif(@maintenance_reason, ''),
	console_enabled = console_enabled AND @has_console,
	owed_refused = owed_refused AND NOT @mended,
	owed_tries = CASE WHEN @mended THEN 0 ELSE owed_tries END, owed_tried_at = CASE WHEN NOT @mended THEN owed_tried_at END,
	reached_since = CASE WHEN @mended THEN clock_timestamp() ELSE reached_since END,
	prepared_since = CASE WHEN @prepared THEN clock_timestamp() ELSE prepared_since END, updated_at = clock_timestamp()
 WHERE id = @id`, "updated_at", "reached_since", "prepared_since")

// ClaimNode carries out a PATCH of a node: edit changes the node under its row's lock, and returns
// the secrets that were added, or removed (nil). ClaimNode writes the fields that a user may set, and
// deletes secrets whose place in driver_info or instance_info is gone.
//
// If claimer names a compute service, an instance_uuid that edit adds belongs to that service.
// ClaimNode returns fault.Conflict if the node can't be offered, or is not in the current share of
// the service.
func (s *Store) ClaimNode(ctx context.Context, ident, user string, claimer share.Claimer, edit func(*node.Node) (node.Secrets, error)) (*node.Node, error) {
	var l *lockedNode
	var offer unoffered
	var held node.Operation
	queueReads := func(b *pgx.Batch) {
		queueLockOpen(b, ident, &held)
		if claimer.Service != "" {
			offer.queue(b, s, ident)
		}
	}
	err := s.inNodeTxAfter(ctx, ident, "update node "+words(ident, 64), queueReads, func(locked *lockedNode, b *pgx.Batch) error {
		l = locked
		before, fields := l.Node, node.Fields(&l.Node)
		before.DriverInfo = maps.Clone(l.DriverInfo)
		given, err := edit(&l.Node)
		if err != nil {
			return err
		}
		l.ID, l.UUID = before.ID, before.UUID
		if before.Maintenance && !l.Maintenance {
			l.MaintenanceReason, l.Fault = "", ""
		}
		given = s.hide(&l.Node, given)
		if err := secret.CheckDestinations(l.had, &l.Node, given); err != nil {
			return err
		}
		sealed, err := s.sealAll(&l.Node, given)
		if err != nil {
			return err
		}
		a, err := nodeTable.args(&l.Node, onPatch)
		if err != nil {
			return err
		}
		changed := node.Changed(fields, node.Fields(&l.Node), given)
		a["id"], a["mended"], a["prepared"], a["has_console"] = l.ID, l.ReachedOtherwise(&before, given), node.PreparedOtherwise(changed), l.HasConsole()
		if claimer.Service != "" && l.InstanceUUID != "" && before.InstanceUUID != l.InstanceUUID {
			if err := offer.check(&before, claimer.Knows); err != nil {
				return err
			}
		}
		lost := l.ConsoleEnabled && !l.HasConsole()
		l.ConsoleEnabled = l.ConsoleEnabled && !lost
		updated, err := l.queueUpdate(b, updateUserSQL, a, changed...)
		if err != nil {
			return err
		}
		updated.QueryRow(func(r pgx.Row) error { return r.Scan(&l.UpdatedAt, &l.ReachedSince, &l.PreparedSince) })
		sealed.queue(b, l.ID)
		queueDropSecrets(b, l.ID, append(gone(l.had, &l.Node), settles(given)...))
		if len(changed) > 0 {
			queueHistory(b, l.ID, node.ChangedEvent(changed, user))
		}
		s.queueMoved(b, l)
		if l.allocated != "" && l.InstanceUUID == "" {
			if err := l.queueDeallocate(b, user); err != nil {
				return err
			}
		}
		s.queueClaim(b, l, before.InstanceUUID, claimer.Service)
		if err := l.queueHeld(b, &held, before.Maintenance != l.Maintenance); err != nil {
			return err
		}
		if before.Maintenance != l.Maintenance {
			queueHistory(b, l.ID, maintenanceEvent(l.Maintenance, l.MaintenanceReason, user))
		}
		if lost {
			queueConsole(b, l.ID, false, user)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &l.Node, nil
}

const (
	lockForDeleteByUUIDSQL = `SELECT n.id, clock_timestamp() FROM nodes n WHERE n.uuid = @ident FOR UPDATE`
	lockForDeleteByNameSQL = `SELECT n.id, clock_timestamp() FROM nodes n WHERE n.name = @ident FOR UPDATE`
)

// deleteNodeSQL also tells of the allocation that goes with the node. The ports and other records that go with it are not told one by one, as
// in Ironic.
var deleteNodeSQL = `
WITH allocated AS (
	` + allocationTold("delete", " WHERE r.node_id = @id").insert("allocations") + `),
r AS (DELETE FROM nodes WHERE id = @id RETURNING *), ` +
	telling{eventType: ofType("baremetal.node.delete.end"), of: ofThatNode, data: lifeData}.told() + ` SELECT r.id FROM r`

// DeleteNode removes the node with all that hangs on it, if allow says so. An
// open operation is ended as cancelled in the same transaction. Operations and
// the history stay as a record, with who deleted the node.
func (s *Store) DeleteNode(ctx context.Context, ident, user string, allow func(*node.Node) error) error {
	var l lockedNode
	return s.inTx(ctx, "delete node "+words(ident, 64), func(b *pgx.Batch) {
		l.queueLockBy(b, ident, byIdent(ident, lockForDeleteByUUIDSQL, lockForDeleteByNameSQL))
	}, func(b *pgx.Batch) error {
		if !l.found() {
			return node.NotFound(ident)
		}
		audit.Of(ctx).OnNode(l.UUID, l.Name)
		if err := allow(&l.Node); err != nil {
			return err
		}
		if l.Operation != nil {
			why := node.Failure{Error: "the node was deleted", Cause: fault.CancelledByPerson}
			if err := queueEnded(b, *l.Operation, l.Operation.Steps, node.Cancelled, why, l.now); err != nil {
				return err
			}
		}
		queueHistory(b, l.ID, node.HistoryEvent{Event: "deleted in " + string(l.ProvisionState), EventType: node.HistoryState, User: user})
		b.Queue(deleteNodeSQL, args{"id": l.ID}).QueryRow(func(r pgx.Row) error {
			deleted := false
			err := maybe(&deleted, func(r pgx.Row) error { return r.Scan(new(int64)) })(r)
			if err == nil && !deleted {
				err = node.NotFound(ident)
			}
			return err
		})
		b.Queue(deletedBySQL, args{"id": l.ID, "by": words(user, 255)})
		return nil
	})
}

package store

import (
	"context"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// powerReadableSQL is the condition under which the power state of the node n may be read outside of operations. That of a node
// in maintenance is not read, because an operator works on it. It is read if the maintenance was set because reading failed: a
// later reading ends that.
const powerReadableSQL = `n.driver = ANY (@drivers)
   AND (NOT n.maintenance OR n.fault = 'power failure')
   AND n.provision_state NOT IN ('enroll', 'verifying', 'adopt failed')
   AND NOT EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)`

// A BMC that gives no answer is asked by itself (silentDueSQL).
var powerDueSQL = `
SELECT n.id, n.uuid::text, n.driver, n.interfaces, n.driver_info, coalesce(n.power_state, ''), ` + powerRead.joined() + `, coalesce(n.fault, '')
  FROM ring_owners r JOIN nodes n ON n.id = r.node_id` + powerRead.join() + `
 WHERE r.conductor_id = (SELECT c.id FROM conductors c WHERE c.hostname = @hostname) AND r.node_id > @after
   AND ` + powerReadableSQL + `
   AND NOT EXISTS (SELECT FROM bmc_silences s WHERE s.node_id = n.id)
 ORDER BY r.node_id LIMIT @limit`

// PowerDue returns a page of the nodes with these drivers that a conductor owns by the ring and whose
// power state may be read now, because no operation holds them. Nodes whose BMC is silent are left out
// (SilentDue). after is the ID of the last node of the page before. Only ID, UUID, Driver, Interfaces,
// DriverInfo, PowerState, PowerReadAt and Fault of the nodes are set.
func (s *Store) PowerDue(ctx context.Context, hostname string, drivers []string, after int64, limit int) ([]node.Node, error) {
	a := args{"hostname": hostname, "drivers": drivers, "after": after, "limit": pageLimit(limit)}
	return list(ctx, s, "list nodes to read the power of", powerDueSQL, a, func(r pgx.Row) (n node.Node, err error) {
		return n, r.Scan(&n.ID, &n.UUID, &n.Driver, &n.Interfaces, &n.DriverInfo, &n.PowerState, &n.PowerReadAt, &n.Fault)
	})
}

const driverSecretsSQL = `
SELECT n.id, coalesce(s.name, ''), coalesce(s.seal, 0), s.ciphertext
  FROM nodes n LEFT JOIN secrets s ON s.node_id = n.id AND starts_with(s.name, 'driver_info/')
 WHERE n.id = ANY (@ids)`

// DriverSecrets are the opened secrets of the driver_info of many nodes, by row
// number: what it takes to speak to their BMCs, and no config drive. They open for
// the destinations that nodes have. A node whose secrets do not open is not in it.
func (s *Store) DriverSecrets(ctx context.Context, nodes []node.Node) (map[int64]node.Secrets, error) {
	type row struct {
		id int64
		sealedText
	}
	ids, byID := make([]int64, len(nodes)), make(map[int64]*node.Node, len(nodes))
	for i := range nodes {
		ids[i], byID[nodes[i].ID] = nodes[i].ID, &nodes[i]
	}
	rows, err := list(ctx, s, "read secrets of nodes", driverSecretsSQL, args{"ids": ids}, func(r pgx.Row) (x row, err error) {
		return x, r.Scan(&x.id, &x.name, &x.version, &x.text)
	})
	if err != nil {
		return nil, err
	}
	out, closed := make(map[int64]node.Secrets, len(nodes)), map[int64]bool{}
	for _, x := range rows {
		if out[x.id] == nil {
			out[x.id] = node.Secrets{}
		}
		if x.name == "" {
			continue
		}
		v, err := s.unseal(byID[x.id], x.sealedText)
		if err != nil {
			closed[x.id] = true
			continue
		}
		out[x.id][x.name] = v
	}
	maps.DeleteFunc(out, func(id int64, _ node.Secrets) bool { return closed[id] })
	return out, nil
}

// powerReadAgainSQL compares with the row of the node as it is now, and takes no lock of it: a state that was written after the reading
// is left alone, and one that is written later makes the row of power_readings void (powerRead).
const powerReadAgainSQL = `
INSERT INTO power_readings AS p (node_id, written_at, read_at)
SELECT n.id, n.power_read_at, d.read_at
  FROM (SELECT u.id, u.state, clock_timestamp() - u.age * interval '1 microsecond' AS read_at
          FROM unnest(@ids::bigint[], @states::text[], @ages::bigint[]) AS u (id, state, age)) d
  JOIN nodes n ON n.id = d.id
 WHERE n.power_state = d.state AND n.power_read_at < d.read_at
 ORDER BY n.id
ON CONFLICT (node_id) DO UPDATE SET written_at = excluded.written_at, read_at = excluded.read_at
 WHERE (p.written_at, p.read_at) < (excluded.written_at, excluded.read_at)`

// RecordPowerReadAgain writes when the power states of nodes were read again that have not changed, in one statement. It writes nothing of
// a node whose state is another one now, or was written later. A node may be in readings once.
func (s *Store) RecordPowerReadAgain(ctx context.Context, readings []node.PowerReadAgain) error {
	ids, states, ages := make([]int64, len(readings)), make([]string, len(readings)), make([]int64, len(readings))
	for i, r := range readings {
		ids[i], states[i], ages[i] = r.ID, string(r.State), micros(time.Since(r.At))
	}
	_, err := s.exec(ctx, "record when power states were read", powerReadAgainSQL, args{"ids": ids, "states": states, "ages": ages})
	return err
}

var (
	powerSeenSQL = nodeUpdate(`
UPDATE nodes SET power_state = @state, power_read_at = clock_timestamp(), maintenance = @maintenance,
	maintenance_reason = nullif(@reason, ''), maintenance_by_fault = @by_fault, fault = nullif(@fault, '')
 WHERE id = @id`)

	powerFailedSQL = nodeUpdate(`
UPDATE nodes SET power_state = NULL, maintenance = true, maintenance_reason = @reason,
	maintenance_by_fault = true, fault = 'power failure', updated_at = clock_timestamp()
 WHERE id = @id`)
)

// RecordPower writes a reading of a node's power state that was made outside of any operation. It
// writes nothing, and returns false, if an operation holds the node now or somebody else has written
// a reading meanwhile. A reading clears the fault that failed readings have set, and the maintenance
// that came with it, unless an operator has set maintenance since.
func (s *Store) RecordPower(ctx context.Context, p node.PowerSeen) (wrote bool, err error) {
	err = s.inNodeTx(ctx, p.UUID, "record the power state of node "+words(p.UUID, 64), func(l *lockedNode, b *pgx.Batch) error {
		same := l.PowerReadAt == nil && p.ReadAt == nil || l.PowerReadAt != nil && p.ReadAt != nil && l.PowerReadAt.Equal(*p.ReadAt)
		if l.Operation != nil || !same || p.Failure != "" && l.Maintenance {
			return errLeave
		}
		wrote = true
		if p.Failure != "" {
			reason := failure(p.Failure)
			l.PowerState, l.Maintenance, l.MaintenanceReason, l.MaintenanceByFault, l.Fault = "", true, reason, true, node.FaultPower
			_, err := l.queueUpdate(b, powerFailedSQL, args{"id": l.ID, "reason": reason})
			queueHistory(b, l.ID, node.HistoryEvent{Event: "power failure: " + reason, EventType: node.HistoryError, Severity: "ERROR"})
			return err
		}
		if l.Fault == node.FaultPower {
			l.Fault = ""
			event := "the power state is read again"
			if l.MaintenanceByFault {
				l.Maintenance, l.MaintenanceReason, l.MaintenanceByFault, event = false, "", false, "maintenance off: "+event
			}
			queueHistory(b, l.ID, node.HistoryEvent{Event: event, EventType: node.HistoryMaintenance})
		}
		l.PowerState = p.State
		_, err := l.queueUpdate(b, powerSeenSQL, args{
			"id": l.ID, "state": p.State, "maintenance": l.Maintenance, "reason": l.MaintenanceReason, "by_fault": l.MaintenanceByFault, "fault": l.Fault,
		})
		return err
	})
	return wrote && err == nil, err
}

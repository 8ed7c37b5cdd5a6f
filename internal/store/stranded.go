package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"go.temper.dev/temper/internal/node"
)

const (
	strandedSQL = `
SELECT n.id FROM nodes n
 WHERE n.provision_state = ANY (@states) AND coalesce(n.provision_updated_at, n.created_at) < clock_timestamp() - @safe * interval '1 microsecond'
   AND NOT EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)
 LIMIT @limit FOR NO KEY UPDATE OF n SKIP LOCKED`

	// Locked rows that an operation has got meanwhile are its own.
	settleSQL = `
WITH rules AS (SELECT * FROM unnest(@from::text[], @to::text[], @target::text[], @clear::boolean[], @owes::boolean[]) AS r (state, failed, target, clear, owes)),
marked AS (
	UPDATE nodes n SET provision_state = r.failed, provision_updated_at = clock_timestamp(), updated_at = clock_timestamp(),
		target_provision_state = CASE WHEN r.failed = 'clean failed' AND n.target_provision_state = 'manageable' THEN 'manageable' ELSE r.target END,
		target_power_state = NULL, inspection_started_at = CASE WHEN r.failed = 'inspect failed' THEN NULL ELSE n.inspection_started_at END,
		last_error = 'The node was ' || r.state || ', and nothing worked on it: no operation held it. Reconciliation has ended that',
		owed = CASE WHEN r.owes THEN n.owed || (SELECT coalesce(jsonb_agg(u), '[]') FROM jsonb_array_elements_text(@owed) u WHERE NOT n.owed ? u) ELSE n.owed END,
		instance_info = CASE WHEN r.clear THEN '{}' ELSE n.instance_info END,
		instance_uuid = CASE WHEN NOT r.clear THEN n.instance_uuid END, instance_name = CASE WHEN NOT r.clear THEN n.instance_name END,
		allocation_uuid = CASE WHEN NOT r.clear THEN n.allocation_uuid END,
		lessee = CASE WHEN r.clear AND n.driver_internal_info -> 'automatic_lessee' = 'true' THEN NULL ELSE n.lessee END,
		driver_internal_info = CASE WHEN r.clear THEN n.driver_internal_info - 'automatic_lessee' ELSE n.driver_internal_info END
	  FROM rules r
	 WHERE n.id = ANY (@ids) AND n.provision_state = r.state
	   AND NOT EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)
	RETURNING n.id AS node_id, 'ERROR' AS severity, 'from ' || r.state || ' to ' || r.failed || ': no operation held the node' AS event)` + manyHistorySQL

	strandedAgentsSQL = `DELETE FROM agents WHERE node_id = ANY (@ids)`

	strandedSecretsSQL = `
DELETE FROM secrets x USING nodes n
 WHERE n.id = ANY (@ids) AND x.node_id = n.id AND (x.name = '` + agentToken + `' OR n.provision_state = ANY (@clear) AND x.name LIKE 'instance\_info/%')`

	strandedVIFsSQL = `
UPDATE ports p SET internal_info = p.internal_info - 'tenant_vif_port_id', extra = p.extra - 'vif_port_id', updated_at = clock_timestamp()
  FROM nodes n
 WHERE n.id = ANY (@ids) AND p.node_id = n.id AND n.provision_state = ANY (@clear)
   AND (p.internal_info ? 'tenant_vif_port_id' OR p.extra ? 'vif_port_id')`

	strandedAllocationsSQL = `
DELETE FROM allocations t USING nodes n WHERE n.id = ANY (@ids) AND t.node_id = n.id AND n.provision_state = ANY (@clear)`
)

// SettleStranded moves the nodes that are in a transient state, without an
// operation, for longer than safe, as the rules say, and tells how many. What
// takes long is left to the next call.
func (s *Store) SettleStranded(ctx context.Context, rules []node.Stranding, safe time.Duration) (int, error) {
	var from, to, target, clear []string
	var clears, owes []bool
	var owed []node.Undo
	for _, r := range rules {
		from, to, target = append(from, string(r.From)), append(to, string(r.To)), append(target, string(r.Target))
		clears, owes = append(clears, r.ClearInstance), append(owes, len(r.Owed) > 0)
		if r.ClearInstance {
			clear = append(clear, string(r.From))
		}
		if len(r.Owed) > 0 {
			owed = r.Owed // all that owe anything owe the same
		}
	}
	var d dicts
	move := args{
		"from": from, "to": to, "target": target, "clear": clears, "owes": owes, "owed": d.undo(owed), "kept": HistoryKept, "type": eventError,
	}
	return s.batches(ctx, "settle stranded nodes", strandedSQL, args{"states": from, "safe": micros(safe)}, func(b *pgx.Batch, ids []int64) *pgx.QueuedQuery {
		b.Queue(strandedAgentsSQL, args{"ids": ids})
		for _, sql := range []string{strandedSecretsSQL, strandedVIFsSQL, strandedAllocationsSQL} {
			b.Queue(sql, args{"ids": ids, "clear": clear})
		}
		move["ids"] = ids
		return b.Queue(settleSQL, move)
	})
}

// batches locks the nodes that find gives, a few at a time, and writes them.
// It counts the rows of the statement that write returns. What takes longer than
// a tick may is left to the next: nothing hangs on it.
func (s *Store) batches(ctx context.Context, what, find string, by args, write func(*pgx.Batch, []int64) *pgx.QueuedQuery) (total int, err error) {
	by["limit"] = nodeBatch
	for began := time.Now(); ; {
		var ids []int64
		written := 0
		err := s.inTx(ctx, what, func(b *pgx.Batch) {
			b.Queue(find, by).Query(collect(&ids, scanID))
		}, func(b *pgx.Batch) error {
			if len(ids) == 0 {
				return errLeave
			}
			write(b, ids).Exec(func(tag pgconn.CommandTag) error {
				written = int(tag.RowsAffected())
				return nil
			})
			return nil
		})
		if err != nil {
			return total, err
		}
		total += written
		if len(ids) < nodeBatch || written == 0 || time.Since(began) > batchesTime {
			return total, nil
		}
	}
}

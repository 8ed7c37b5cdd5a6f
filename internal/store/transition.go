package store

import (
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

const updateStateSQL = `
UPDATE nodes SET instance_info = @instance_info, instance_uuid = nullif(@instance_uuid, '')::uuid,
	instance_name = nullif(@instance_name, ''), allocation_uuid = nullif(@allocation_uuid, '')::uuid, lessee = nullif(@lessee, ''),
	driver_internal_info = @driver_internal_info, provision_state = @provision_state,
	target_provision_state = @target_provision_state, provision_updated_at = @provision_updated_at,
	last_error = nullif(@last_error, ''), power_state = nullif(@power_state, ''), target_power_state = nullif(@target_power_state, ''),
	power_read_at = @power_read_at, boot_mode = nullif(@boot_mode, ''), maintenance = @maintenance,
	maintenance_reason = nullif(@maintenance_reason, ''), fault = nullif(@fault, ''),
	maintenance_by_fault = @maintenance_by_fault, target_raid_config = @target_raid_config,
	owed = @owed, owed_error = nullif(@owed_error, ''), owed_refused = @owed_refused,
	owed_tries = CASE WHEN @owed::jsonb = '[]' THEN 0 ELSE owed_tries END, owed_tried_at = CASE WHEN @owed::jsonb <> '[]' THEN owed_tried_at END,
	inspection_started_at = @inspection_started_at, inspection_finished_at = @inspection_finished_at,
	updated_at = clock_timestamp()
 WHERE id = @id`

// apply takes a transition into the locked node; queueState writes it.
func (l *lockedNode) apply(t node.Transition) {
	t.Apply(&l.Node, l.now)
	l.clearInstance = l.clearInstance || t.ClearInstance
}

// applyEnding takes the end of the work on the locked node into it; queueState writes it.
func (l *lockedNode) applyEnding(e node.Ending) {
	e.Apply(&l.Node, l.now)
	l.clearInstance, l.clearAgent = l.clearInstance || e.ClearInstance, l.clearAgent || e.ClearAgent
	l.history = e.History
}

const (
	dropInstanceSecretsSQL = `DELETE FROM secrets WHERE node_id = @node AND name LIKE 'instance\_info/%'`

	// Attached VIFs stand in internal_info, with old clients in extra.
	dropVIFsSQL = `
UPDATE ports SET internal_info = internal_info - 'tenant_vif_port_id', extra = extra - 'vif_port_id', updated_at = clock_timestamp()
 WHERE node_id = @node AND (internal_info ? 'tenant_vif_port_id' OR extra ? 'vif_port_id')`

	dropAllocationSQL = `DELETE FROM allocations WHERE node_id = @node`

	dropAgentSQL = `DELETE FROM agents WHERE node_id = @node`
)

// queueState writes the locked node as its transitions and the caller have changed it,
// with what belongs to it outside its row. Secrets that had a place in the node before
// and have none now are dropped. Nothing else writes the provision state of a node that
// exists.
func (l *lockedNode) queueState(b *pgx.Batch) error {
	a, err := stateArgs(&l.Node)
	if err != nil {
		return err
	}
	a["id"] = l.ID
	b.Queue(updateStateSQL, a)
	if l.allocated != "" && l.AllocationUUID == "" { // an allocation goes with its instance
		b.Queue(dropAllocationSQL, args{"node": l.ID})
	}
	if l.clearInstance {
		b.Queue(dropInstanceSecretsSQL, args{"node": l.ID})
		b.Queue(dropAllOperationSecretsSQL, args{"node": l.ID})
		b.Queue(dropVIFsSQL, args{"node": l.ID})
	}
	if l.clearAgent {
		b.Queue(dropAgentSQL, args{"node": l.ID})
		queueDropSecrets(b, l.ID, []string{agentToken})
	}
	queueDropSecrets(b, l.ID, gone(l.had, &l.Node))
	if l.history.Event != "" {
		queueHistory(b, l.ID, l.history)
	}
	return nil
}

// Callback timeouts count from here (Ironic's touch_provisioning).
const touchSQL = `UPDATE nodes SET provision_updated_at = clock_timestamp() WHERE id = @id`

// queueTouch notes a sign of life from the locked node, which waits for its agent.
func (l *lockedNode) queueTouch(b *pgx.Batch) { b.Queue(touchSQL, args{"id": l.ID}) }

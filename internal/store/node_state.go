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
	owed = @owed, inspection_started_at = @inspection_started_at, inspection_finished_at = @inspection_finished_at,
	updated_at = clock_timestamp()
 WHERE id = @id`

// move moves the locked node by the life-cycle table.
func (l *lockedNode) move(event node.Event) error {
	if event == "" {
		return nil
	}
	m, err := node.Move(&l.Node, event)
	if err != nil {
		return err
	}
	l.moved(m)
	return nil
}

// moved writes a move into the locked node.
func (l *lockedNode) moved(m node.Moved) {
	if m.From != m.To {
		l.ProvisionUpdatedAt = &l.now
	}
	l.ProvisionState, l.TargetProvisionState = m.To, m.Target
	switch m.Inspection {
	case node.InspectionStarts:
		l.InspectionStartedAt, l.InspectionFinishedAt = &l.now, nil
	case node.InspectionEnds:
		l.InspectionStartedAt, l.InspectionFinishedAt = nil, &l.now
	case node.InspectionFails:
		l.InspectionStartedAt = nil
	}
	if m.ClearInstance {
		l.clearInstance()
	}
}

func (l *lockedNode) clearInstance() {
	l.InstanceInfo, l.InstanceUUID, l.InstanceName, l.AllocationUUID = map[string]any{}, "", "", ""
	if l.DriverInternalInfo[node.AutomaticLessee] == true {
		l.Lessee = ""
		delete(l.DriverInternalInfo, node.AutomaticLessee)
	}
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

// queueClearInstance takes away what of an instance is not in the node's row.
func queueClearInstance(b *pgx.Batch, nodeID int64) {
	b.Queue(dropInstanceSecretsSQL, args{"node": nodeID})
	b.Queue(dropAllOperationSecretsSQL, args{"node": nodeID})
	b.Queue(dropVIFsSQL, args{"node": nodeID})
}

// queueClearAgent forgets the agent of the boot that is over, and its token.
func queueClearAgent(b *pgx.Batch, nodeID int64) {
	b.Queue(dropAgentSQL, args{"node": nodeID})
	queueDropSecrets(b, nodeID, []string{agentToken})
}

// queueState writes what changes with a node's life and the secrets given, and
// drops those that had a place before and have none now.
func (l *lockedNode) queueState(b *pgx.Batch, s *Store, had map[string]bool, given node.Secrets) error {
	sealed, err := s.sealAll(l.UUID, s.hide(&l.Node, given))
	if err != nil {
		return err
	}
	a, err := stateArgs(&l.Node)
	if err != nil {
		return err
	}
	a["id"] = l.ID
	b.Queue(updateStateSQL, a)
	if l.allocated != "" && l.AllocationUUID == "" { // an allocation goes with its instance
		b.Queue(dropAllocationSQL, args{"node": l.ID})
	}
	sealed.queue(b, l.ID)
	queueDropSecrets(b, l.ID, gone(had, &l.Node))
	return nil
}

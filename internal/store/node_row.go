package store

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// nodeColumns are of nodes n, operations o (the open one) and agents a.
const nodeColumns = `
	n.id, n.uuid::text, coalesce(n.name, ''), n.driver, n.interfaces, n.driver_info, n.driver_internal_info, n.properties,
	n.extra, n.instance_info, n.network_data, n.conductor_group, coalesce(n.resource_class, ''), coalesce(n.owner, ''),
	coalesce(n.lessee, ''), coalesce(n.description, ''), coalesce(n.shard, ''), coalesce(n.parent_node::text, ''),
	coalesce(n.chassis_uuid::text, ''), coalesce(n.instance_uuid::text, ''), coalesce(n.instance_name, ''),
	coalesce(n.allocation_uuid::text, ''), n.provision_state, n.target_provision_state, n.provision_updated_at,
	coalesce(n.last_error, ''), coalesce(n.power_state, ''), coalesce(n.target_power_state, ''), n.power_read_at,
	coalesce(n.boot_mode, ''), n.secure_boot, n.maintenance, coalesce(n.maintenance_reason, ''), coalesce(n.fault, ''),
	n.maintenance_by_fault, n.maintenance_since,
	n.protected, coalesce(n.protected_reason, ''), n.retired, coalesce(n.retired_reason, ''), n.automated_clean,
	n.disable_power_off, n.raid_config, n.target_raid_config, n.traits, n.inspection_started_at, n.inspection_finished_at,
	n.owed, coalesce(n.owed_error, ''), n.owed_refused, n.created_at, n.updated_at,
	CASE WHEN n.allocation_uuid IS NOT NULL THEN (SELECT t.owner FROM allocations t WHERE t.node_id = n.id) END,
	n.allocation_uuid IS NOT NULL AND EXISTS (SELECT FROM allocations t WHERE t.node_id = n.id AND 'CUSTOM_MAINTENANCE' = ANY(t.traits)),
	a.node_id IS NOT NULL, coalesce(a.url, ''), coalesce(a.version, ''), coalesce(a.verify_ca, ''), a.first_heartbeat_at,
	a.last_heartbeat_at, a.looked_up_at, a.inspected_at, coalesce(a.token_revealed, 0) > 0,
	coalesce((SELECT rc.hostname FROM ring_owners ro JOIN conductors rc ON rc.id = ro.conductor_id
		WHERE ro.node_id = n.id), ''),` + operationColumns

// nodeJoins find the open operation through its partial unique index.
const nodeJoins = `
	LEFT JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
	LEFT JOIN agents a ON a.node_id = n.id`

// scanNode reads nodeColumns.
func scanNode(row pgx.Row) (node.Node, error) { return scanNodeAnd(row) }

// scanShownNode reads nodeColumns and quarantineColumns.
func scanShownNode(row pgx.Row) (node.Node, error) {
	var q quarantineRow
	n, err := scanNodeAnd(row, q.into()...)
	n.Quarantine = q.quarantine()
	return n, err
}

// scanNodeAnd reads nodeColumns and what follows them.
func scanNodeAnd(row pgx.Row, more ...any) (node.Node, error) {
	var (
		n        node.Node
		owner    *string
		agent    node.Agent
		hasAgent bool
		open     operationRow
	)
	into := []any{
		&n.ID, &n.UUID, &n.Name, &n.Driver, &n.Interfaces, &n.DriverInfo, &n.DriverInternalInfo, &n.Properties,
		&n.Extra, &n.InstanceInfo, &n.NetworkData, &n.ConductorGroup, &n.ResourceClass, &n.Owner,
		&n.Lessee, &n.Description, &n.Shard, &n.ParentNode,
		&n.ChassisUUID, &n.InstanceUUID, &n.InstanceName,
		&n.AllocationUUID, &n.ProvisionState, &n.TargetProvisionState, &n.ProvisionUpdatedAt,
		&n.LastError, &n.PowerState, &n.TargetPowerState, &n.PowerReadAt,
		&n.BootMode, &n.SecureBoot, &n.Maintenance, &n.MaintenanceReason, &n.Fault,
		&n.MaintenanceByFault, &n.MaintenanceSince,
		&n.Protected, &n.ProtectedReason, &n.Retired, &n.RetiredReason, &n.AutomatedClean,
		&n.DisablePowerOff, &n.RAIDConfig, &n.TargetRAIDConfig, &n.Traits, &n.InspectionStartedAt, &n.InspectionFinishedAt,
		&n.Owed, &n.OwedError, &n.OwedRefused, &n.CreatedAt, &n.UpdatedAt,
		&owner, &n.AllocatedInMaintenance,
		&hasAgent, &agent.URL, &agent.Version, &agent.VerifyCA, &agent.FirstHeartbeatAt,
		&agent.LastHeartbeatAt, &agent.LookedUpAt, &agent.InspectedAt, &agent.HasToken,
		&n.RingOwner,
	}
	if err := row.Scan(slices.Concat(into, open.into(), more)...); err != nil {
		return node.Node{}, err
	}
	if owner != nil {
		n.AllocationOwner = *owner
	}
	if hasAgent {
		n.Agent = &agent
	}
	n.Operation = open.operation()
	return n, nil
}

// userArgs are the columns that a PATCH may change (userColumns).
func userArgs(n *node.Node) (args, error) {
	var d dicts
	interfaces := n.Interfaces
	if interfaces == nil {
		interfaces = map[string]string{}
	}
	a := args{
		"name": n.Name, "driver": n.Driver, "interfaces": d.of(interfaces), "driver_info": d.dict(n.DriverInfo),
		"properties": d.dict(n.Properties), "extra": d.dict(n.Extra), "instance_info": d.dict(n.InstanceInfo),
		"network_data": d.dict(n.NetworkData), "conductor_group": n.ConductorGroup, "resource_class": n.ResourceClass,
		"owner": n.Owner, "lessee": n.Lessee, "description": n.Description, "shard": n.Shard, "parent_node": n.ParentNode,
		"chassis_uuid": n.ChassisUUID, "instance_uuid": n.InstanceUUID, "instance_name": n.InstanceName,
		"maintenance": n.Maintenance, "maintenance_reason": n.MaintenanceReason, "fault": n.Fault,
		"protected": n.Protected, "protected_reason": n.ProtectedReason, "retired": n.Retired, "retired_reason": n.RetiredReason,
		"automated_clean": n.AutomatedClean, "disable_power_off": n.DisablePowerOff,
		"raid_config": d.dict(n.RAIDConfig), "target_raid_config": d.dict(n.TargetRAIDConfig),
	}
	return a, d.err
}

// stateArgs are the columns that change with the node's life (stateColumns).
func stateArgs(n *node.Node) (args, error) {
	var d dicts
	a := args{
		"instance_info": d.dict(n.InstanceInfo), "instance_uuid": n.InstanceUUID, "instance_name": n.InstanceName,
		"allocation_uuid": n.AllocationUUID, "lessee": n.Lessee, "driver_internal_info": d.dict(n.DriverInternalInfo),
		"provision_state": n.ProvisionState, "target_provision_state": n.TargetProvisionState,
		"provision_updated_at": n.ProvisionUpdatedAt, "last_error": failure(n.LastError),
		"power_state": n.PowerState, "target_power_state": n.TargetPowerState, "power_read_at": n.PowerReadAt,
		"boot_mode": n.BootMode, "maintenance": n.Maintenance, "maintenance_reason": words(n.MaintenanceReason, maxError),
		"fault": n.Fault, "maintenance_by_fault": n.MaintenanceByFault, "target_raid_config": d.dict(n.TargetRAIDConfig), "owed": d.undo(n.Owed),
		"owed_error": words(n.OwedError, maxError), "owed_refused": n.OwedRefused,
		"inspection_started_at": n.InspectionStartedAt, "inspection_finished_at": n.InspectionFinishedAt,
	}
	return a, d.err
}

package api

import "go.temper.dev/temper/internal/node"

type nodeAttribute = attribute[view, node.Node]

// interfaceKinds are the hardware interfaces of a node and the version that
// shows each, in Ironic's order.
var interfaceKinds = []struct {
	name  string
	since int
}{
	{"bios", 40},
	{"boot", 31},
	{"console", 31},
	{"deploy", 31},
	{"firmware", 86},
	{"inspect", 31},
	{"management", 31},
	{"network", 20},
	{"power", 31},
	{"raid", 31},
	{"rescue", 38},
	{"storage", 33},
	{"vendor", 31},
}

// nodeAttributes is the node resource (Ironic api/controllers/v1/utils.py
// VERSIONED_FIELDS and node.py).
var nodeAttributes = withInterfaces(attributes[view, node.Node]{
	{name: "uuid", since: 1, value: func(v *view) any { return v.UUID }, set: setUUID, create: true},
	{name: "created_at", since: 1, value: func(v *view) any { return timestamp(&v.CreatedAt) }},
	{name: "updated_at", since: 1, value: func(v *view) any { return timestamp(v.UpdatedAt) }},
	{
		name: "chassis_uuid", since: 1, value: func(v *view) any { return orNull(v.ChassisUUID) },
		set: setChassis, create: true, patch: true,
	},
	{name: "console_enabled", since: 1, value: func(*view) any { return false }},
	{name: "driver", since: 1, value: func(v *view) any { return v.Driver }, set: setDriver, create: true, patch: true},
	{
		name: "driver_info", since: 1, value: func(v *view) any { return dict(v.DriverInfo) }, nosort: true,
		set: nodeSet.dict("driver_info", func(n *node.Node) *map[string]any { return &n.DriverInfo }), create: true, patch: true,
	},
	{
		name: "extra", since: 1, value: func(v *view) any { return dict(v.Extra) }, nosort: true,
		set: nodeSet.dict("extra", func(n *node.Node) *map[string]any { return &n.Extra }), create: true, patch: true,
	},
	{
		name: "instance_info", since: 1, value: func(v *view) any { return v.instanceInfo() }, nosort: true,
		set: nodeSet.dict("instance_info", func(n *node.Node) *map[string]any { return &n.InstanceInfo }), create: true, patch: true,
	},
	{
		name: "instance_uuid", since: 1, value: func(v *view) any { return orNull(v.InstanceUUID) },
		set: nodeSet.uuid("instance_uuid", func(n *node.Node) *string { return &n.InstanceUUID }), create: true, patch: true,
	},
	{name: "last_error", since: 1, value: func(v *view) any { return orNull(v.LastError) }},
	{
		name: "maintenance", since: 1, value: func(v *view) any { return v.ShownMaintenance() },
		set: nodeSet.boolean("maintenance", false, func(n *node.Node) *bool { return &n.Maintenance }), create: true, patch: true,
	},
	{name: "maintenance_reason", since: 1, value: func(v *view) any { return orNull(v.ShownReason()) }},
	{name: "power_state", since: 1, value: func(v *view) any { return orNull(string(v.PowerState)) }},
	{
		name: "properties", since: 1, value: func(v *view) any { return dict(v.Properties) }, nosort: true,
		set: nodeSet.dict("properties", func(n *node.Node) *map[string]any { return &n.Properties }), create: true, patch: true,
	},
	{name: "provision_state", since: 1, value: func(v *view) any { return shownState(v.ProvisionState, v.minor) }},
	{name: "provision_updated_at", since: 1, value: func(v *view) any { return timestamp(v.ProvisionUpdatedAt) }},
	{name: "reservation", since: 1, value: func(v *view) any { return orNull(v.reservation()) }, nosort: true},
	{name: "target_power_state", since: 1, value: func(v *view) any { return orNull(string(v.TargetPowerState)) }},
	{name: "target_provision_state", since: 1, value: func(v *view) any { return orNull(string(v.TargetProvisionState)) }},
	{name: "driver_internal_info", since: 3, value: func(v *view) any { return v.internalInfo() }, nosort: true},
	{
		name: "name", since: 5, value: func(v *view) any { return orNull(v.Name) },
		set: nodeSet.text("name", 255, func(n *node.Node) *string { return &n.Name }), create: true, patch: true,
	},
	{name: "inspection_finished_at", since: 6, value: func(v *view) any { return timestamp(v.InspectionFinishedAt) }},
	{name: "inspection_started_at", since: 6, value: func(v *view) any { return timestamp(v.InspectionStartedAt) }},
	{name: "clean_step", since: 7, value: func(v *view) any { return v.step(cleaningStates) }, nosort: true},
	{name: "raid_config", since: 12, value: func(v *view) any { return dict(v.RAIDConfig) }, nosort: true},
	{name: "target_raid_config", since: 12, value: func(v *view) any { return dict(v.TargetRAIDConfig) }, nosort: true},
	{
		name: "resource_class", since: 21, value: func(v *view) any { return orNull(v.ResourceClass) },
		set: nodeSet.text("resource_class", 80, func(n *node.Node) *string { return &n.ResourceClass }), create: true, patch: true,
	},
	{name: "traits", since: 37, value: func(v *view) any { return list(v.Traits) }, nosort: true},
	{name: "fault", since: 42, value: func(v *view) any { return orNull(v.ShownFault()) }},
	{name: "deploy_step", since: 44, value: func(v *view) any { return v.step(deployingStates) }, nosort: true},
	{
		name: "conductor_group", since: 46, value: func(v *view) any { return v.ConductorGroup },
		set: setConductorGroup, create: true, patch: true,
	},
	{
		name: "automated_clean", since: 47, value: func(v *view) any { return boolOrNull(v.AutomatedClean) },
		set: nodeSet.nullBoolean("automated_clean", func(n *node.Node) **bool { return &n.AutomatedClean }), create: true, patch: true,
	},
	{
		name: "protected", since: 48, value: func(v *view) any { return v.Protected },
		set: nodeSet.boolean("protected", false, func(n *node.Node) *bool { return &n.Protected }), patch: true,
	},
	{
		name: "protected_reason", since: 48, value: func(v *view) any { return orNull(v.ProtectedReason) },
		set: nodeSet.text("protected_reason", maxReason, func(n *node.Node) *string { return &n.ProtectedReason }), patch: true,
	},
	{name: "conductor", since: 49, value: func(v *view) any { return orNull(v.owner()) }, nosort: true},
	{
		name: "owner", since: 50, value: func(v *view) any { return orNull(v.Owner) },
		set: nodeSet.text("owner", 255, func(n *node.Node) *string { return &n.Owner }), create: true, patch: true,
	},
	{
		name: "description", since: 51, value: func(v *view) any { return orNull(v.Description) },
		set: nodeSet.text("description", 4096, func(n *node.Node) *string { return &n.Description }), create: true, patch: true,
	},
	{name: "allocation_uuid", since: 52, value: func(v *view) any { return orNull(v.AllocationUUID) }},
	{
		name: "retired", since: 61, value: func(v *view) any { return v.Retired },
		set: nodeSet.boolean("retired", false, func(n *node.Node) *bool { return &n.Retired }), create: true, patch: true,
	},
	{
		name: "retired_reason", since: 61, value: func(v *view) any { return orNull(v.RetiredReason) },
		set: nodeSet.text("retired_reason", maxReason, func(n *node.Node) *string { return &n.RetiredReason }), create: true, patch: true,
	},
	{
		name: "lessee", since: 65, value: func(v *view) any { return orNull(v.Lessee) },
		set: nodeSet.text("lessee", 255, func(n *node.Node) *string { return &n.Lessee }), create: true, patch: true,
	},
	{
		name: "network_data", since: 66, value: func(v *view) any { return dict(v.NetworkData) }, nosort: true,
		set: nodeSet.dict("network_data", func(n *node.Node) *map[string]any { return &n.NetworkData }), create: true, patch: true,
	},
	{name: "boot_mode", since: 75, value: func(v *view) any { return orNull(v.BootMode) }},
	{name: "secure_boot", since: 75, value: func(v *view) any { return boolOrNull(v.SecureBoot) }},
	{
		name: "shard", since: 82, value: func(v *view) any { return orNull(v.Shard) },
		set: nodeSet.text("shard", 255, func(n *node.Node) *string { return &n.Shard }), create: true, patch: true,
	},
	{
		name: "parent_node", since: 83, value: func(v *view) any { return orNull(v.ParentNode) },
		set: nodeSet.uuid("parent_node", func(n *node.Node) *string { return &n.ParentNode }), create: true, patch: true,
	},
	{name: "service_step", since: 87, value: func(*view) any { return map[string]any{} }, nosort: true},
	{
		name: "disable_power_off", since: 95, value: func(v *view) any { return v.DisablePowerOff },
		set: nodeSet.boolean("disable_power_off", false, func(n *node.Node) *bool { return &n.DisablePowerOff }), create: true, patch: true,
	},
	// Newer than what is served: known, so that asking for it is 406 and not 400.
	{name: "instance_name", since: 104, value: func(v *view) any { return orNull(v.InstanceName) }, patch: true},
	{name: "health", since: 109, value: func(*view) any { return nil }},
})

// maxReason bounds protected_reason, retired_reason and maintenance reasons, in bytes.
const maxReason = 4096

func withInterfaces(all attributes[view, node.Node]) attributes[view, node.Node] {
	for _, i := range interfaceKinds {
		all = append(all, nodeAttribute{
			name: i.name + "_interface", since: i.since, create: true, patch: true,
			value: func(v *view) any { return orNull(v.Interfaces[i.name]) },
			set:   interfaceField(i.name),
		})
	}
	return all
}

// defaultNodeFields are what a list shows where nobody asks for more.
var defaultNodeFields = []string{"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name"}

// defaultFields are the default attributes that the version has.
func defaultFields(names []string, minor int) []*nodeAttribute {
	var out []*nodeAttribute
	for _, name := range names {
		if a := nodeAttributes.named(name); a.since <= minor {
			out = append(out, a)
		}
	}
	return out
}

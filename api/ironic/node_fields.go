package ironic

import (
	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
)

// minorHealth is the version in which nodes show their health.
const minorHealth = 109

type nodeAttribute = format.Attribute[view, node.Node]

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
var nodeAttributes = withInterfaces(format.Attributes[view, node.Node]{
	{Name: "uuid", Since: 1, Value: func(v *view) any { return v.UUID }, Set: setUUID, Create: true},
	{Name: "created_at", Since: 1, Value: func(v *view) any { return format.Timestamp(&v.CreatedAt) }},
	{Name: "updated_at", Since: 1, Value: func(v *view) any { return format.Timestamp(v.UpdatedAt) }},
	{
		Name: "chassis_uuid", Since: 1, Value: func(v *view) any { return format.OrNull(v.ChassisUUID) },
		Set: setChassis, Create: true, Patch: true,
	},
	{Name: "console_enabled", Since: 1, Value: func(v *view) any { return v.ConsoleEnabled }},
	{Name: "driver", Since: 1, Value: func(v *view) any { return v.Driver }, Set: setDriver, Create: true, Patch: true},
	{
		Name: "driver_info", Since: 1, Value: func(v *view) any {
			return redactedDict(v.driverInfo, noDriverInfo, v.dict(v.DriverInfo, func(d *node.Documents) []byte { return d.DriverInfo }))
		}, Nosort: true,
		Set: nodeSet.Dict("driver_info", func(n *node.Node) *map[string]any { return &n.DriverInfo }), Create: true, Patch: true,
	},
	{
		Name: "extra", Since: 1, Value: func(v *view) any { return v.dict(v.Extra, func(d *node.Documents) []byte { return d.Extra }) }, Nosort: true,
		Set: nodeSet.Dict("extra", func(n *node.Node) *map[string]any { return &n.Extra }), Create: true, Patch: true,
	},
	{
		Name: "instance_info", Since: 1, Value: func(v *view) any { return v.instanceInfo() }, Nosort: true,
		Set: nodeSet.Dict("instance_info", func(n *node.Node) *map[string]any { return &n.InstanceInfo }), Create: true, Patch: true,
	},
	{
		Name: "instance_uuid", Since: 1, Value: func(v *view) any { return format.OrNull(v.InstanceUUID) },
		Set: nodeSet.UUID("instance_uuid", func(n *node.Node) *string { return &n.InstanceUUID }), Create: true, Patch: true,
	},
	{Name: "last_error", Since: 1, Value: func(v *view) any { return redacted(v.lastError, format.NoLastError, format.OrNull(v.LastError)) }},
	{
		Name: "maintenance", Since: 1, Value: func(v *view) any { return v.ShownMaintenance() },
		Set: nodeSet.Boolean("maintenance", false, func(n *node.Node) *bool { return &n.Maintenance }), Create: true, Patch: true,
	},
	{Name: "maintenance_reason", Since: 1, Value: func(v *view) any { return format.OrNull(v.ShownReason()) }},
	{Name: "power_state", Since: 1, Value: func(v *view) any { return format.OrNull(string(v.PowerState)) }},
	{
		Name: "properties", Since: 1, Value: func(v *view) any { return v.dict(v.Properties, func(d *node.Documents) []byte { return d.Properties }) }, Nosort: true,
		Set: setProperties, Create: true, Patch: true,
	},
	{Name: "provision_state", Since: 1, Value: func(v *view) any { return shownState(v.ProvisionState, v.minor) }},
	{Name: "provision_updated_at", Since: 1, Value: func(v *view) any { return format.Timestamp(v.ProvisionUpdatedAt) }},
	{Name: "reservation", Since: 1, Value: func(v *view) any { return redacted(v.sight.reservation, noReservation, format.OrNull(v.reservation())) }, Nosort: true},
	{Name: "target_power_state", Since: 1, Value: func(v *view) any { return format.OrNull(string(v.TargetPowerState)) }},
	{Name: "target_provision_state", Since: 1, Value: func(v *view) any { return format.OrNull(string(v.TargetProvisionState)) }},
	{Name: "driver_internal_info", Since: 3, Value: func(v *view) any { return redactedDict(v.sight.internalInfo, noInternalInfo, v.internalInfo()) }, Nosort: true},
	{
		Name: "name", Since: 5, Value: func(v *view) any { return format.OrNull(v.Name) },
		Set: nodeSet.Text("name", 255, func(n *node.Node) *string { return &n.Name }), Create: true, Patch: true,
	},
	{Name: "inspection_finished_at", Since: 6, Value: func(v *view) any { return format.Timestamp(v.InspectionFinishedAt) }},
	{Name: "inspection_started_at", Since: 6, Value: func(v *view) any { return format.Timestamp(v.InspectionStartedAt) }},
	{Name: "clean_step", Since: 7, Value: func(v *view) any { return v.step(cleaningStates) }, Nosort: true},
	{Name: "raid_config", Since: 12, Value: func(v *view) any { return v.dict(v.RAIDConfig, func(d *node.Documents) []byte { return d.RAIDConfig }) }, Nosort: true},
	{Name: "target_raid_config", Since: 12, Value: func(v *view) any {
		return v.dict(v.TargetRAIDConfig, func(d *node.Documents) []byte { return d.TargetRAIDConfig })
	}, Nosort: true},
	{
		Name: "resource_class", Since: 21, Value: func(v *view) any { return format.OrNull(v.ResourceClass) },
		Set: nodeSet.Text("resource_class", 80, func(n *node.Node) *string { return &n.ResourceClass }), Create: true, Patch: true,
	},
	{Name: "traits", Since: 37, Value: func(v *view) any { return format.List(v.Traits) }, Nosort: true},
	{Name: "fault", Since: 42, Value: func(v *view) any { return format.OrNull(v.ShownFault()) }},
	{Name: "deploy_step", Since: 44, Value: func(v *view) any { return v.step(deployingStates) }, Nosort: true},
	{
		Name: "conductor_group", Since: 46, Value: func(v *view) any { return v.ConductorGroup },
		Set: setConductorGroup, Create: true, Patch: true,
	},
	{
		Name: "automated_clean", Since: 47, Value: func(v *view) any { return format.BoolOrNull(v.AutomatedClean) },
		Set: nodeSet.NullBoolean("automated_clean", func(n *node.Node) **bool { return &n.AutomatedClean }), Create: true, Patch: true,
	},
	{
		Name: "protected", Since: 48, Value: func(v *view) any { return v.Protected },
		Set: nodeSet.Boolean("protected", false, func(n *node.Node) *bool { return &n.Protected }), Patch: true,
	},
	{
		Name: "protected_reason", Since: 48, Value: func(v *view) any { return format.OrNull(v.ProtectedReason) },
		Set: nodeSet.Text("protected_reason", format.MaxReason, func(n *node.Node) *string { return &n.ProtectedReason }), Patch: true,
	},
	{Name: "conductor", Since: 49, Value: func(v *view) any { return format.OrNull(v.owner()) }, Nosort: true},
	{
		Name: "owner", Since: 50, Value: func(v *view) any { return format.OrNull(v.Owner) },
		Set: nodeSet.Text("owner", 255, func(n *node.Node) *string { return &n.Owner }), Create: true, Patch: true,
	},
	{
		Name: "description", Since: 51, Value: func(v *view) any { return format.OrNull(v.Description) },
		Set: nodeSet.Text("description", node.MaxDescription, func(n *node.Node) *string { return &n.Description }), Create: true, Patch: true,
	},
	{Name: "allocation_uuid", Since: 52, Value: func(v *view) any { return format.OrNull(v.AllocationUUID) }},
	{
		Name: "retired", Since: 61, Value: func(v *view) any { return v.Retired },
		Set: nodeSet.Boolean("retired", false, func(n *node.Node) *bool { return &n.Retired }), Create: true, Patch: true,
	},
	{
		Name: "retired_reason", Since: 61, Value: func(v *view) any { return format.OrNull(v.RetiredReason) },
		Set: nodeSet.Text("retired_reason", format.MaxReason, func(n *node.Node) *string { return &n.RetiredReason }), Create: true, Patch: true,
	},
	{
		Name: "lessee", Since: 65, Value: func(v *view) any { return format.OrNull(v.Lessee) },
		Set: nodeSet.Text("lessee", 255, func(n *node.Node) *string { return &n.Lessee }), Create: true, Patch: true,
	},
	{
		Name: "network_data", Since: 66, Value: func(v *view) any {
			return v.dict(v.NetworkData, func(d *node.Documents) []byte { return d.NetworkData })
		}, Nosort: true,
		Set: setNetworkData, Create: true, Patch: true,
	},
	{Name: "boot_mode", Since: 75, Value: func(v *view) any { return format.OrNull(v.BootMode) }},
	{Name: "secure_boot", Since: 75, Value: func(v *view) any { return format.BoolOrNull(v.SecureBoot) }},
	{
		Name: "shard", Since: 82, Value: func(v *view) any { return format.OrNull(v.Shard) },
		Set: nodeSet.Text("shard", 255, func(n *node.Node) *string { return &n.Shard }), Create: true, Patch: true,
	},
	{
		Name: "parent_node", Since: 83, Value: func(v *view) any { return format.OrNull(v.ParentNode) },
		Set: nodeSet.UUID("parent_node", func(n *node.Node) *string { return &n.ParentNode }), Create: true, Patch: true,
	},
	{Name: "service_step", Since: 87, Value: func(v *view) any { return v.step(servicingStates) }, Nosort: true},
	{
		Name: "disable_power_off", Since: 95, Value: func(v *view) any { return v.DisablePowerOff },
		Set: nodeSet.Boolean("disable_power_off", false, func(n *node.Node) *bool { return &n.DisablePowerOff }), Create: true, Patch: true,
	},
	{
		Name: "instance_name", Since: 104, Value: func(v *view) any { return format.OrNull(v.InstanceName) },
		Set: nodeSet.Text("instance_name", node.MaxName, func(n *node.Node) *string { return &n.InstanceName }), Create: true, Patch: true,
	},
	{Name: "health", Since: minorHealth, Value: func(v *view) any { return shownHealth(v.Health) }},
})

func withInterfaces(all format.Attributes[view, node.Node]) format.Attributes[view, node.Node] {
	for _, i := range interfaceKinds {
		all = append(all, nodeAttribute{
			Name: i.name + "_interface", Since: i.since, Create: true, Patch: true,
			Value: func(v *view) any { return format.OrNull(v.Interfaces[i.name]) },
			Set:   interfaceField(i.name),
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
		if a := nodeAttributes.Named(name); a.Since <= minor {
			out = append(out, a)
		}
	}
	return out
}

package node

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/text"
)

// Fields returns the values of n that users set, by their names in the API. Each key
// of a dictionary is a field of its own. Maintenance is left out, because it has its
// own events in the history.
func Fields(n *Node) map[string]any {
	out := map[string]any{
		"name": n.Name, "driver": n.Driver, "conductor_group": n.ConductorGroup, "resource_class": n.ResourceClass,
		"owner": n.Owner, "lessee": n.Lessee, "description": n.Description, "shard": n.Shard, "parent_node": n.ParentNode,
		"chassis_uuid": n.ChassisUUID, "instance_uuid": n.InstanceUUID, "instance_name": n.InstanceName,
		"protected": n.Protected, "protected_reason": n.ProtectedReason, "retired": n.Retired, "retired_reason": n.RetiredReason,
		"disable_power_off": n.DisablePowerOff, "automated_clean": nil,
	}
	if n.AutomatedClean != nil {
		out["automated_clean"] = *n.AutomatedClean
	}
	for iface, implementation := range n.Interfaces {
		out[iface+"_interface"] = implementation
	}
	for name, dict := range map[string]map[string]any{
		"driver_info": n.DriverInfo, "instance_info": n.InstanceInfo, "properties": n.Properties, "extra": n.Extra,
		"network_data": n.NetworkData, "raid_config": n.RAIDConfig, "target_raid_config": n.TargetRAIDConfig,
	} {
		for k, v := range dict {
			out[name+"/"+k] = CloneJSON(v)
		}
	}
	return out
}

// Changed returns the sorted names of the fields that differ between before and
// after, and of those in given, the secrets of the request (nil: deleted).
func Changed(before, after map[string]any, given Secrets) []string {
	names := map[string]bool{}
	for name, v := range after {
		if old, ok := before[name]; !ok || !reflect.DeepEqual(old, v) {
			names[name] = true
		}
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			names[name] = true
		}
	}
	for path := range given {
		parts := strings.SplitN(path, "/", 3)
		names[strings.Join(parts[:min(len(parts), 2)], "/")] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// PreparedOtherwise reports whether one of the changed fields says what is deployed, or to which disk.
func PreparedOtherwise(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "instance_info/image_") || name == "instance_info/root_device" || name == "properties/root_device"
	})
}

// ChangedEvent returns the history event for changed fields. It contains no values.
func ChangedEvent(names []string, user string) HistoryEvent {
	shown := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), maxNamed)] {
		shown = append(shown, text.Cut(name))
	}
	text := "changed " + strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return HistoryEvent{Event: text, EventType: HistoryChange, User: user}
}

// maxNamed bounds how many fields an event of the history names.
const maxNamed = 20

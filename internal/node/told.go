package node

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Told is an event that tells of a change: its type and data, as docs/events.md lists them. Cause is why something has failed. Entry is
// the entry of the operation's timeline about the same moment. An event without a type has only an entry.
type Told struct {
	Type  string
	Cause fault.Code
	Data  map[string]any
	Entry *TimelineEntry
}

// Snapshot returns a copy of n as it is before a change, for Tell. Values in its dictionaries are shared with n.
func (n *Node) Snapshot() Node {
	was := *n
	was.InstanceInfo, was.TargetRAIDConfig = maps.Clone(n.InstanceInfo), maps.Clone(n.TargetRAIDConfig)
	return was
}

// Tell compares n with before, the same node before a change, and returns the events of that change: of the provision state, the power
// state, maintenance, the console, and the fields that users set. The caller names in fields, as Changed does, what else has
// changed than the fields that a change of the provision state clears. Events contain the names of fields but no values, which may be secret.
func (n *Node) Tell(before *Node, fields []string) (out []Told) {
	for _, e := range []*Told{n.tellProvision(before), n.tellPower(before), n.tellMaintenance(before), n.tellConsole(before), n.tellFields(before, fields)} {
		if e != nil {
			out = append(out, *e)
		}
	}
	return out
}

func (n *Node) tellProvision(before *Node) *Told {
	if n.ProvisionState == before.ProvisionState {
		return nil
	}
	status := provisionStatus(before.ProvisionState, n.ProvisionState)
	data := map[string]any{"previous_provision_state": before.ProvisionState, "provision_state": n.ProvisionState}
	if n.TargetProvisionState != "" {
		data["target_provision_state"] = n.TargetProvisionState
	}
	if status == "error" && n.LastError != "" {
		data["last_error"] = n.LastError
	}
	return &Told{Type: "baremetal.node.provision_set." + status, Data: data}
}

// provisionStatus returns how the type of the event ends, by the rules of Ironic's notifications (states.UNSTABLE_STATES).
func provisionStatus(before, after State) string {
	switch {
	case strings.HasSuffix(string(after), " failed"), after == ErrorState, before == Verifying && after == Enroll:
		return "error"
	case Transient(after) && !Transient(before):
		return "start"
	case Transient(before) && !Transient(after):
		return "end"
	}
	return "success"
}

// tellPower returns the event of another power state. The first reading is no change. A request for a power state has events of its own
// (Operation.Tell).
func (n *Node) tellPower(before *Node) *Told {
	if before.PowerState == "" || n.PowerState == "" || n.PowerState == before.PowerState {
		return nil
	}
	data := map[string]any{"from_power": before.PowerState, "power_state": n.PowerState}
	switch o := n.Operation; {
	case o == nil:
		return &Told{Type: "baremetal.node.power_state_corrected.success", Data: data}
	case o.Kind.Spec().PowerChange:
		return nil
	}
	return &Told{Type: "baremetal.node.power_set.end", Data: data}
}

func (n *Node) tellMaintenance(before *Node) *Told {
	otherwise := n.MaintenanceReason != before.MaintenanceReason || n.Fault != before.Fault
	if n.Maintenance == before.Maintenance && !(n.Maintenance && otherwise) {
		return nil
	}
	data := map[string]any{"maintenance": n.Maintenance}
	if n.MaintenanceReason != "" {
		data["maintenance_reason"] = n.MaintenanceReason
	}
	if n.Fault != "" {
		data["fault"] = n.Fault
	}
	return &Told{Type: "baremetal.node.maintenance_set.end", Data: data}
}

func (n *Node) tellConsole(before *Node) *Told {
	if n.ConsoleEnabled == before.ConsoleEnabled {
		return nil
	}
	return &Told{Type: "baremetal.node.console_set.end", Data: map[string]any{"console_enabled": n.ConsoleEnabled}}
}

// toldFields are the fields that an update event can name, in this order. Maintenance has an event of its own, and the reasons of
// protected and retired change only with these.
var toldFields = []string{
	"name", "driver", "interfaces", "driver_info", "properties", "extra", "instance_info", "network_data", "conductor_group", "resource_class",
	"owner", "lessee", "description", "shard", "parent_node", "chassis_uuid", "instance_uuid", "instance_name", "protected", "retired",
	"automated_clean", "disable_power_off", "raid_config", "target_raid_config", "traits",
}

func (n *Node) tellFields(before *Node, fields []string) *Told {
	changed := map[string]bool{
		"instance_uuid": n.InstanceUUID != before.InstanceUUID, "instance_name": n.InstanceName != before.InstanceName, "lessee": n.Lessee != before.Lessee,
		"instance_info":      !reflect.DeepEqual(n.InstanceInfo, before.InstanceInfo) && len(n.InstanceInfo)+len(before.InstanceInfo) > 0,
		"target_raid_config": !reflect.DeepEqual(n.TargetRAIDConfig, before.TargetRAIDConfig) && len(n.TargetRAIDConfig)+len(before.TargetRAIDConfig) > 0,
	}
	for _, f := range fields {
		name, _, _ := strings.Cut(f, "/")
		if strings.HasSuffix(name, "_interface") {
			name = "interfaces"
		}
		changed[name] = true
	}
	names := slices.DeleteFunc(slices.Clone(toldFields), func(name string) bool { return !changed[name] })
	if len(names) == 0 {
		return nil
	}
	return &Told{Type: "baremetal.node.update.end", Data: map[string]any{"changed": names}}
}

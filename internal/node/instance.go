package node

import (
	"maps"
	"strings"
	"unicode/utf8"
)

// Undeployed reports whether n is in a state in which no instance is deployed on it. It may
// be reserved for one all the same (instance_uuid).
func (n *Node) Undeployed() bool {
	return n.ProvisionState == Available || n.ProvisionState == Manageable || n.ProvisionState == Enroll
}

// Tenant returns the project that may use the node: its lessee or else its owner; "" = none.
func (n *Node) Tenant() string {
	if n.Lessee != "" {
		return n.Lessee
	}
	return n.Owner
}

// AutomaticLessee is the key of driver_internal_info that marks a lessee which
// came with the instance and goes with it (Ironic's).
const AutomaticLessee = "automatic_lessee"

// LeaseToInstance makes the project of the instance on n, where it is known,
// the lessee of a node that is nobody's or its owner's alone.
func LeaseToInstance(n *Node) {
	p, _ := n.InstanceInfo["project_id"].(string)
	if n.Lessee != "" || p == "" || len(p) > MaxName || strings.ContainsRune(p, 0) {
		return
	}
	info := maps.Clone(n.DriverInternalInfo)
	if info == nil {
		info = map[string]any{}
	}
	info[AutomaticLessee] = true
	n.Lessee, n.DriverInternalInfo = p, info
}

// displayName is the key of instance_info in which Nova keeps the name of an instance.
const displayName = "display_name"

// NameInstance makes instance_name and the display_name of instance_info of n one name, as Ironic does from API version 1.104 on.
// before is the node as it was. The name that has changed wins, and instance_name if both have. A display_name that is no string
// of at most MaxName characters gives the instance no name.
func (n *Node) NameInstance(before *Node) {
	was, is := before.displayName(), n.displayName()
	switch {
	case n.InstanceName != before.InstanceName && n.InstanceName != is:
		n.InstanceInfo = maps.Clone(n.InstanceInfo)
		if n.InstanceName == "" {
			delete(n.InstanceInfo, displayName)
			return
		}
		if n.InstanceInfo == nil {
			n.InstanceInfo = map[string]any{}
		}
		n.InstanceInfo[displayName] = n.InstanceName
	case was != is:
		n.InstanceName = is
	}
}

// displayName is the name of the instance according to instance_info; "" = it has none that fits.
func (n *Node) displayName() string {
	name, _ := n.InstanceInfo[displayName].(string)
	if utf8.RuneCountInString(name) > MaxName {
		return ""
	}
	return name
}

// ClearInstance removes the instance from the node, and the lessee that came with it.
func (n *Node) ClearInstance() {
	n.InstanceInfo, n.InstanceUUID, n.InstanceName, n.AllocationUUID = map[string]any{}, "", "", ""
	if n.DriverInternalInfo[AutomaticLessee] == true {
		n.Lessee, n.DriverInternalInfo = "", maps.Clone(n.DriverInternalInfo)
		delete(n.DriverInternalInfo, AutomaticLessee)
	}
}

// Deallocate removes the allocation from the node, and the instance that it was made for. The
// traits that were asked for go from instance_info, unless the node is active: then it still runs
// what was deployed with them.
func (n *Node) Deallocate() {
	n.AllocationUUID, n.InstanceUUID, n.AllocationOwner, n.AllocatedInMaintenance = "", "", "", false
	if n.ProvisionState != Active {
		n.InstanceInfo = maps.Clone(n.InstanceInfo)
		delete(n.InstanceInfo, "traits")
	}
}

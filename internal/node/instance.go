package node

import (
	"maps"
	"strings"
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

package admission

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Backfill decides whether a may be recorded for n, which is in use already;
// reservation is what clients see. fault.Conflict in Ironic's words where it may not.
func Backfill(n *node.Node, a *node.Allocation, reservation string) error {
	if reservation != "" {
		return node.Locked(n, reservation)
	}
	if n.AllocationUUID != "" || n.InstanceUUID != "" && n.InstanceUUID != a.UUID {
		return fault.New(fault.Conflict, "Node %s is associated with instance %s.", n.UUID, n.InstanceUUID)
	}
	var wrong []string
	if n.ProvisionState != node.Active {
		wrong = append(wrong, fmt.Sprintf(`Node must be in the "active" state, but the current state is "%s"`, n.ProvisionState))
	}
	if a.ResourceClass != n.ResourceClass {
		wrong = append(wrong, fmt.Sprintf("Resource class %s does not match the requested resource class %s", n.ResourceClass, a.ResourceClass))
	}
	if missing := n.Lacks(a.Traits); len(missing) > 0 {
		wrong = append(wrong, fmt.Sprintf("List of traits %v does not match the requested traits %v", n.Traits, a.Traits))
	}
	if len(a.CandidateNodes) > 0 && !slices.Contains(a.CandidateNodes, n.UUID) {
		wrong = append(wrong, fmt.Sprintf("Candidate nodes must be empty or contain the target node, but got %v", a.CandidateNodes))
	}
	if len(wrong) > 0 {
		return fault.New(fault.Conflict, "Failed to process allocation %s: Cannot backfill an allocation for node %s: %s.", a.UUID, n.UUID, strings.Join(wrong, "; "))
	}
	return nil
}

// Deallocate decides whether the allocation of n may be deleted;
// reservation is what clients see. fault.Conflict in Ironic's words where not.
func Deallocate(n *node.Node, reservation string) error {
	switch {
	case reservation != "":
		return node.Locked(n, reservation)
	case n.Maintenance:
		return nil
	case n.TargetProvisionState != node.NoState && !slices.Contains(updateAllowed, n.ProvisionState):
		return fault.New(fault.Conflict, "Cannot remove allocation %s for node %s, because the node is in state %s where updates are not allowed (and maintenance mode is off)",
			n.AllocationUUID, n.UUID, n.ProvisionState)
	case n.ProvisionState == node.Active:
		return fault.New(fault.Conflict, "Cannot remove allocation %s for node %s, because the node is active (and maintenance mode is off)", n.AllocationUUID, n.UUID)
	}
	return nil
}

// instanceProject is whose the instance on n is; "" = nobody knows.
func instanceProject(n *node.Node) string {
	if n.AllocationOwner != "" {
		return n.AllocationOwner
	}
	if p, _ := n.InstanceInfo["project_id"].(string); p != "" {
		return p
	}
	return n.Tenant()
}

// checkTenant refuses to move a node to another tenant with an instance on it.
func checkTenant(before, after *node.Node) error {
	to := after.Tenant()
	if before.InstanceUUID == "" || before.Tenant() == to {
		return nil
	}
	if p := instanceProject(before); p != "" && p != to {
		return fault.New(fault.Conflict, "Node %s can not be moved from project %q to %q while instance %s of project %q is on it.",
			before.UUID, before.Tenant(), to, before.InstanceUUID, p)
	}
	return nil
}

package admission

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// deletable are the states in which a node may be deleted (states.py,
// DELETE_ALLOWED_STATES, and available, which is Ironic's default).
var deletable = []node.State{node.Manageable, node.Enroll, node.AdoptFailed, node.Available}

// Delete decides whether n may be deleted; reservation is what clients
// see. In maintenance it may in every state, for nodes that are hopelessly
// broken: an operation that waits ends with it. Errors in Ironic's words and
// order: Conflict, Forbidden for protected nodes.
func Delete(n *node.Node, reservation string) error {
	switch {
	case reservation != "":
		return node.Locked(n, reservation)
	case n.InstanceUUID != "" && !n.Maintenance:
		return fault.New(fault.Conflict, "Node %s is associated with instance %s.", n.UUID, n.InstanceUUID)
	case n.Protected:
		return refuseProtected(n)
	case n.Maintenance || slices.Contains(deletable, n.ProvisionState):
		return nil
	}
	return fault.New(fault.Conflict, `Can not delete node "%s" while it is in provision state "%s". Valid provision states to perform deletion are: "('%s')", or set the node into maintenance mode`,
		n.UUID, n.ProvisionState, strings.ReplaceAll(joinStates(deletable), ", ", "', '"))
}

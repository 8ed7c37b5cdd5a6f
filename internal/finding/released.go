package finding

import (
	"fmt"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Released says in clauses without a full stop what the end of o does: how o ends, what is to be undone, and who holds its node
// then. n is the node after that end.
func Released(o *node.Operation, outcome node.Outcome, n *node.Node) []string {
	undo := "nothing is to be undone"
	if len(n.Owed) > 0 {
		undo = "to be undone: " + node.UndoList(n.Owed) + ", as soon as a conductor covers the node"
		if n.Maintenance && !n.MaintenanceByFault {
			undo += " and its maintenance" + text.Because(n.MaintenanceReason) + " has ended"
		}
	}
	holder := "no operation holds it"
	switch h := n.Operation; {
	case h == nil:
	case h.ID == o.ID:
		holder = fmt.Sprintf("operation %d holds it until its workflow has ended it", h.ID)
	default:
		holder = fmt.Sprintf("operation %d (%s) holds it", h.ID, h.Kind)
	}
	return []string{
		fmt.Sprintf("operation %d (%s): %s", o.ID, o.Kind, outcome), undo, fmt.Sprintf("node %s: %s, %s", Label(n), n.ProvisionState, holder),
	}
}

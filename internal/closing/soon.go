package closing

import (
	"time"

	"go.temper.dev/temper/internal/node"
)

// Soon returns n as it will be when its open operation has succeeded, at the time now. ok is false if that operation does not
// end soon (node.Operation.EndsSoon), or another one follows it.
func Soon(n *node.Node, now time.Time) (after *node.Node, ok bool) {
	o := n.Operation
	if o == nil || !o.EndsSoon() {
		return nil, false
	}
	e, err := Operation(n, node.End{Operation: o.ID, Outcome: node.Succeeded})
	if err != nil || e.FollowUp != "" {
		return nil, false
	}
	then := *n
	e.Apply(&then, now)
	then.Operation = nil
	if o.Kind.Spec().PowerChange {
		then.PowerState = node.PowerAfter(o.PowerTarget)
	}
	return &then, true
}

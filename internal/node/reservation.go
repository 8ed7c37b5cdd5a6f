package node

// Reservation is who holds n, as clients see it in its "reservation"; "" = null.
// An operation holds the node in every state; clients are told so, as in
// Ironic, while it is in an -ing state or a power change runs. alive reports
// whether the conductor of that name is alive now; owner is the node's owner by
// the ring, "" = none. A dead conductor is never named: until another one takes
// the step it is the owner and, without an owner, the operation.
func Reservation(n *Node, alive func(host string) bool, owner string) string {
	o := n.Operation
	switch {
	case o == nil:
		return ""
	case !Working(n.ProvisionState) && o.Kind.Provisions():
		return ""
	case o.Conductor != "" && alive(o.Conductor):
		return o.Conductor
	case owner != "" && alive(owner):
		return owner
	}
	return OperationHolder(o.ID)
}

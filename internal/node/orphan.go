package node

// AdmitEnd is Admit for abort and deleted on a node whose open operation nobody
// works on and nobody could go on with: both are done at once, from every state
// that such an operation can have. ok = false: another verb, or another state,
// for which Admit decides. Errors: Forbidden for protected nodes.
func AdmitEnd(n *Node, v Verb) (d Decision, ok bool, err error) {
	o, from := n.Operation, n.ProvisionState
	if o == nil || !o.Kind.Provisions() || !Transient(from) {
		return d, false, nil
	}
	failed, err := Next(from, EventFail)
	if err != nil { // a hold
		failed, err = Next(from, EventAbort)
	}
	if err != nil {
		return d, false, nil //nolint:nilerr // the table has no way: Admit words it
	}
	d = Decision{From: from, To: from, Target: n.TargetProvisionState}
	switch {
	case v.Event == EventAbort:
		d.Steer = AskCancel // closing the operation moves the node
	case v.Event == EventDelete && o.Kind != KindUndeploy && (Can(from, EventDelete) || Can(failed, EventDelete)):
		d.Steer, d.To, d.Target = AskDelete, Deleting, TargetOf(Deleting)
		err = notProtected(n)
	default:
		return d, false, nil
	}
	return d, true, err
}

// UndoLeft stands in an operation's error between how it ended and why its undo
// is owed; the undo takes it out of the node's last error when it is done.
const UndoLeft = "; what it left is still to be undone: "

// EndNow words an end that somebody asked for, where nobody could undo what is
// half done.
func EndNow(o *Operation, undo []Undo) string {
	text := "By request, the " + string(o.Kind) + " operation was aborted"
	if len(undo) == 0 {
		return text
	}
	return text + UndoLeft + WaitsForConductor(o.Group, o.Driver) + " is not there"
}

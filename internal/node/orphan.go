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
	if v.Event == EventAbort { // closing the operation moves the node
		return Decision{Steer: AskCancel, From: from, To: from}, true, nil
	}
	way := []Event{EventDelete}
	if !Can(from, EventDelete) {
		way = []Event{failing(from), EventDelete}
	}
	if _, err := Move(n, way...); v.Event != EventDelete || o.Kind.Spec().GivesBack || err != nil {
		return d, false, nil //nolint:nilerr // the table has no way: Admit words it
	}
	return Decision{Steer: AskDelete, Move: way, From: from, To: Deleting}, true, notProtected(n)
}

// EndNow words an end that somebody asked for, where nobody could undo what is
// half done.
func EndNow(o *Operation) string {
	text := "By request, the " + string(o.Kind) + " operation was aborted"
	if len(UndoAtEnd(o, Cancelled)) == 0 {
		return text
	}
	return text + UndoLeft + WaitsForConductor(o.Group, o.Driver) + " is not there"
}

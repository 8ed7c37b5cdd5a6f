package admission

import "go.temper.dev/temper/internal/node"

// EndNow is Verb for abort and deleted on a node whose open operation nobody
// works on and nobody could go on with: both are done at once, from every state
// that such an operation can have. ok = false: another verb, or another state,
// for which Verb decides. Errors: Forbidden for protected nodes.
func EndNow(n *node.Node, v node.Verb) (d Effect, ok bool, err error) {
	o, from := n.Operation, n.ProvisionState
	if o == nil || !o.Kind.Provisions() || !node.Transient(from) {
		return d, false, nil
	}
	if v.Event == node.EventAbort { // closing the operation moves the node
		return Effect{Steer: node.AskCancel, From: from, To: from}, true, nil
	}
	way := []node.Event{node.EventDelete}
	if !node.Can(from, node.EventDelete) {
		way = []node.Event{node.FailureEvent(from), node.EventDelete}
	}
	if _, err := node.Move(n, way...); v.Event != node.EventDelete || o.Kind.Spec().GivesBack || err != nil {
		return d, false, nil //nolint:nilerr // the table has no way: Verb words it
	}
	return Effect{Steer: node.AskDelete, Move: way, From: from, To: node.Deleting}, true, refuseProtected(n)
}

// EndNowText words an end that somebody asked for, where nobody could undo what is
// half done.
func EndNowText(o *node.Operation) string {
	text := "By request, the " + string(o.Kind) + " operation was aborted"
	if len(node.UndoAtEnd(o, node.Cancelled)) == 0 {
		return text
	}
	return text + node.UndoLeft + node.WaitsForConductor(o.Group, o.Driver) + " is not there"
}

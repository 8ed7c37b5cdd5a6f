package intent

import (
	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

// Helped adds to err what can be done about it, as far as that depends on the node n and
// on the event e that was asked for. e is "" if the request was not about the life cycle.
func Helped(err error, n *node.Node, e node.Event) error {
	if err == nil {
		return nil
	}
	var list []help.Item
	add := func(do explain.Do) { list = append(list, help.Of(n, explain.Action{Do: do})) }
	switch code := fault.CodeOf(err); {
	case code == fault.NodeLocked, code == fault.NodeInTransition, code == fault.StateNotAllowed && n.Operation != nil:
		list = aboutOperation(n)
	case code == fault.StateNotAllowed && e != "":
		list = wayTo(n, e)
	case code == fault.NodeProtected:
		add(explain.Unprotect)
	case code == fault.NodeInMaintenance:
		add(explain.EndMaintenance)
	case code == fault.NoConductor, code == fault.NoConductorAlive: // RequireCovered has said what helps
	case code == fault.ImageInvalid && e == node.EventDeploy: // the request names the image
		add(explain.DeployImage)
	default:
		for _, a := range explain.Mends(n, code) {
			list = append(list, help.Of(n, a))
		}
	}
	if list == nil {
		return err
	}
	return format.WithHelp(err, list...)
}

// aboutOperation returns how to see what n's open operation does, and how to end it.
func aboutOperation(n *node.Node) []help.Item {
	list := []help.Item{help.Of(n, explain.Action{Do: explain.ExplainNode})}
	o := n.Operation
	if o != nil && (o.Kind.Spec().Undoes || o.Phase == node.Undoing) && o.TemporalPause == nil { // it ends by itself, and its work is needed
		undo := help.Of(n, explain.Action{Do: explain.WatchOperation, Operation: o.ID})
		undo.Effect = "shows how the undo goes on: ask again when it has ended"
		return append(list, undo)
	}
	if o == nil || o.Asked.Interrupts() {
		return list
	}
	add := func(do explain.Do, decision node.Action) {
		list = append(list, help.Of(n, explain.Action{Do: do, Operation: o.ID, Decision: decision}))
	}
	if step := o.Undecided(); step != nil && o.TemporalPause == nil {
		for _, choice := range step.Choices() {
			add(explain.Decide, choice)
		}
		return list
	}
	if o.TemporalPause != nil {
		add(explain.UnpauseOperation, "")
	}
	add(explain.CancelOperation, "")
	return list
}

// wayTo returns the verbs that bring a node that no operation holds to a state in which
// e is possible.
func wayTo(n *node.Node, e node.Event) []help.Item {
	var list []help.Item
	for _, step := range node.VerbsTo(n.ProvisionState, e) {
		item, when := help.Of(n, explain.Action{Do: explain.ChangeState, Event: step}), "first "
		if len(list) > 0 {
			when = "then "
		}
		item.Effect = when + item.Effect
		list = append(list, item)
	}
	return list
}

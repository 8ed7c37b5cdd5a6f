package intent

import (
	"slices"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

// Helped adds to err what can be done about it, as far as that depends on the node n and
// on the event e that was asked for. e is "" if the request was not about the life cycle.
func Helped(err error, n *node.Node, e node.Event) error {
	return Asked{Event: e}.Helped(err, n)
}

// Helped is the function Helped for the request a. If a itself names an image or root device hints, others have to be named with it:
// those that are set on the node would have no effect.
func (a Asked) Helped(err error, n *node.Node) error {
	if err == nil {
		return nil
	}
	var list []help.Item
	add := func(do fault.Do) {
		if item := help.Of(n, help.Action{Do: do, Event: a.Event}); !slices.ContainsFunc(list, func(h help.Item) bool { return h.Command == item.Command }) {
			list = append(list, item)
		}
	}
	e := a.Event
	switch code := fault.CodeOf(err); {
	case code == fault.NodeLocked, code == fault.NodeInTransition, code == fault.StateNotAllowed && n.Operation != nil:
		list = aboutOperation(n)
	case code == fault.StateNotAllowed && e != "":
		list = wayTo(n, e)
	case code == fault.NodeProtected:
		add(fault.Unprotect)
	case code == fault.NodeInMaintenance && n.MaintenanceEnds() != "":
		waits := help.Of(n, help.Action{Do: fault.ExplainNode})
		waits.Effect = "says what that end waits for"
		list = append(list, waits)
	case code == fault.NodeInMaintenance:
		add(fault.EndMaintenance)
	case code == fault.NoConductor, code == fault.NoConductorAlive: // RequireCovered has said what helps
	case code == fault.ImageInvalid && e == node.EventDeploy: // the request names the image
		add(fault.DeployImage)
	default:
		for _, mend := range help.Remedies(n, n.Driver, code) {
			if a.namesImage() && (mend.Do == fault.SetImage || mend.Do == fault.SetDigest) {
				mend.Do = fault.DeployImage
			}
			if a.namesHints() && mend.Do == fault.SetRootDevice {
				mend.Do = fault.DeployToDisk
			}
			add(mend.Do)
		}
	}
	if list == nil {
		return err
	}
	return format.WithHelp(err, list...)
}

// namesImage reports whether the request itself has the image, or its digest.
func (a Asked) namesImage() bool {
	return a.Provision != nil && slices.ContainsFunc([]string{"image_source", "image_checksum", "image_os_hash_value"}, func(key string) bool { return a.Provision.Info[key] != nil })
}

// namesHints reports whether the request itself has root device hints.
func (a Asked) namesHints() bool { return a.Provision != nil && a.Provision.Info["root_device"] != nil }

// aboutOperation returns how to see what n's open operation does, and how to end it.
func aboutOperation(n *node.Node) []help.Item {
	list := []help.Item{help.Of(n, help.Action{Do: fault.ExplainNode})}
	o := n.Operation
	if o != nil && (o.Kind.Spec().Undoes || o.Phase == node.Undoing) && o.TemporalPause == nil { // it ends by itself, and its work is needed
		undo := help.Of(n, help.Action{Do: fault.WatchOperation, Operation: o.ID})
		undo.Effect = "shows how the undo goes on: ask again when it has ended"
		return append(list, undo)
	}
	if o == nil || o.Asked.Interrupts() {
		return list
	}
	add := func(do fault.Do, decision node.Action) {
		list = append(list, help.Of(n, help.Action{Do: do, Operation: o.ID, Decision: decision}))
	}
	if step := o.Undecided(); step != nil && o.TemporalPause == nil {
		for _, choice := range step.Choices() {
			add(fault.Decide, choice)
		}
		return list
	}
	if o.TemporalPause != nil {
		add(fault.UnpauseOperation, "")
	}
	add(fault.CancelOperation, "")
	return list
}

// wayTo returns the verbs that bring a node that no operation holds to a state in which
// e is possible.
func wayTo(n *node.Node, e node.Event) []help.Item {
	var list []help.Item
	for _, step := range node.VerbsTo(n.ProvisionState, e) {
		item, when := help.Of(n, help.Action{Do: fault.ChangeState, Event: step}), "first "
		if len(list) > 0 {
			when = "then "
		}
		item.Effect = when + item.Effect
		list = append(list, item)
	}
	return list
}

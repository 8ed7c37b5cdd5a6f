// Package admission decides whether a request may be carried out on a node as it is now,
// and what it does then. It reads only its arguments; callers hold the lock of the node's
// row. Refusals are worded as Ironic words them.
package admission

import (
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Effect is what an admitted request does, in one transaction with the check.
// It opens an operation, or steers or joins the open one, or only moves the node.
type Effect struct {
	Open   node.OperationKind // insert an operation of this kind
	Target node.State         // the target of the operation that is opened
	Steer  node.Ask           // write this into the open operation; it replaces an older ask
	Join   bool               // the open operation is doing what is asked for anyway

	Move        []node.Event    // the way of the node along the life-cycle table; nil = it stays
	From, To    node.State      // provision state before and after
	Power       node.PowerState // of a power request: what was asked for
	TargetPower node.PowerState // target_power_state after it; "" = null
	// ClearError: work begins, so the last error of earlier work goes.
	ClearError bool
}

// Apply changes the node's last error and its power target as the decision says. The
// node's state changes with Move.
func (d Effect) Apply(n *node.Node) {
	if d.ClearError {
		n.LastError = ""
	}
	if d.Power != "" {
		n.TargetPowerState = d.TargetPower
	}
	if d.Steer == node.AskCancel && len(d.Move) > 0 {
		n.LastError = "By request, the operation was aborted"
	}
}

// Verb decides what v does to n. reservation is what clients see of n
// (Reservation). It reads only its arguments; the caller holds n's row locked.
//
// Errors, in Ironic's words and order: Invalid for provisioning in maintenance;
// Conflict where the node is taken; NotAllowed where the table has no such pair
// and nobody holds the node; Forbidden for protected nodes; Invalid for
// maintenance, retirement and verbs that the node's driver can't do.
func Verb(n *node.Node, v node.Verb, reservation string) (Effect, error) {
	if n.Maintenance && (v.Event == node.EventRebuild || v.Event == node.EventDeploy && !deploysInMaintenance(n)) {
		return Effect{}, inMaintenance(n, "provisioning")
	}
	from := n.ProvisionState
	to, err := node.Next(from, v.Event)
	if v.Event == "" || err != nil {
		if reservation != "" {
			return Effect{}, node.Locked(n, reservation)
		}
		code := fault.StateNotAllowed
		if node.Reached(from, v.Event) {
			code = fault.AlreadyInState
		}
		return Effect{}, notPerformed(code, v.Target, n.UUID, string(from))
	}
	if n.Operation != nil {
		if !v.Steers(from) {
			return Effect{}, node.Locked(n, reservation)
		}
		return steer(n, v, to)
	}
	if err := checkFlags(n, v); err != nil {
		return Effect{}, err
	}
	if !node.Transient(to) {
		return Effect{Move: []node.Event{v.Event}, From: from, To: to}, nil
	}
	if v.Kind == "" {
		return Effect{}, n.Unsupported(v.Target)
	}
	return Effect{Open: v.Kind, Target: v.State, Move: []node.Event{v.Event}, From: from, To: to, ClearError: true}, nil
}

// checkFlags applies the rules that look at the node's flags, in Ironic's order.
func checkFlags(n *node.Node, v node.Verb) error {
	if n.DisablePowerOff && powersOff(n, v) {
		return fault.New(fault.Invalid, "Node %s can not be powered off: its disable_power_off is set, and %q goes through power off.", n.UUID, v.Target)
	}
	switch {
	case v.NotProtected && n.Protected:
		return refuseProtected(n)
	case v.NotRetired != "" && n.Retired:
		return fault.New(fault.Invalid, "The %s operation can't be performed on node %s because it is retired.", v.NotRetired, n.UUID)
	case v.NotInMaintenance != "" && n.Maintenance:
		return inMaintenance(n, v.NotInMaintenance)
	}
	return nil
}

// powersOff reports whether the operation that v opens switches the server off on its way. On
// a node that must not be powered off it would fail half done.
func powersOff(n *node.Node, v node.Verb) bool {
	k := v.Kind.Spec()
	return k.PowersOff || k.UsesAgent(n)
}

// steer decides what a verb does to the open operation. If the running step can be aborted,
// an abort is a cancel, and the node is in the failed state at once; else the step finishes
// first. An undeploy can't be taken back: the node has left the wait state, and the table
// refuses later verbs.
func steer(n *node.Node, v node.Verb, to node.State) (Effect, error) {
	d := Effect{Move: []node.Event{v.Event}, From: n.ProvisionState, To: to}
	switch v.Event {
	case node.EventDelete:
		if err := refuseProtected(n); err != nil {
			return Effect{}, err
		}
		d.Steer = node.AskDelete
	case node.EventUnhold:
		// What was accepted before is done first: the row holds one ask.
		if a := n.Operation.Asked; a != node.AskNone && a != node.AskUnhold {
			return Effect{}, node.Locked(n, "")
		}
		d.Steer = node.AskUnhold
	default:
		d.Steer = node.AskCancel
		if n.Operation.Asked == node.AskCancel {
			break // to let the step finish would take back what was accepted
		}
		if step := n.Operation.CurrentStep(); node.Waits(d.From) && step != nil && !step.Abortable {
			d.Steer, d.Move, d.To = node.AskAbort, nil, d.From
		}
	}
	return d, nil
}

func notPerformed(code fault.Code, action, uuid, state string) error {
	return fault.Coded(code, "The requested action %q can not be performed on node %q while it is in state %q.", text.Cut(action), uuid, state)
}

// deploysInMaintenance: the node's allocation named it and asked for
// TraitMaintenance. With a fault it is not only an operator who keeps it away.
func deploysInMaintenance(n *node.Node) bool {
	return n.AllocatedInMaintenance && n.Fault == ""
}

func inMaintenance(n *node.Node, op string) error {
	more := ""
	if ends := n.MaintenanceEnds(); ends != "" {
		more = " Temper has set it because of a fault (" + n.Fault + "), and it ends by itself " + ends + "."
	}
	return fault.Coded(fault.NodeInMaintenance, "The %s operation can't be performed on node %s because it's in maintenance mode.%s", op, n.UUID, more)
}

func refuseProtected(n *node.Node) error {
	if n.Protected {
		return fault.Coded(fault.NodeProtected, "Node %s is protected and cannot be undeployed, rebuilt or deleted", n.UUID)
	}
	return nil
}

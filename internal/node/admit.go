package node

import (
	"fmt"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// Decision is what an admitted request does, in one transaction with the check.
// It opens an operation, or steers the open one, or only moves the node.
type Decision struct {
	Open   Kind  // insert an operation of this kind
	Target State // the target of the operation that is opened
	Steer  Ask   // write this into the open operation; it replaces an older ask

	Move        []Event    // the way of the node along the life-cycle table; nil = it stays
	From, To    State      // provision state before and after
	Power       PowerState // of a power request: what was asked for
	TargetPower PowerState // target_power_state after it; "" = null
	// ClearError: work begins, so the last error of earlier work goes.
	ClearError bool
}

// Apply changes the node's last error and its power target as the decision says. The
// node's state changes with Move.
func (d Decision) Apply(n *Node) {
	if d.ClearError {
		n.LastError = ""
	}
	if d.Power != "" {
		n.TargetPowerState = d.TargetPower
	}
	if d.Steer == AskCancel && len(d.Move) > 0 {
		n.LastError = "By request, the operation was aborted"
	}
}

// Admit decides what v does to n. reservation is what clients see of n
// (Reservation). It reads only its arguments; the caller holds n's row locked.
//
// Errors, in Ironic's words and order: Invalid for provisioning in maintenance;
// Conflict where the node is taken; NotAllowed where the table has no such pair
// and nobody holds the node; Forbidden for protected nodes; Invalid for
// maintenance, retirement and verbs that the node's driver can't do.
func Admit(n *Node, v Verb, reservation string) (Decision, error) {
	if n.Maintenance && (v.Event == EventRebuild || v.Event == EventDeploy && !deploysInMaintenance(n)) {
		return Decision{}, inMaintenance(n, "provisioning")
	}
	from := n.ProvisionState
	to, err := Next(from, v.Event)
	if v.Event == "" || err != nil {
		if reservation != "" {
			return Decision{}, Locked(n, reservation)
		}
		code := fault.StateNotAllowed
		if Reached(from, v.Event) {
			code = fault.AlreadyInState
		}
		return Decision{}, notPerformed(code, v.Target, n.UUID, string(from))
	}
	if n.Operation != nil {
		if !v.Steers(from) {
			return Decision{}, Locked(n, reservation)
		}
		return steer(n, v, to)
	}
	if err := permit(n, v); err != nil {
		return Decision{}, err
	}
	if !Transient(to) {
		return Decision{Move: []Event{v.Event}, From: from, To: to}, nil
	}
	if v.Kind == "" {
		return Decision{}, n.Unsupported(v.Target)
	}
	return Decision{Open: v.Kind, Target: v.State, Move: []Event{v.Event}, From: from, To: to, ClearError: true}, nil
}

// permit are the rules that look at the node's flags, in Ironic's order.
func permit(n *Node, v Verb) error {
	if n.DisablePowerOff && goesThroughOff(n, v) {
		return fault.New(fault.Invalid, "Node %s can not be powered off: its disable_power_off is set, and %q goes through power off.", n.UUID, v.Target)
	}
	switch v.Event {
	case EventRebuild, EventDelete:
		return notProtected(n)
	case EventProvide:
		if n.Retired {
			return fault.New(fault.Invalid, "The providing operation can't be performed on node %s because it is retired.", n.UUID)
		}
	case EventClean:
		return notInMaintenance(n, "cleaning")
	case EventService:
		return notInMaintenance(n, "servicing")
	case EventRescue:
		return notInMaintenance(n, "rescuing")
	case EventUnrescue:
		return notInMaintenance(n, "unrescuing")
	}
	return nil
}

// goesThroughOff: what the verb starts switches the server off on its way. Such
// a node would be left half done in the middle.
func goesThroughOff(n *Node, v Verb) bool {
	k := v.Kind.Spec()
	return k.PowersOff || k.UsesAgent(n)
}

// steer decides what a verb does to the open operation. An abort that can act
// now is a cancel, and the node shows the failed state at once; else the step
// that runs is let finish. A node that is being given back is never un-deleted:
// its state has left the wait state, and the table refuses what comes later.
func steer(n *Node, v Verb, to State) (Decision, error) {
	d := Decision{Move: []Event{v.Event}, From: n.ProvisionState, To: to}
	switch v.Event {
	case EventDelete:
		if err := notProtected(n); err != nil {
			return Decision{}, err
		}
		d.Steer = AskDelete
	case EventUnhold:
		// What was accepted before is done first: the row holds one ask.
		if a := n.Operation.Asked; a != AskNone && a != AskUnhold {
			return Decision{}, Locked(n, "")
		}
		d.Steer = AskUnhold
	default:
		d.Steer = AskCancel
		if n.Operation.Asked == AskCancel {
			break // to let the step finish would take back what was accepted
		}
		if step := n.Operation.CurrentStep(); Waits(d.From) && step != nil && !step.Abortable {
			d.Steer, d.Move, d.To = AskAbort, nil, d.From
		}
	}
	return d, nil
}

// PowerTargets are the words of states/power.
var PowerTargets = []PowerState{PowerOn, PowerOff, Rebooting, SoftRebooting, SoftPowerOff}

// PowerMinor is the microversion 1.N that has the word.
func PowerMinor(target PowerState) int {
	if target == SoftRebooting || target == SoftPowerOff {
		return 27
	}
	return 1
}

// PowerAfter is the power state that a request for target aims at.
func PowerAfter(target PowerState) PowerState {
	switch target {
	case PowerOff, SoftPowerOff:
		return PowerOff
	}
	return PowerOn
}

// AdmitPower decides what a request for a power state does to n; reservation as
// in Admit. While the node waits or holds it steers the open operation (people
// reboot nodes that are stuck in PXE); while it is being cleaned it is refused.
// Errors: NotAllowed, Invalid (disable_power_off), Conflict.
func AdmitPower(n *Node, target PowerState, reservation string) (Decision, error) {
	s := n.ProvisionState
	if !isPowerTarget(target) {
		have := string(n.PowerState)
		if have == "" {
			have = "None"
		}
		return Decision{}, notPerformed(fault.StateNotAllowed, string(target), n.UUID, have)
	}
	if s == Cleaning || s == CleanWait {
		return Decision{}, notPerformed(fault.StateNotAllowed, string(target), n.UUID, string(s))
	}
	if n.DisablePowerOff && PowerAfter(target) == PowerOff {
		return Decision{}, fault.New(fault.Invalid, "Node %s can not be powered off: its disable_power_off is set.", n.UUID)
	}
	d := Decision{From: s, To: s, Power: target, TargetPower: PowerAfter(target)}
	switch o := n.Operation; {
	case o == nil:
		d.Open, d.ClearError = KindPower, !keepsError(s)
	case o.TemporalPause != nil: // it could not be done before somebody lets it go on
		return Decision{}, Locked(n, reservation)
	case (Waits(s) || Holds(s)) && (o.Asked == AskNone || o.Asked == AskPower && o.AskedPower == target):
		d.Steer = AskPower
	default:
		return Decision{}, Locked(n, reservation)
	}
	return d, nil
}

func isPowerTarget(p PowerState) bool {
	for _, t := range PowerTargets {
		if t == p {
			return true
		}
	}
	return false
}

// Locked is the refusal that clients know how to retry. holder is the
// reservation that clients see; where they see none the operation is named.
func Locked(n *Node, holder string) error {
	if holder == "" && n.Operation != nil {
		holder = OperationHolder(n.Operation.ID)
	}
	return fault.Coded(fault.NodeLocked, "Node %s is locked by host %s, please retry after the current operation is completed.", n.UUID, holder)
}

// OperationHolder is the reservation of a node that no conductor has yet.
func OperationHolder(id int64) string { return fmt.Sprintf("operation-%d", id) }

// NotFound is the answer for a node that is not there; ident as it was asked for.
func NotFound(ident string) error {
	return fault.Coded(fault.NodeNotFound, "Node %s could not be found.", ident)
}

func notPerformed(code fault.Code, action, uuid, state string) error {
	return fault.Coded(code, "The requested action %q can not be performed on node %q while it is in state %q.", text.Cut(action), uuid, state)
}

// deploysInMaintenance: the node's allocation named it and asked for
// TraitMaintenance. With a fault it is not only an operator who keeps it away.
func deploysInMaintenance(n *Node) bool {
	return n.AllocatedInMaintenance && n.Fault == ""
}

func inMaintenance(n *Node, op string) error {
	return fault.Coded(fault.NodeInMaintenance, "The %s operation can't be performed on node %s because it's in maintenance mode.", op, n.UUID)
}

func notInMaintenance(n *Node, op string) error {
	if n.Maintenance {
		return inMaintenance(n, op)
	}
	return nil
}

func notProtected(n *Node) error {
	if n.Protected {
		return fault.Coded(fault.NodeProtected, "Node %s is protected and cannot be undeployed, rebuilt or deleted", n.UUID)
	}
	return nil
}

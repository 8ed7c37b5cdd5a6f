package closing

import (
	"time"

	"go.temper.dev/temper/internal/node"
)

// Ending is a transition that ends the work on a node, with what the work leaves.
type Ending struct {
	node.Transition
	Events []node.Event // the way from From to To, each a rule of the table

	Failure    node.Failure // why the operation has not succeeded; zero if it has
	LastError  string       // the node's; "" = null
	ClearAgent bool         // the agent of the boot is forgotten: its url, token and heartbeats
	// SetMaintenance says that the node goes into maintenance for this fault.
	SetMaintenance    bool
	MaintenanceReason string
	Fault             string
	Owed              []node.Undo // what the node owes now: the undos that were not done
	OwedError         string      // the node's new OwedError and OwedRefused
	OwedRefused       bool
	FollowUp          node.OperationKind // operation to open at once; "" = the node is free
	History           node.HistoryEvent  // line for the node's history; without Event none is written
}

// Apply changes n as the ending says, at the time now.
func (e Ending) Apply(n *node.Node, now time.Time) {
	e.Transition.Apply(n, now)
	n.LastError, n.TargetPowerState = e.LastError, ""
	n.Owed, n.OwedError, n.OwedRefused = e.Owed, e.OwedError, e.OwedRefused
	if e.SetMaintenance {
		n.MaintenanceByFault = !n.Maintenance || n.MaintenanceByFault
		n.Maintenance, n.MaintenanceReason, n.Fault = true, e.MaintenanceReason, e.Fault
	}
	if e.ClearAgent {
		n.Agent = nil
	}
}

// Stranded returns the ending of a node that is in a transient state while no
// operation holds it, because its row was written by hand or comes from elsewhere.
// ok is false if n is in another state, or an operation holds it.
func Stranded(n *node.Node) (e Ending, ok bool) {
	from := n.ProvisionState
	if n.Operation != nil || !node.Transient(from) {
		return Ending{}, false
	}
	event := node.FailureEvent(from)
	t, err := node.Move(n, event)
	if err != nil { // impossible: work in every transient state can fail
		return Ending{}, false
	}
	e = Ending{
		Transition: t, Events: []node.Event{event}, ClearAgent: true,
		LastError: "The node was " + string(from) + ", and nothing worked on it: no operation held it. Reconciliation has ended that",
		Owed:      n.Owed, OwedError: n.OwedError, OwedRefused: n.OwedRefused,
		History: node.HistoryEvent{Event: t.Words() + ": no operation held the node", EventType: node.HistoryError, Severity: "ERROR"},
	}
	if from != node.Verifying && from != node.Adopting { // the others may have booted a ramdisk
		e.Owed, e.OwedRefused = node.WithUndo(n.Owed, []node.Undo{node.UndoEjectMedia, node.UndoClearBoot}), false
	}
	return e, true
}

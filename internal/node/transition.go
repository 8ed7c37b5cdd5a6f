package node

import (
	"maps"
	"time"
)

// Transition is a move of a node along the life-cycle table, with everything that
// changes because of it. A node changes its provision state in no other way.
//
// Apply changes the node in memory. Package store writes what Apply has changed, and
// removes what ClearInstance names and the node's row does not hold.
type Transition struct {
	From, To State
	Target   State // target_provision_state after it; "" = none
	// Inspection says what happens to inspection_started_at and _finished_at.
	Inspection InspectionClock
	// ClearInstance says that the instance leaves the node: instance_info with its
	// secrets, instance_uuid and instance_name, the lessee that came with the
	// instance, the secrets of operations' steps, attached VIFs and the allocation.
	// This happens whenever a node leaves deleting, for cleaning or for error, as in
	// Ironic (conductor/manager.py, _do_node_tear_down).
	ClearInstance bool
}

// InspectionClock says what happens to inspection_started_at and _finished_at.
type InspectionClock int

// The changes of the two times (Ironic db/sqlalchemy/api.py, _do_update_node).
const (
	InspectionKeep   InspectionClock = iota
	InspectionStarts                 // started = now, finished = null
	InspectionEnds                   // started = null, finished = now
	InspectionFails                  // started = null
)

// Move returns the transition of n along these events, one after the other. Without
// events the node stays where it is, and only its target is set again. The error is
// fault.NotAllowed if the table lacks one of the events.
func Move(n *Node, events ...Event) (Transition, error) {
	t := Transition{From: n.ProvisionState, To: n.ProvisionState}
	for _, e := range events {
		to, err := Next(t.To, e)
		if err != nil {
			return Transition{}, err
		}
		t.through(to)
	}
	aim := n.TargetProvisionState
	if n.Operation != nil && n.Operation.Kind.Provisions() {
		aim = n.Operation.Target
	}
	t.Target = TargetIn(t.To, aim)
	return t, nil
}

// through extends the transition by one rule of the table.
func (t *Transition) through(to State) {
	inspected := t.To == Inspecting || t.To == InspectWait
	switch {
	case to == Inspecting && !inspected:
		t.Inspection = InspectionStarts
	case to == Manageable && inspected:
		t.Inspection = InspectionEnds
	case to == InspectFailed:
		t.Inspection = InspectionFails
	}
	t.ClearInstance = t.ClearInstance || t.To == Deleting
	t.To = to
}

// Apply changes n as the transition says, at the time now.
func (t Transition) Apply(n *Node, now time.Time) {
	if t.From != t.To {
		n.ProvisionUpdatedAt = &now
	}
	n.ProvisionState, n.TargetProvisionState = t.To, t.Target
	switch t.Inspection {
	case InspectionStarts:
		n.InspectionStartedAt, n.InspectionFinishedAt = &now, nil
	case InspectionEnds:
		n.InspectionStartedAt, n.InspectionFinishedAt = nil, &now
	case InspectionFails:
		n.InspectionStartedAt = nil
	}
	if t.ClearInstance {
		n.ClearInstance()
	}
}

// TakeState takes over the state that the same node had when it was read again.
func (n *Node) TakeState(later *Node) {
	n.ProvisionState, n.TargetProvisionState, n.ProvisionUpdatedAt = later.ProvisionState, later.TargetProvisionState, later.ProvisionUpdatedAt
}

// Words describes the transition for people.
func (t Transition) Words() string {
	if t.From == t.To {
		return "stays " + string(t.To)
	}
	return "from " + string(t.From) + " to " + string(t.To)
}

// ClearInstance removes the instance from the node, and the lessee that came with it.
func (n *Node) ClearInstance() {
	n.InstanceInfo, n.InstanceUUID, n.InstanceName, n.AllocationUUID = map[string]any{}, "", "", ""
	if n.DriverInternalInfo[AutomaticLessee] == true {
		n.Lessee, n.DriverInternalInfo = "", maps.Clone(n.DriverInternalInfo)
		delete(n.DriverInternalInfo, AutomaticLessee)
	}
}

// Ending is a transition that ends the work on a node, with what the work leaves.
type Ending struct {
	Transition
	Events []Event // the way from From to To, each a rule of the table

	LastError  string // "" = null
	ClearAgent bool   // the agent of the boot is forgotten: its url, token and heartbeats
	// SetMaintenance says that the node goes into maintenance for this fault.
	SetMaintenance    bool
	MaintenanceReason string
	Fault             string
	Owed              []Undo // what the node owes now: the undos that were not done
	OwedError         string // the node's new OwedError and OwedRefused
	OwedRefused       bool
	FollowUp          Kind         // operation to open at once; "" = the node is free
	History           HistoryEvent // line for the node's history; without Event none is written
}

// Apply changes n as the ending says, at the time now.
func (e Ending) Apply(n *Node, now time.Time) {
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
func Stranded(n *Node) (e Ending, ok bool) {
	from := n.ProvisionState
	if n.Operation != nil || !Transient(from) {
		return Ending{}, false
	}
	event := failing(from)
	t, err := Move(n, event)
	if err != nil { // impossible: work in every transient state can fail
		return Ending{}, false
	}
	e = Ending{
		Transition: t, Events: []Event{event}, ClearAgent: true,
		LastError: "The node was " + string(from) + ", and nothing worked on it: no operation held it. Reconciliation has ended that",
		Owed:      n.Owed, OwedError: n.OwedError, OwedRefused: n.OwedRefused,
		History: HistoryEvent{Event: t.Words() + ": no operation held the node", EventType: HistoryError, Severity: "ERROR"},
	}
	if from != Verifying && from != Adopting { // the others may have booted a ramdisk
		e.Owed, e.OwedRefused = union(n.Owed, []Undo{UndoEjectMedia, UndoClearBoot}), false
	}
	return e, true
}

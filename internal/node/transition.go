package node

import (
	"time"
)

// Transition is a move of a node along the life-cycle table, with everything that
// changes because of it. A node that exists changes its provision state in no other way.
//
// Apply changes the node in memory. Package store writes what Apply has changed, and
// removes what ClearInstance names and the node's row does not hold.
type Transition struct {
	From, To State
	Target   State // target_provision_state after it; "" = none
	// Inspection says what happens to inspection_started_at and _finished_at.
	Inspection InspectionClock
	// ClearInstance says that the instance is removed from the node: instance_info with its
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
		t.extend(to)
	}
	aim := n.TargetProvisionState
	if n.Operation != nil && n.Operation.Kind.Provisions() {
		aim = n.Operation.Target
	}
	t.Target = TargetIn(t.To, aim)
	return t, nil
}

// extend extends the transition by one rule of the table.
func (t *Transition) extend(to State) {
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

// Words returns a description of the transition for people.
func (t Transition) Words() string {
	if t.From == t.To {
		return "stays " + string(t.To)
	}
	return "from " + string(t.From) + " to " + string(t.To)
}

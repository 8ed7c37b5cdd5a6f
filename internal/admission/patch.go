package admission

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// PatchRequest is what Patch needs to know of a PATCH besides the node before and after it.
type PatchRequest struct {
	Roots []string // the fields that it names, as in the API: "extra", "power_interface"
	// RemovesOnlyInstanceUUID: it is [{"op": "remove", "path": "/instance_uuid"}].
	RemovesOnlyInstanceUUID bool
	Minor                   int    // the client's microversion, 1.Minor
	Reservation             string // what clients see (Reservation)
	// Orphaned: nobody works on the open operation, and nobody covers the node. It
	// may be moved to where somebody does, with all that this takes.
	Orphaned bool
}

// alwaysWritable are the fields that may be written at any time, because no step reads them.
var alwaysWritable = []string{
	"name", "extra", "description", "owner", "lessee", "maintenance", "maintenance_reason",
	"protected", "protected_reason", "retired", "retired_reason",
}

// readBySteps are the fields that steps read, so that they can't be written while an
// operation is open.
var readBySteps = []string{"driver", "driver_info", "conductor_group", "properties", "instance_info", "instance_name", "resource_class", "instance_uuid"}

// repairable are the fields that may be the reason why a step has failed: a wrong checksum,
// password or address. They may be written while the operation holds for a decision; its next
// step reads the node again.
var repairable = []string{"driver_info", "instance_info", "properties"}

// repairs reports whether a field can be set for the operation that holds n.
func repairs(n *node.Node, field string) bool {
	o := n.Operation
	return o != nil && o.Undecided() != nil && o.Asked == node.AskNone && slices.Contains(repairable, field)
}

// Moves reports whether a field says who can work on the node, and how.
func Moves(field string) bool {
	return isInterface(field) || slices.Contains([]string{"driver", "driver_info", "conductor_group"}, field)
}

// updateAllowed are the states with a target in which Ironic lets a node be
// updated (states.py, UPDATE_ALLOWED_STATES).
var updateAllowed = []node.State{
	node.DeployFailed, node.Inspecting, node.InspectFailed, node.InspectWait, node.CleanFailed, node.ErrorState, node.Verifying, node.AdoptFailed, node.RescueFailed, node.UnrescueFailed, node.ServiceHold, node.ServiceFailed,
}

// buildable are the states in which driver and interfaces may change, in
// Ironic's order (manager.py, update_node).
var buildable = []node.State{node.Enroll, node.Inspecting, node.InspectWait, node.Manageable, node.Available}

// Patch decides whether a PATCH may turn before into after. before has
// its open operation; the caller holds its row locked. Errors in Ironic's
// words: Conflict for the wrong moment, Invalid for what never fits.
func Patch(before, after *node.Node, p PatchRequest) error {
	if before.Maintenance && p.RemovesOnlyInstanceUUID && p.Reservation == "" {
		return nil
	}
	if err := checkMoment(before, p); err != nil {
		return err
	}
	if err := checkState(before, after, p); err != nil {
		return err
	}
	if err := checkTenant(before, after); err != nil {
		return err
	}
	if err := checkFlagChanges(before, after); err != nil {
		return err
	}
	return checkDriverInfo(before, after)
}

// checkDriverInfo checks what has changed of driver_info, so that a node with a value of before may be changed otherwise.
func checkDriverInfo(before, after *node.Node) error {
	known := before.DriverInfo
	if before.Driver != after.Driver {
		known = nil
	}
	h, _ := node.Hardware(after.Driver) // whoever resolves its interfaces names an unknown driver
	return h.CheckChanged(known, after.DriverInfo)
}

func checkMoment(n *node.Node, p PatchRequest) error {
	var waits, steps bool // some field waits for the state; steps work from some field
	for _, root := range p.Roots {
		if p.Orphaned && Moves(root) || repairs(n, root) {
			continue
		}
		waits = waits || !slices.Contains(alwaysWritable, root)
		steps = steps || slices.Contains(readBySteps, root) || isInterface(root)
	}
	s := n.ProvisionState
	moving := n.TargetProvisionState != node.NoState
	switch {
	case !waits:
		return nil
	case moving && (!slices.Contains(updateAllowed, s) || steps && n.Operation != nil):
		return fault.Coded(fault.NodeInTransition, "Node %s can not be updated while a state transition is in progress.", n.UUID)
	case s == node.Inspecting && p.Minor >= 39:
		return fault.Coded(fault.NodeInTransition, `Cannot update node "%s" while it is in state "%s".`, n.UUID, s)
	case steps && n.Operation != nil:
		return node.Locked(n, p.Reservation)
	}
	return nil
}

func checkState(before, after *node.Node, p PatchRequest) error {
	inBuildable := slices.Contains(buildable, before.ProvisionState)
	allowed := joinStates(buildable)
	for _, root := range p.Roots {
		if (isInterface(root) || root == "driver" && before.Driver != after.Driver) && !inBuildable && !before.Maintenance && !p.Orphaned {
			return fault.New(fault.Conflict, "Node %s can not have %s updated unless it is in one of allowed (%s) states or in maintenance mode.", before.UUID, text.Cut(root), allowed)
		}
	}
	if before.ResourceClass != "" && before.ResourceClass != after.ResourceClass && !inBuildable {
		return fault.New(fault.Conflict, "Node %s can not have resource_class updated unless it is in one of allowed (%s) states.", before.UUID, allowed)
	}
	if before.InstanceUUID == "" || before.InstanceUUID == after.InstanceUUID {
		return nil
	}
	if after.InstanceUUID != "" {
		return fault.New(fault.Conflict, "Node %s is associated with instance %s.", before.UUID, before.InstanceUUID)
	}
	if before.AllocationUUID != "" && !inBuildable && !before.Maintenance {
		return fault.New(fault.Conflict, "Node %s with an allocation can not have instance_uuid removed unless it is in one of allowed (%s) states or in maintenance mode.", before.UUID, allowed)
	}
	return nil
}

func checkFlagChanges(before, after *node.Node) error {
	switch s := before.ProvisionState; {
	case after.Protected && !before.Protected && s != node.Active && s != node.Rescue:
		return fault.New(fault.Conflict, "Node %s can only be made protected in provision states 'active' or 'rescue', the current state is '%s'", before.UUID, s)
	case after.ProtectedReason != "" && after.ProtectedReason != before.ProtectedReason && !after.Protected:
		return fault.New(fault.Invalid, "The protected_reason field can only be set when protected is True")
	case after.Retired && !before.Retired && s == node.Available:
		return fault.New(fault.Conflict, "Node %s can not have 'retired' set in provision state 'available', the current state is '%s'", before.UUID, s)
	case after.RetiredReason != "" && after.RetiredReason != before.RetiredReason && !after.Retired:
		return fault.New(fault.Invalid, "The retired_reason field can only be set when retired is True")
	}
	return nil
}

// isInterface reports whether a field is one of the 13 "X_interface".
func isInterface(field string) bool {
	iface, ok := strings.CutSuffix(field, "_interface")
	return ok && slices.Contains(node.Interfaces, iface)
}

func joinStates(in []node.State) string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}

package node

import (
	"fmt"

	"go.temper.dev/temper/internal/fault"
)

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

// AllocationNotFound is the answer for one that is not there.
func AllocationNotFound(ident string) error {
	return fault.New(fault.NotFound, "Allocation %s could not be found.", ident)
}

// NoDecision refuses a decision that nobody asked for, or that was taken already.
func NoDecision(id int64) error {
	return fault.Coded(fault.NoDecisionAwaited, "Operation %d waits for no decision.", id)
}

// CannotSkip refuses to skip a step.
func CannotSkip(step, why string) error {
	return fault.New(fault.NotAllowed, "Step %s can not be skipped: %s.", step, why)
}

// Unsupported says that a node's driver can't do what was asked for: an
// interface, or a verb.
func (n *Node) Unsupported(what string) error {
	return fault.Coded(fault.NotSupported, "Driver %s does not support %s (disabled or not implemented).", n.Driver, what)
}

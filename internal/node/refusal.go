package node

import (
	"fmt"

	"go.temper.dev/temper/internal/fault"
)

// Locked is Ironic's 409 for a locked node, which its clients retry. holder is the
// reservation that clients see; if it is "", the operation is named.
func Locked(n *Node, holder string) error {
	if holder == "" && n.Operation != nil {
		holder = OperationHolder(n.Operation.ID)
	}
	return fault.Coded(fault.NodeLocked, "Node %s is locked by host %s, please retry after the current operation is completed.", n.UUID, holder)
}

// HeldBriefly is the refusal of a request that would be accepted if the open operation of a node had ended, and that
// operation ends soon (Operation.EndsSoon). It is worth waiting for.
type HeldBriefly struct {
	UUID    string // of the node
	Refusal error  // the error if nobody waits
	Record  bool   // a last try has to record the refusal
}

// Error is that of the refusal.
func (h *HeldBriefly) Error() string { return h.Refusal.Error() }

// Unwrap returns the refusal.
func (h *HeldBriefly) Unwrap() error { return h.Refusal }

// OperationHolder is the reservation of a node that no conductor has yet.
func OperationHolder(id int64) string { return fmt.Sprintf("operation-%d", id) }

// InstanceTaken refuses an instance_uuid that another node has; %s is that.
const InstanceTaken = "Instance %s is already associated with another node."

// NotFound is the error for a node that does not exist; ident is as in the request.
func NotFound(ident string) error {
	return fault.Coded(fault.NodeNotFound, "Node %s could not be found.", ident)
}

// OperationNotFound is the error of an operation that does not exist.
func OperationNotFound(ident string) error {
	return fault.Coded(fault.OperationNotFound, "Operation %s could not be found.", ident)
}

// AllocationNotFound is the error for an allocation that does not exist.
func AllocationNotFound(ident string) error {
	return fault.New(fault.NotFound, "Allocation %s could not be found.", ident)
}

// NoDecision refuses a decision if the operation waits for none, or not any more.
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
	because := n.Implementation(what).Because
	if because != "" {
		because = " " + because
	}
	return fault.Coded(fault.NotSupported, "Driver %s does not support %s (disabled or not implemented).%s", n.Driver, what, because)
}

package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// TraitMaintenance is the trait that a node has while an operator keeps it in
// maintenance. It is computed, never stored, and a barrier: only a request that
// names the node and asks for the trait gets such a node.
const TraitMaintenance = "CUSTOM_MAINTENANCE"

// AllocationState is how far an allocation is, in Ironic's words.
type AllocationState string

// The states of allocations.
const (
	Allocating AllocationState = "allocating"
	Allocated  AllocationState = "active"
	AllocError AllocationState = "error"
)

// AllocationStates are all of them.
var AllocationStates = []AllocationState{Allocating, Allocated, AllocError}

// Allocation is a request for a node of a resource class, and the node it got.
type Allocation struct {
	ID             int64
	UUID           string // becomes the node's instance_uuid
	Name           string // "" = none
	State          AllocationState
	LastError      string
	ResourceClass  string
	Traits         []string // sorted; what the node must have
	CandidateNodes []string // uuids, in the order given; none = every node
	Owner          string   // project; "" = none
	Extra          map[string]any
	NodeUUID       string // "" = none
	CreatedAt      time.Time
	UpdatedAt      *time.Time
}

// AsksMaintenance reports whether the allocation wants a node in maintenance.
func (a *Allocation) AsksMaintenance() bool { return slices.Contains(a.Traits, TraitMaintenance) }

// NodeTraits are the traits that a node must have in its row; never nil.
func (a *Allocation) NodeTraits() []string {
	return slices.DeleteFunc(append([]string{}, a.Traits...), func(t string) bool { return t == TraitMaintenance })
}

// AllocationFilter narrows a list of allocations; nil does not.
type AllocationFilter struct {
	Node                        *string // uuid or name
	ResourceClass, State, Owner *string
}

// AllocationNotFound is the answer for one that is not there.
func AllocationNotFound(ident string) error {
	return fault.New(fault.NotFound, "Allocation %s could not be found.", ident)
}

// Refused counts the nodes that an allocation could not get, by one reason.
type Refused struct {
	Why   string // "active", "in maintenance", ...
	Count int
}

// Reasons of Refused that decide how the failure is worded.
const (
	RefusedTraits = "without the traits"
	RefusedClass  = "of another class"
)

// AllocationFailed is the last_error of an allocation that got none of the
// nodes counted: Ironic's sentence (conductor/allocations.py) and the counts.
func AllocationFailed(a *Allocation, counts []Refused) string {
	words := "no available nodes match the resource class " + a.ResourceClass
	if len(a.CandidateNodes) > 0 {
		words = "none of the requested nodes are available and match the resource class " + a.ResourceClass
	}
	total, parts := 0, make([]string, 0, len(counts))
	for _, c := range counts {
		if c.Why == RefusedTraits && c.Count > 0 {
			words = "no suitable nodes have the requested traits " + strings.Join(a.Traits, ", ")
		}
		total += c.Count
		parts = append(parts, fmt.Sprintf("%d %s", c.Count, c.Why))
	}
	whole := fmt.Sprintf("%d of class %s", total, a.ResourceClass)
	if len(a.CandidateNodes) > 0 {
		whole = fmt.Sprintf("%d requested", total)
	}
	if total == 0 {
		return fmt.Sprintf("Failed to process allocation %s: %s (%s)", a.UUID, words, whole)
	}
	return fmt.Sprintf("Failed to process allocation %s: %s (%s: %s)", a.UUID, words, whole, strings.Join(parts, ", "))
}

// Backfill decides whether a may be recorded for n, which is in use already;
// reservation is what clients see. fault.Conflict in Ironic's words where it may not.
func Backfill(n *Node, a *Allocation, reservation string) error {
	if reservation != "" {
		return Locked(n, reservation)
	}
	if n.AllocationUUID != "" || n.InstanceUUID != "" && n.InstanceUUID != a.UUID {
		return fault.New(fault.Conflict, "Node %s is associated with instance %s.", n.UUID, n.InstanceUUID)
	}
	var wrong []string
	if n.ProvisionState != Active {
		wrong = append(wrong, fmt.Sprintf(`Node must be in the "active" state, but the current state is "%s"`, n.ProvisionState))
	}
	if a.ResourceClass != n.ResourceClass {
		wrong = append(wrong, fmt.Sprintf("Resource class %s does not match the requested resource class %s", n.ResourceClass, a.ResourceClass))
	}
	if missing := n.Lacks(a.Traits); len(missing) > 0 {
		wrong = append(wrong, fmt.Sprintf("List of traits %v does not match the requested traits %v", n.Traits, a.Traits))
	}
	if len(a.CandidateNodes) > 0 && !slices.Contains(a.CandidateNodes, n.UUID) {
		wrong = append(wrong, fmt.Sprintf("Candidate nodes must be empty or contain the target node, but got %v", a.CandidateNodes))
	}
	if len(wrong) > 0 {
		return fault.New(fault.Conflict, "Failed to process allocation %s: Cannot backfill an allocation for node %s: %s.", a.UUID, n.UUID, strings.Join(wrong, "; "))
	}
	return nil
}

// Lacks are those of the traits that n does not have, the computed one
// included: an allocation that was given for maintenance keeps it.
func (n *Node) Lacks(traits []string) []string {
	var out []string
	for _, t := range traits {
		if t == TraitMaintenance && (n.Maintenance || n.AllocatedInMaintenance) {
			continue
		}
		if !slices.Contains(n.Traits, t) {
			out = append(out, t)
		}
	}
	return out
}

// DeallocateAllowed decides whether the allocation of n may be deleted;
// reservation is what clients see. fault.Conflict in Ironic's words where not.
func DeallocateAllowed(n *Node, reservation string) error {
	switch {
	case reservation != "":
		return Locked(n, reservation)
	case n.Maintenance:
		return nil
	case n.TargetProvisionState != NoState && !slices.Contains(updateAllowed, n.ProvisionState):
		return fault.New(fault.Conflict, "Cannot remove allocation %s for node %s, because the node is in state %s where updates are not allowed (and maintenance mode is off)",
			n.AllocationUUID, n.UUID, n.ProvisionState)
	case n.ProvisionState == Active:
		return fault.New(fault.Conflict, "Cannot remove allocation %s for node %s, because the node is active (and maintenance mode is off)", n.AllocationUUID, n.UUID)
	}
	return nil
}

// Undeployed reports whether nothing of an instance can be on n: only its name.
func (n *Node) Undeployed() bool {
	return n.ProvisionState == Available || n.ProvisionState == Manageable || n.ProvisionState == Enroll
}

// Tenant is the project that a node is for: its lessee, else its owner; "" = nobody's.
func (n *Node) Tenant() string {
	if n.Lessee != "" {
		return n.Lessee
	}
	return n.Owner
}

// instanceProject is whose the instance on n is; "" = nobody knows.
func instanceProject(n *Node) string {
	if n.AllocationOwner != "" {
		return n.AllocationOwner
	}
	if p, _ := n.InstanceInfo["project_id"].(string); p != "" {
		return p
	}
	return n.Tenant()
}

// tenantFits refuses to move a node to another tenant with an instance on it.
func tenantFits(before, after *Node) error {
	to := after.Tenant()
	if before.InstanceUUID == "" || before.Tenant() == to {
		return nil
	}
	if p := instanceProject(before); p != "" && p != to {
		return fault.New(fault.Conflict, "Node %s can not be moved from project %q to %q while instance %s of project %q is on it.",
			before.UUID, before.Tenant(), to, before.InstanceUUID, p)
	}
	return nil
}

// AutomaticLessee is the key of driver_internal_info that marks a lessee which
// came with the instance and goes with it (Ironic's).
const AutomaticLessee = "automatic_lessee"

// LeaseToInstance makes the project of the instance on n, where it is known,
// the lessee of a node that is nobody's or its owner's alone.
func LeaseToInstance(n *Node) {
	p, _ := n.InstanceInfo["project_id"].(string)
	if n.Lessee != "" || p == "" || len(p) > MaxName || strings.ContainsRune(p, 0) {
		return
	}
	info := maps.Clone(n.DriverInternalInfo)
	if info == nil {
		info = map[string]any{}
	}
	info[AutomaticLessee] = true
	n.Lessee, n.DriverInternalInfo = p, info
}

package node

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// TraitMaintenance is the trait that a node has while an operator keeps it in maintenance.
// It is computed, never stored. Only a request that names the node and asks for the trait
// gets such a node.
const TraitMaintenance = "CUSTOM_MAINTENANCE"

// AllocationState is how far an allocation is, in Ironic's words.
type AllocationState string

// The states of allocations.
const (
	Allocating AllocationState = "allocating"
	Allocated  AllocationState = "active"
	AllocError AllocationState = "error"
)

// AllocationStates lists all states of allocations.
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

// AllocationSearch says how a node is looked for.
type AllocationSearch struct {
	Dedicated bool  // an allocation without an owner does not get a node that has one, unless it names the node
	Patient   bool  // the end of an operation that ends soon (Operation.EndsSoon) is worth waiting for
	Only      *View // of which nodes a failure tells why they do not fit; nil = all
}

// AsksMaintenance reports whether the allocation wants a node in maintenance.
func (a *Allocation) AsksMaintenance() bool { return slices.Contains(a.Traits, TraitMaintenance) }

// NodeTraits are the traits that a node must have in its row; never nil.
func (a *Allocation) NodeTraits() []string {
	return slices.DeleteFunc(append([]string{}, a.Traits...), func(t string) bool { return t == TraitMaintenance })
}

// AllocationFilter narrows a list of allocations. A field that is nil does not.
type AllocationFilter struct {
	Node                        *string // uuid or name
	ResourceClass, State, Owner *string
}

// Refused says how many nodes an allocation could not get for one reason.
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

// Lacks returns those of the traits that n does not have. An allocation that was
// given a node in maintenance keeps TraitMaintenance when the maintenance is over.
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

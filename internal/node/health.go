package node

import (
	"cmp"
	"slices"
	"time"
)

// HealthStatus is the health of a server or of a part of it. The values are stable.
type HealthStatus string

// Health statuses. Unknown means that the BMC does not say, or was never asked.
const (
	HealthUnknown  HealthStatus = "unknown"
	HealthOK       HealthStatus = "ok"
	HealthWarning  HealthStatus = "warning"
	HealthCritical HealthStatus = "critical"
)

// HealthStatuses lists the statuses, the worst last.
var HealthStatuses = []HealthStatus{HealthUnknown, HealthOK, HealthWarning, HealthCritical}

// WorseThan reports whether s is worse than other. Unknown is better than all others, because a part that says nothing
// must not hide what the others say.
func (s HealthStatus) WorseThan(other HealthStatus) bool {
	return slices.Index(HealthStatuses, s) > slices.Index(HealthStatuses, other)
}

// Troubled reports whether something is wrong: warning or critical.
func (s HealthStatus) Troubled() bool { return s.WorseThan(HealthOK) }

// ComponentKind is a kind of part of a server. The values are stable.
type ComponentKind string

// The kinds of parts. ComponentSystem is the server as a whole: the BMC says that something is wrong, and not with which part.
const (
	ComponentSystem      ComponentKind = "system"
	ComponentChassis     ComponentKind = "chassis"
	ComponentManager     ComponentKind = "manager"
	ComponentProcessor   ComponentKind = "processor"
	ComponentMemory      ComponentKind = "memory"
	ComponentStorage     ComponentKind = "storage"
	ComponentNetwork     ComponentKind = "network"
	ComponentTemperature ComponentKind = "temperature"
	ComponentFan         ComponentKind = "fan"
	ComponentPowerSupply ComponentKind = "power_supply"
)

// ComponentKinds lists the kinds.
var ComponentKinds = []ComponentKind{
	ComponentSystem, ComponentChassis, ComponentManager, ComponentProcessor, ComponentMemory, ComponentStorage, ComponentNetwork,
	ComponentTemperature, ComponentFan, ComponentPowerSupply,
}

// HealthReason is a part of a server with which something is wrong.
type HealthReason struct {
	Kind     ComponentKind `json:"kind"`
	Name     string        `json:"name"`     // the BMC's name for the part; "" = it gives none
	Severity HealthStatus  `json:"severity"` // warning or critical
	Message  string        `json:"message"`  // what is wrong, in the BMC's words if it has any
	Since    time.Time     `json:"since"`    // when this severity of the part was read first
}

// sameAs reports whether both tell the same severity of the same part.
func (r HealthReason) sameAs(other HealthReason) bool {
	return r.Kind == other.Kind && r.Name == other.Name && r.Severity == other.Severity
}

// MaxHealthReasons is how many reasons of one node are kept.
const MaxHealthReasons = 32

// Health is the health of a node, as its BMC told it last.
type Health struct {
	Status  HealthStatus
	Reasons []HealthReason // the worst first
	Since   *time.Time     // since when the status is this one; nil = it was never read
	// ReadAt is when it was read last.
	ReadAt *time.Time
}

// Then returns the health after a reading at the time now: status and reasons, whose Since is not set. A reason that was
// there before keeps its words and its time. changed is false if the reading says the same as before.
func (h Health) Then(status HealthStatus, reasons []HealthReason, now time.Time) (next Health, changed bool) {
	next = Health{Status: status, Since: h.Since, ReadAt: &now, Reasons: WorstFirst(reasons)}
	if h.Status != status || h.Since == nil {
		next.Since, changed = &now, true
	}
	for i := range next.Reasons {
		r := &next.Reasons[i]
		r.Since = now
		if old := slices.IndexFunc(h.Reasons, r.sameAs); old >= 0 {
			*r = h.Reasons[old]
		} else {
			changed = true
		}
	}
	return next, changed || len(next.Reasons) != len(h.Reasons)
}

// WorstFirst returns the reasons in an order that depends on nothing else than them, the worst first, each part once, and
// at most MaxHealthReasons of them.
func WorstFirst(reasons []HealthReason) []HealthReason {
	out := slices.Clone(reasons)
	slices.SortStableFunc(out, func(a, b HealthReason) int {
		if a.Severity != b.Severity {
			if a.Severity.WorseThan(b.Severity) {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(slices.Index(ComponentKinds, a.Kind), slices.Index(ComponentKinds, b.Kind)), cmp.Compare(a.Name, b.Name))
	})
	out = slices.CompactFunc(out, HealthReason.sameAs)
	return out[:min(len(out), MaxHealthReasons)]
}

// NodeHealth is the health of a node in a list.
type NodeHealth struct {
	ID         int64 // of the node
	UUID, Name string
	Health
	// Withheld says that the node is offered to nobody because of its health.
	Withheld bool
}

// HealthFilter narrows a list of the health of nodes.
type HealthFilter struct {
	Status HealthStatus // "" = any
	Only   *View        // nil = all nodes
	After  int64        // ID of the last node of the page before; 0 = the first page
	Limit  int          // 0 or more than MaxLimit = MaxLimit
}

// HealthDue is a node whose health may be read now, and what was read before.
type HealthDue struct {
	Node   // ID, UUID, Driver, Interfaces, DriverInfo and Silence
	Before Health
}

// HealthSeen is a reading of the health of a node.
type HealthSeen struct {
	ID int64 // of the node
	Health
}

// Package node has the nouns of the domain (nodes, ports, allocations, operations and
// their steps), their states, and the tables: the life cycles of nodes and operations, the
// kinds of operation, the steps and the hardware types. It does no I/O and reads no clock.
//
// The rules are in packages that import this one: plan, admission, closing, secret and
// explain.
package node

import "time"

// Node is a row of the table nodes. Dictionaries that may contain secrets (DriverInfo,
// InstanceInfo) have mask.Masked in their place; only activities read the sealed values.
// Field names are Ironic's.
type Node struct {
	ID   int64 // row number; the order of lists
	UUID string
	Name string // "" = none

	Driver     string
	Interfaces map[string]string // by interface ("power", "boot", ...): its implementation
	// DriverInternalInfo is what drivers store for themselves. It contains no secrets.
	DriverInfo, DriverInternalInfo, Properties, Extra, InstanceInfo, NetworkData map[string]any

	ConductorGroup string // lower case; "" = the default group
	ResourceClass  string
	Owner, Lessee  string
	Description    string
	Shard          string
	ParentNode     string
	ChassisUUID    string
	InstanceUUID   string
	InstanceName   string
	AllocationUUID string
	// Of the allocation: its project, and whether it was given although the node
	// was in maintenance (TraitMaintenance). Read only.
	AllocationOwner        string
	AllocatedInMaintenance bool

	ProvisionState       State
	TargetProvisionState State      // "" = none
	ProvisionUpdatedAt   *time.Time // nil = it is in the state in which it was created
	LastError            string

	PowerState       PowerState // "" = never read
	TargetPowerState PowerState
	PowerReadAt      *time.Time // when PowerState was last read from the hardware
	// Silence is what is recorded of a BMC that gives no answer, nil if nothing is (SilentBMC). Read only.
	Silence  *BMCSilence
	BootMode string // uefi, bios, ""
	// ConsoleEnabled: a conductor is to hold the serial console open for clients.
	ConsoleEnabled bool
	SecureBoot     *bool

	Maintenance       bool
	MaintenanceReason string
	MaintenanceSince  *time.Time // when it was put into maintenance; nil = it is not in maintenance, or not known
	Fault             string     // "", power failure, clean failure, rescue abort failure, service failure
	// MaintenanceByFault: the fault has set the maintenance, and no person since.
	MaintenanceByFault bool
	// Quarantine is nil if a live conductor covers the node. Only Store.Node and Store.Nodes
	// read it.
	Quarantine *Quarantine
	// Health is what its BMC said last; "" = it was never read. Only Store.Node and Store.Nodes read it.
	Health HealthStatus

	Protected       bool
	ProtectedReason string
	Retired         bool
	RetiredReason   string
	AutomatedClean  *bool // nil = the setting decides
	DisablePowerOff bool

	RAIDConfig, TargetRAIDConfig map[string]any
	Traits                       []string // sorted

	InspectionStartedAt, InspectionFinishedAt *time.Time
	CreatedAt                                 time.Time
	UpdatedAt                                 *time.Time

	// Owed are the undos that could not be done yet. Reconciliation does them, an
	// operation that UndoesAll takes them over, and a person may waive them.
	Owed []Undo
	// OwedError is why the last try to do them failed, "" if none has. OwedRefused
	// means that the hardware refused them for good: they are not tried again until
	// something changes.
	OwedError   string
	OwedRefused bool

	// ReachedSince is when somebody last changed how the BMC is reached (ReachedOtherwise); nil = never.
	ReachedSince *time.Time
	// PreparedSince is when somebody last changed what is deployed on it, or to which disk (PreparedOtherwise); nil = never.
	PreparedSince *time.Time

	// RingOwner is the conductor that owned the node in the newest epoch; "" =
	// none. It may be dead or gone since, and cover the node no more.
	RingOwner string

	Agent *Agent // nil = none known
	// MediumRead is how far the server has read the medium of this boot; nil = not at all, or Temper does not make it.
	MediumRead *MediumReads

	// Operation is the open one, nil = the node is free.
	Operation *Operation
}

// Faults (Ironic common/faults.py).
const (
	FaultPower       = "power failure"
	FaultClean       = "clean failure"
	FaultRescueAbort = "rescue abort failure"
	FaultService     = "service failure"
)

// StateSince returns since when n has its provision state: since its creation if it has no ProvisionUpdatedAt, as a new node in
// Ironic. It returns nil if n is not in the database.
func (n *Node) StateSince() *time.Time {
	if n.ProvisionUpdatedAt == nil && !n.CreatedAt.IsZero() {
		return &n.CreatedAt
	}
	return n.ProvisionUpdatedAt
}

// MaintenanceEnds says when the maintenance of n ends by itself, in a clause; "" = somebody has to end it.
func (n *Node) MaintenanceEnds() string {
	if n.Maintenance && n.MaintenanceByFault && n.Fault == FaultPower {
		return "as soon as a conductor can read the power state again"
	}
	return ""
}

// ClearStaleReasons clears the reasons of flags that are off, and the fault if n is not in
// maintenance.
func (n *Node) ClearStaleReasons() {
	if !n.Maintenance {
		n.MaintenanceReason, n.Fault = "", ""
	}
	if !n.Protected {
		n.ProtectedReason = ""
	}
	if !n.Retired {
		n.RetiredReason = ""
	}
}

package coverage

import "time"

// Fleet is what rings are computed from, except the nodes.
type Fleet struct {
	Epoch        int64
	Members      []Conductor   // who owns nodes now: alive, not draining, by name
	Before       []int64       // who did in this epoch, by id
	Conductors   []Conductor   // all
	Requirements []Requirement // by id
	Rings        []RingState   // as computed
	Changes      []int64       // what was noted since, to be taken away
	Changed      []int64       // requirements whose nodes have changed since this epoch
}

// RingState is what the newest epoch says of the ring of a group and driver.
type RingState struct {
	Group, Driver string
	// Covers says which conductor covered which requirement when the ring was computed.
	Covers string
	// Unsettled: operations kept nodes where they should not stay.
	Unsettled bool
}

// RingNode is a node as the ring sees it.
type RingNode struct {
	ID          int64
	UUID        string
	Requirement int64
	Owner       int64 // conductor, 0 = none
	Pinned      bool  // under an operation
}

// Epoch is the next epoch of the ring. It is written only if Read is still the newest epoch
// and the members are still the same.
type Epoch struct {
	Read    int64
	Members []int64
	Rings   []RingState
	Nodes   []int64 // whose owner changes
	Owners  []int64 // of each, by conductor; 0 = nobody
	Changes []int64 // that it has seen
}

// Served counts the nodes of a conductor group and driver.
type Served struct {
	Group, Driver string
	Nodes         int
	Quarantined   int // of these
}

// Quarantined counts the nodes in quarantine that have a group and driver.
type Quarantined struct {
	Group, Driver string
	Nodes         int
	Uncovered     bool       // no live conductor covers some of them; otherwise their conductors come and go
	Former        string     // a dead conductor that would cover some of them if it ran; "" = none is known
	FormerDrivers string     // its drivers, with commas between them
	Waiting       int        // operations that wait for a conductor
	FailsAt       *time.Time // when the first of them fails; nil = none does
}

// QuarantineTick is what one reconciliation wrote of quarantines.
type QuarantineTick struct {
	Quarantined, Released int // nodes
}

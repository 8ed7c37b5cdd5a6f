package node

import (
	"slices"
	"time"
)

// Need is what nodes need of a conductor: who covers one node that has it
// covers all of them.
type Need struct {
	ID         int64
	Group      string
	Driver     string
	Interfaces map[string]string
}

// Covers reports whether the conductor can work on nodes of that group, driver
// and interfaces while it takes work. Package store says the same in SQL (coversSQL).
func (c Conductor) Covers(group, driver string, interfaces map[string]string) bool {
	enabled, has := c.Interfaces[driver]
	if !has || c.Group != group {
		return false
	}
	for kind, impl := range interfaces {
		if !slices.Contains(enabled[kind], impl) {
			return false
		}
	}
	return true
}

// TakesWork reports whether the conductor may be given work: it is alive and does not drain.
func (c Conductor) TakesWork() bool { return c.Alive && !c.Draining }

// Fleet is what a ring is computed from, the nodes aside.
type Fleet struct {
	Epoch      int64
	Members    []Conductor // who owns nodes now: alive, not draining, by name
	Before     []int64     // who did in this epoch, by id
	Conductors []Conductor // all
	Needs      []Need      // by id
	Rings      []Ring      // as computed
	Changes    []int64     // what was noted since, to be taken away
	Changed    []int64     // needs whose nodes are not those of this epoch
}

// Ring is how far the ring of a group and driver is computed.
type Ring struct {
	Group, Driver string
	// Covers says who covers which of its needs, as the ring was computed from.
	Covers string
	// Unsettled: operations kept nodes where they should not stay.
	Unsettled bool
}

// RingNode is a node as the ring sees it.
type RingNode struct {
	ID     int64
	UUID   string
	Need   int64
	Owner  int64 // conductor, 0 = none
	Pinned bool  // under an operation
}

// Epoch is the next one. It is written only while Read is the newest and Members
// are still who they were.
type Epoch struct {
	Read    int64
	Members []int64
	Rings   []Ring
	Nodes   []int64 // whose owner changes
	Owners  []int64 // of each, by conductor; 0 = nobody
	Changes []int64 // that it has seen
}

// Vitals are how the fleet is, for metrics and health.
type Vitals struct {
	Epoch      int64
	Age        time.Duration  // of the last reconciliation; below zero = there was none
	Conductors map[string]int // by state: alive, draining, dead, stopped
}

// Served counts the nodes of a conductor group and driver.
type Served struct {
	Group, Driver string
	Nodes         int
	Quarantined   int // of these
}

// State is how the conductor is, in a word.
func (c Conductor) State() string {
	switch {
	case c.StoppedAt != nil:
		return "stopped"
	case !c.Alive:
		return "dead"
	case c.Draining:
		return "draining"
	}
	return "alive"
}

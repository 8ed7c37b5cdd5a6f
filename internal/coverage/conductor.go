package coverage

import (
	"slices"
	"time"
)

// Conductor is a running (or once running) `temper conductor`.
type Conductor struct {
	ID          int64
	Hostname    string
	Incarnation int64 // grows with every start; the newest holds the name
	Group       string
	// Interfaces: driver -> interface -> enabled implementations, first = default.
	Interfaces  map[string]map[string][]string
	StartedAt   time.Time
	HeartbeatAt time.Time
	PolledAt    time.Time // its last contact with Temporal
	Draining    bool
	Leaving     bool // its process stops, and drains for that
	StoppedAt   *time.Time
	Late        bool // it is alive, and has sent no heartbeat for longer than two intervals
	Alive       bool // heartbeat fresh by the database's clock, not stopped, and in contact with Temporal
}

// Drivers are the conductor's hardware types, unordered.
func (c Conductor) Drivers() []string {
	out := make([]string, 0, len(c.Interfaces))
	for d := range c.Interfaces {
		out = append(out, d)
	}
	return out
}

// Covers reports whether the conductor can work on nodes of that group, driver
// and interfaces while it takes work. Package store says the same in SQL (conductor_covers).
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

// The states of conductors.
const (
	StateAlive    = "alive"
	StateDraining = "draining"
	StateDead     = "dead"
	StateStopped  = "stopped"
)

// States are the states of conductors.
var States = []string{StateAlive, StateDraining, StateDead, StateStopped}

// State is the conductor's state, one of States.
func (c Conductor) State() string { return StateOf(c.StoppedAt != nil, c.Alive, c.Draining) }

// StateOf is the state of a conductor that was stopped or not, is alive or not, and drains or not.
func StateOf(stopped, alive, draining bool) string {
	switch {
	case stopped:
		return StateStopped
	case !alive:
		return StateDead
	case draining:
		return StateDraining
	}
	return StateAlive
}

// Requirement is what nodes need of a conductor. Nodes that need the same share one, a row of
// the table needs: a conductor that covers one of these nodes covers all.
type Requirement struct {
	ID         int64
	Group      string
	Driver     string
	Interfaces map[string]string
}

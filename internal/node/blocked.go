package node

import (
	"fmt"
	"slices"
	"time"
)

// Coverage says whether a conductor could work on a node, and what is known of the conductor
// that worked on its operation last, by the database's clock.
type Coverage struct {
	Covered bool          // a live conductor of its group has its driver and interfaces
	Last    LastConductor // of Operation.Conductor; zero where there is none of that name
	PutOff  time.Duration // Operation.PutOff
}

// LastConductor is what is known of the conductor that was at work last.
type LastConductor struct {
	Known, Alive, Draining bool
	StoppedFor             time.Duration // since it left in good order; 0 = it did not
}

// WaitsForConductor describes what an operation waits for while no conductor covers its node.
func WaitsForConductor(group, driver string) string {
	return fmt.Sprintf("a conductor with driver %s in %s", driver, GroupWords(group))
}

// PausedForMaintenance describes what an operation waits for while maintenance pauses it.
const PausedForMaintenance = "paused: maintenance"

// BlockReasonOf returns why o can't go on now, NotBlocked if it can.
func BlockReasonOf(o *Operation, c Coverage) BlockReason {
	switch {
	case o.Paused:
		return BlockedMaintenance
	case !c.Covered:
		return BlockedNoConductor
	case c.PutOff > 0:
		return BlockedDeaths
	}
	return NotBlocked
}

// PutOff returns for how much longer the current step of o is put off (Step.NotBefore); 0 = it is not.
func (o *Operation) PutOff(now time.Time) time.Duration {
	if step := o.CurrentStep(); step != nil && step.NotBefore != nil {
		return max(step.NotBefore.Sub(now), 0)
	}
	return 0
}

// Begun reports whether a step of o has touched hardware.
func (o *Operation) Begun() bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool { return s.StartedAt != nil })
}

// Orphaned reports whether o is paused and has lost its conductor in the middle of a step.
// No conductor may take it up while the node is in maintenance, so it breaks off. If the
// conductor was stopped in good order, its return is waited for as long as patience says.
func Orphaned(o *Operation, c Coverage, patience time.Duration) bool {
	if !o.Paused || !o.Begun() || o.Conductor == "" {
		return false
	}
	switch last := c.Last; {
	case o.Orphaned:
		return true
	case last.StoppedFor > 0:
		return !c.Covered && last.StoppedFor > patience
	case !last.Alive:
		return true
	default:
		return !c.Covered && !last.Draining
	}
}

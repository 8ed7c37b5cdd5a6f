package node

import (
	"fmt"
	"slices"
	"time"
)

// Stall is why an operation can't go on, whatever its steps wait for; "" = it can.
type Stall string

// The stalls. A paused operation is shown as such even where nobody covers its node.
const (
	StallNone        Stall = ""
	StallConductor   Stall = "conductor"   // nobody covers the node
	StallMaintenance Stall = "maintenance" // the node was put into maintenance meanwhile
)

// Cover is who could work on a node, and what is known of the conductor that
// worked on its operation last, by the database's clock.
type Cover struct {
	Covered bool // a live conductor of its group has its driver and interfaces
	Last    Last // of Operation.Conductor; zero where there is none of that name
}

// Last is what is known of the conductor that was at work last.
type Last struct {
	Known, Alive, Draining bool
	Died                   bool          // another process has its name by now, and it had not stopped
	StoppedFor             time.Duration // since it left in good order; 0 = it did not
}

// WaitsForConductor says in words for people what an uncovered operation waits for.
func WaitsForConductor(group, driver string) string {
	return fmt.Sprintf("a conductor with driver %s in conductor group %q", driver, group)
}

// PausedWords say the same of one that is paused.
const PausedWords = "paused: maintenance"

// StallOf is why o can't go on now.
func StallOf(o *Operation, c Cover) Stall {
	switch {
	case o.Paused:
		return StallMaintenance
	case !c.Covered:
		return StallConductor
	}
	return StallNone
}

// Begun reports whether a step of o has touched hardware.
func (o *Operation) Begun() bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool { return s.StartedAt != nil })
}

// Orphaned reports whether o, which is paused, has lost its conductor in the
// middle: nobody may take it up while the node is in maintenance, so it is ended
// as it stands. A conductor that left in good order handed its step over; within
// patience its return is waited for.
func Orphaned(o *Operation, c Cover, patience time.Duration) bool {
	if !o.Paused || !o.Begun() || o.Conductor == "" {
		return false
	}
	switch last := c.Last; {
	case last.Died:
		return true
	case last.StoppedFor > 0:
		return !c.Covered && last.StoppedFor > patience
	case !last.Alive:
		return true
	default:
		return !c.Covered && !last.Draining
	}
}

// UndoAtEnd is what has to be put right when o ends short of success: what its
// steps left, except that cleaning that fails leaves the power as it is (Ironic's
// poweroff_in_cleanfail = False). Cleaning that somebody ended does not. A deploy
// that has begun ends powered off whatever its steps left
// (power_off_after_deploy_failure = True).
func UndoAtEnd(o *Operation, outcome Outcome) []Undo {
	var out []Undo
	cleaning := o.Kind == KindProvide || o.Kind == KindClean || o.Kind == KindUndeploy
	for _, u := range o.Undo {
		if u == UndoPowerOff && cleaning && outcome == Failed {
			continue
		}
		out = append(out, u)
	}
	deploying := o.Kind == KindDeploy || o.Kind == KindRebuild
	if deploying && o.Begun() && !slices.Contains(out, UndoPowerOff) {
		out = append(out, UndoPowerOff)
	}
	return out
}

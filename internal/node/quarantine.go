package node

import (
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/text"
)

// FaultNoConductor is the fault that a node in quarantine shows if it has no other. It is
// never stored.
const FaultNoConductor = "no conductor"

// If coverage was lost FlapLosses times within FlapWindow, a node leaves quarantine only
// when coverage has lasted for FlapHold.
const (
	FlapLosses = 3                // from this loss on
	FlapWindow = 10 * time.Minute // within this time
	FlapHold   = time.Minute      // coverage has to last so long
)

// Quarantine says that nobody could work on a node: no live conductor of its
// group has its driver and all its interfaces. It is computed from the
// conductors' heartbeats when the node is read, and no part of the operator's
// own maintenance: it is lifted by coverage alone, and grants nothing.
type Quarantine struct {
	// Since is when it began; zero = there never was such a conductor. It stays the same when conductors come and go
	// before the quarantine is over.
	Since time.Time
	// Held: there is one now, but they came and went too often lately.
	Held bool
	// Draining names some conductors that would cover it if they did not drain.
	Draining []string
}

// QuarantineReason describes q of a node with this driver and group, for people.
func QuarantineReason(group, driver string, q Quarantine) string {
	since := ""
	if !q.Since.IsZero() {
		since = " since " + text.Moment(q.Since)
	}
	if q.Held {
		return fmt.Sprintf("Conductors which support driver %s for %s come and go: the node is in quarantine%s until they have stayed for %d seconds.",
			driver, GroupWords(group), since, int(FlapHold.Seconds()))
	}
	draining := ""
	switch names := strings.Join(q.Draining, ", "); len(q.Draining) {
	case 0:
	case 1:
		draining = ": " + names + " is draining"
	default:
		draining = ": " + names + " are draining"
	}
	return fmt.Sprintf("No conductor service registered which supports driver %s for %s with the interfaces of the node%s%s.", driver, GroupWords(group), since, draining)
}

// ShownMaintenance is maintenance as clients of Ironic's API see it.
func (n *Node) ShownMaintenance() bool { return n.Maintenance || n.Quarantine != nil }

// ShownFault is the node's own fault or, in quarantine, FaultNoConductor; "" = none.
func (n *Node) ShownFault() string {
	if n.Fault == "" && n.Quarantine != nil {
		return FaultNoConductor
	}
	return n.Fault
}

// ShownReason is why the node is in maintenance: the operator's words, and why
// it is in quarantine.
func (n *Node) ShownReason() string {
	if n.Quarantine == nil {
		return n.MaintenanceReason
	}
	reason := QuarantineReason(n.ConductorGroup, n.Driver, *n.Quarantine)
	if n.MaintenanceReason != "" {
		return n.MaintenanceReason + "; " + reason
	}
	return reason
}

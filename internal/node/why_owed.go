package node

import (
	"fmt"
	"time"
)

// owing says what earlier operations left to be undone, when that is tried again, and
// why it was not done yet.
func (w *Why) owing(n *Node, f Facts) {
	defer func() {
		if u := f.Undo; u != nil && u.Outcome != Succeeded && f.Covered {
			w.Commands = append(w.Commands, fmt.Sprintf("temper operation retry %d", u.ID))
		}
		w.Commands = append(w.Commands, fmt.Sprintf("temper node waive %s --reason WHY", n.label()))
	}()
	switch {
	case n.OwedRefused:
		w.Trouble = append(w.Trouble, fmt.Sprintf("What earlier work left (%s) can't be undone: %s. It is not tried again before somebody asks for it, "+
			"changes how the BMC is reached, or starts an operation that boots the node anew; everything else goes on", Undos(n.Owed), sentence(n.OwedError)))
		return
	case n.OwedError != "":
		w.Trouble = append(w.Trouble, "The last try to undo what earlier work left failed: "+sentence(n.OwedError))
	}
	w.Next = "an undo of what earlier work left: " + Undos(n.Owed)
	switch {
	case n.Maintenance && !n.MaintenanceByFault:
		w.WaitingFor = "the end of maintenance"
	case !f.Covered:
		w.WaitingFor = WaitsForConductor(n.ConductorGroup, n.Driver)
	}
	if f.Late && f.Reconciled >= 0 {
		w.Trouble = append(w.Trouble, fmt.Sprintf("No orchestrator has reconciled for %s: nothing is undone until one runs", f.Reconciled.Round(time.Second)))
	}
}

package closing

import (
	"strings"

	"go.temper.dev/temper/internal/node"
)

// owedAfter sets in e what n owes after its operation has ended with end.
func (e *Ending) owedAfter(n *node.Node, end node.End) {
	o := n.Operation
	undo := o.Undo
	e.OwedError, e.OwedRefused = n.OwedError, n.OwedRefused
	switch {
	case end.Abandoned:
		undo = node.UndoAtEnd(o, end.Outcome)
	case end.Again:
		undo = nil
	}
	left := node.WithUndo(n.Owed, undo)
	if end.Outcome == node.Succeeded { // what somebody asked for by hand stays
		left = node.WithoutUndo(left, o.Kind.Spec().Settles)
	}
	before, why, owing := strings.Cut(end.Error, node.UndoLeft)
	if why == node.SameReason {
		why = before
	}
	switch {
	case o.Kind.Spec().Undoes && end.Outcome == node.Failed:
		e.OwedError = end.Error
	case owing: // something new is owed, which the hardware has not refused yet
		e.OwedError, e.OwedRefused = why, false
	case len(undo) > 0:
		e.OwedError, e.OwedRefused = "", false
	}
	if e.Owed = left; len(left) == 0 {
		e.OwedError, e.OwedRefused = "", false
	}
}

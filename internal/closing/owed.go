package closing

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/node"
)

// owedAfter sets in e what n owes after its operation has ended with end.
func (e *Ending) owedAfter(n *node.Node, end node.End) {
	o := n.Operation
	undo := o.Undo
	e.OwedError, e.OwedRefused = n.OwedError, n.OwedRefused
	if end.Abandoned {
		undo = node.UndoAtEnd(o, end.Outcome)
	}
	left := union(n.Owed, undo)
	if o.Kind.Spec().PowerChange && end.Outcome == node.Succeeded {
		// The power request decides whether the server is on.
		left = without(left, []node.Undo{node.UndoPowerOff})
	}
	_, why, owing := strings.Cut(end.Error, node.UndoLeft)
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

func union(a, b []node.Undo) []node.Undo {
	out := slices.Clone(a)
	for _, u := range b {
		if !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

func without(list, gone []node.Undo) []node.Undo {
	var out []node.Undo
	for _, u := range list {
		if !slices.Contains(gone, u) {
			out = append(out, u)
		}
	}
	return out
}

package node

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// UndoesAll reports whether the operation's remaining steps do every undo that the node may
// owe. Such an operation takes over what is owed. Any other operation leaves that as it is:
// a power request, for example, must not eject a medium that it knows nothing of.
func (o *Operation) UndoesAll() bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool { return !s.Over() && s.Rule().UndoesAll })
}

// UndoLeft separates, in the error of an operation and the last error of its node,
// how the operation ended from why its undo is owed.
const UndoLeft = "; what it left is still to be undone: "

// SameReason follows UndoLeft if the undo failed of the same error as the operation, or of the same cause that keeps from reaching the BMC (fault.SameReach).
const SameReason = "the undo failed with the same error"

// Undone replaces the part of an error from UndoLeft on by what has become of the
// undo. A text without UndoLeft stays as it is.
func Undone(text, what string) string {
	before, _, owing := strings.Cut(text, UndoLeft)
	if !owing {
		return text
	}
	return before + what
}

// UndoneBy is the text for Undone after an operation has done the undo.
func UndoneBy(operation int64) string {
	return fmt.Sprintf("; what it left is undone since, by operation %d", operation)
}

// WaivedBy is the text for Undone after a person has waived the undo.
func WaivedBy(who, reason string) string {
	return fmt.Sprintf("; what it left was waived by %s: %s", who, text.Clause(reason))
}

// Waive waives everything that n owes. It returns fault.Conflict if n owes nothing;
// what an open operation still has to undo is not owed.
func Waive(n *Node, who, reason string) (waived []Undo, err error) {
	if len(n.Owed) == 0 {
		return nil, fault.New(fault.Conflict, "Node %s owes nothing that could be waived.", n.UUID)
	}
	waived = n.Owed
	n.owes(nil)
	n.LastError = Undone(n.LastError, WaivedBy(who, reason))
	return waived, nil
}

// UndoList lists undos for people.
func UndoList(list []Undo) string {
	out := make([]string, len(list))
	for i, u := range list {
		out[i] = string(u)
	}
	return strings.Join(out, ", ")
}

// owes sets what n owes. If that is nothing, it drops the error of the last try, too.
func (n *Node) owes(undo []Undo) {
	n.Owed = undo
	if len(undo) == 0 {
		n.OwedError, n.OwedRefused = "", false
	}
}

// ClearOwed removes from what n owes what is done now.
func (n *Node) ClearOwed(done []Undo) { n.owes(WithoutUndo(n.Owed, done)) }

// ReachedOtherwise reports whether a change from before to n, together with the given
// secrets, changes how the hardware is reached. What the hardware refused before may
// succeed then.
func (n *Node) ReachedOtherwise(before *Node, given Secrets) bool {
	for name := range given {
		if strings.HasPrefix(name, "driver_info/") {
			return true
		}
	}
	return n.Driver != before.Driver || n.ConductorGroup != before.ConductorGroup ||
		!maps.Equal(n.Interfaces, before.Interfaces) || !reflect.DeepEqual(n.DriverInfo, before.DriverInfo)
}

// UndoAtEnd is what has to be put right when o ends short of success: what its
// steps left, except that cleaning that fails leaves the power as it is (Ironic's
// poweroff_in_cleanfail = False). Cleaning that somebody ended does not. A deploy
// that has begun ends powered off whatever its steps left
// (power_off_after_deploy_failure = True). A node that is given back boots no instance again.
func UndoAtEnd(o *Operation, outcome Outcome) []Undo {
	var out []Undo
	k := o.Kind.Spec()
	for _, u := range o.Undo {
		if u == UndoPowerOff && k.KeepsPower && outcome == Failed {
			continue
		}
		if u == UndoBootInstance && (o.Asked == AskDelete || k.GivesBack) {
			u = UndoPowerOff
		}
		out = append(out, u)
	}
	if k.EndsOff && o.Begun() && !slices.Contains(out, UndoPowerOff) {
		out = append(out, UndoPowerOff)
	}
	return out
}

// Undo is one thing that must be put right on a node's hardware. Each may run twice.
type Undo string

// The undos.
const (
	UndoEjectMedia Undo = "eject media"
	UndoClearBoot  Undo = "clear boot override"
	UndoPowerOff   Undo = "power off"
	// UndoBootInstance boots the server as its instance has it, on whatever it is running and from whatever medium.
	UndoBootInstance Undo = "boot the instance"
	// UndoBMCPassword finds out which password the BMC has, the node's or a new one, and makes it the node's.
	UndoBMCPassword Undo = "settle the BMC password"
)

// WithUndo returns list and what it lacks of more.
func WithUndo(list, more []Undo) []Undo {
	out := slices.Clone(list)
	for _, u := range more {
		if !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// WithoutUndo returns list without done; nil if nothing is left.
func WithoutUndo(list, done []Undo) []Undo {
	var out []Undo
	for _, u := range list {
		if !slices.Contains(done, u) {
			out = append(out, u)
		}
	}
	return out
}

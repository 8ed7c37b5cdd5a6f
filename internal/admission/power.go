package admission

import (
	"slices"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Power decides what a request for a power state does to n; reservation as
// in Verb. While the node waits or holds it steers the open operation (people
// reboot nodes that are stuck in PXE); while it is being cleaned it is refused. A
// request for what the open operation is doing anyway joins it.
// Errors: NotAllowed, Invalid (disable_power_off), Conflict.
func Power(n *node.Node, target node.PowerState, reservation string) (Effect, error) {
	s := n.ProvisionState
	if !slices.Contains(node.PowerTargets, target) {
		have := string(n.PowerState)
		if have == "" {
			have = "None"
		}
		return Effect{}, notPerformed(fault.StateNotAllowed, string(target), n.UUID, have)
	}
	if s == node.Cleaning || s == node.CleanWait {
		return Effect{}, notPerformed(fault.StateNotAllowed, string(target), n.UUID, string(s))
	}
	if n.DisablePowerOff && node.PowerAfter(target) == node.PowerOff {
		return Effect{}, fault.New(fault.Invalid, "Node %s can not be powered off: its disable_power_off is set.", n.UUID)
	}
	d := Effect{From: s, To: s, Power: target, TargetPower: node.PowerAfter(target)}
	switch o := n.Operation; {
	case o == nil:
		d.Open, d.ClearError = node.KindPower, !node.KeepsError(s)
	case o.TemporalPause != nil: // it could not be done before somebody lets it go on
		return Effect{}, node.Locked(n, reservation)
	case o.Reaches(target):
		return Effect{From: s, To: s, Join: true}, nil
	case (node.Waits(s) || node.Holds(s)) && (o.Asked == node.AskNone || o.Asked == node.AskPower && o.AskedPower == target):
		d.Steer = node.AskPower
	default:
		return Effect{}, node.Locked(n, reservation)
	}
	return d, nil
}

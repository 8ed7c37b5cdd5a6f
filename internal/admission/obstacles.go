package admission

import (
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Obstacles returns all reasons for which Verb refuses v on n, where Verb returns the first. It is for
// people who ask what is in the way; an empty list means that Verb admits v.
func Obstacles(n *node.Node, v node.Verb, reservation string) (all []error) {
	without := *n
	for {
		_, err := Verb(&without, v, reservation)
		if err == nil {
			return all
		}
		all = append(all, err)
		// What was refused is taken away, so that the next reason shows.
		switch code := fault.CodeOf(err); {
		case code == fault.NodeInMaintenance && without.Maintenance:
			without.Maintenance = false
		case code == fault.NodeProtected && without.Protected:
			without.Protected = false
		case code == fault.InvalidRequest && without.DisablePowerOff && powersOff(&without, v):
			without.DisablePowerOff = false
		case code == fault.InvalidRequest && without.Retired:
			without.Retired = false
		default: // the state, or an operation that holds the node: what would be refused after that depends on how it ends
			return append(all, flags(&without, v)...)
		}
	}
}

// flags returns what the flags of n would refuse if its state allowed v.
func flags(n *node.Node, v node.Verb) (all []error) {
	if v.Kind == "" {
		return nil
	}
	without := *n
	for {
		err := checkFlags(&without, v)
		if err == nil {
			return all
		}
		all = append(all, err)
		switch {
		case without.DisablePowerOff && powersOff(&without, v):
			without.DisablePowerOff = false
		case without.Protected:
			without.Protected = false
		case without.Retired:
			without.Retired = false
		case without.Maintenance:
			without.Maintenance = false
		default:
			return all
		}
	}
}

package admission

import (
	"cmp"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// VolumeChange decides whether a volume connector or target of n may be changed or deleted (what, in words): only while n is
// powered off and nobody holds it (Ironic conductor/manager.py, update_volume_connector); reservation is what clients see.
func VolumeChange(n *node.Node, what, reservation string) error {
	switch {
	case reservation != "":
		return node.Locked(n, reservation)
	case n.PowerState != node.PowerOff:
		return notPerformed(fault.StateNotAllowed, what, n.UUID, cmp.Or(string(n.PowerState), "None"))
	}
	return nil
}

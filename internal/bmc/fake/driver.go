// Package fake is the driver of fake-hardware: it obeys, after the delays it was
// given. It never touches a network, and remembers nothing beyond a conversation
// but the power state that the caller hands back in Target.LastPower.
package fake

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// Driver is the bmc.Driver of fake-hardware.
type Driver struct {
	delays Delays
}

var _ bmc.Driver = (*Driver)(nil)

// New makes a driver whose machines take the delays d.
func New(d Delays) *Driver { return &Driver{delays: d} }

// Validate accepts everything: a fake needs no address.
func (*Driver) Validate(map[string]any) error { return nil }

// Open starts a conversation with a machine whose power is t.LastPower, off
// where that is unknown; it has no override, no medium, and boots by UEFI.
func (d *Driver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	if err := context.Cause(ctx); err != nil {
		return bmc.Session{}, interrupted("open a conversation with", t.Node, err)
	}
	power := t.LastPower
	if power != bmc.PowerOn {
		power = bmc.PowerOff
	}
	s := &session{delays: d.delays, target: t, power: power, boot: bmc.Boot{Mode: bmc.ModeUEFI}}
	return bmc.Session{PowerControl: s, Restarter: s, BootDevice: s, VirtualMedia: s, Inspector: s}, nil
}

// Close has nothing to end.
func (*Driver) Close(context.Context) {}

// interrupted tells that ctx ended: with the cause's own kind, Unreachable where
// the deadline passed.
func interrupted(doing, node string, cause error) error {
	return fault.New(fault.KindOf(cause), "%s fake node %s: %w", doing, node, cause)
}

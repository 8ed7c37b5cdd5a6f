// Package fake is the driver of fake-hardware. It does what it is asked, after
// configurable delays. It never uses the network, and forgets everything with the
// conversation, except the power state, which the caller passes as Target.LastPower.
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

// New returns a driver with the delays d.
func New(d Delays) *Driver { return &Driver{delays: d} }

// Validate accepts everything: a fake server needs no address.
func (*Driver) Validate(map[string]any) error { return nil }

// Open starts a conversation with a server whose power state is t.LastPower, off if that
// is unknown. It boots from the network next, as Ironic's fake hardware always says, and with
// UEFI. It has no medium.
func (d *Driver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	if err := context.Cause(ctx); err != nil {
		return bmc.Session{}, contextError("open a conversation with", t.Node, err)
	}
	power := t.LastPower
	if power != bmc.PowerOn {
		power = bmc.PowerOff
	}
	s := &session{delays: d.delays, target: t, power: power, boot: bmc.Boot{Device: bmc.DevicePXE, Mode: bmc.ModeUEFI}}
	return bmc.Session{PowerControl: s, Restarter: s, BootDevice: s, VirtualMedia: s, Inspector: s}, nil
}

// Close does nothing.
func (*Driver) Close(context.Context) {}

// contextError returns the error of a context that ended. Its kind is that of the cause:
// Unreachable if the deadline has passed.
func contextError(doing, node string, cause error) error {
	return fault.New(fault.KindOf(cause), "%s fake node %s: %w", doing, node, cause)
}

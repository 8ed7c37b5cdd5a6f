package fake

import (
	"context"
	"sync"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// session is a conversation with one fake server.
type session struct {
	delays Delays
	target bmc.Target

	mu    sync.Mutex // guards the fields below
	power bmc.Power
	boot  bmc.Boot
	media bmc.Media
}

// devices are those that Ironic's fake management accepts.
var devices = []bmc.Device{bmc.DevicePXE, bmc.DeviceDisk, bmc.DeviceCDROM, bmc.DeviceBIOS, bmc.DeviceSafe}

// read waits for the delay, then calls look with the lock held.
func (s *session) read(ctx context.Context, doing string, delay Delay, look func()) error {
	if err := delay.Wait(ctx); err != nil {
		return contextError(doing, s.target.Node, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	look()
	return nil
}

// change calls the guard, waits for the delay, then calls act with the lock held. That
// is the order of a real request, which is sent right after the guard and takes effect
// later. Nothing takes effect after the call, so nobody has to wait for that.
func (s *session) change(ctx context.Context, name, doing string, delay Delay, act func()) error {
	if err := context.Cause(ctx); err != nil {
		return contextError(doing, s.target.Node, err)
	}
	if _, err := s.target.Permit(ctx, bmc.Request{Name: name}); err != nil {
		return err
	}
	return s.read(ctx, doing, delay, act)
}

// Power reads the power state without a delay, as Ironic's fake driver does.
func (s *session) Power(ctx context.Context) (p bmc.Power, err error) {
	err = s.read(ctx, "read power of", Delay{}, func() { p = s.power })
	return p, err
}

// RequestPower changes the power state after the delay.
func (s *session) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	switch r {
	case bmc.RequestOn, bmc.RequestForceOff, bmc.RequestSoftOff:
	default:
		return fault.New(fault.Invalid, "fake node %s: %.40q is no power request", s.target.Node, string(r))
	}
	return s.change(ctx, r.Name(), "request "+string(r)+" of", s.delays.Power, func() {
		if r != bmc.RequestOn {
			s.power = bmc.PowerOff
		} else if s.power == bmc.PowerOff {
			s.power = bmc.PowerOn
			s.useOverride()
		}
	})
}

// useOverride removes a one-time override, as firmware does when it boots.
func (s *session) useOverride() {
	if !s.boot.Persistent {
		s.boot.Device = bmc.DeviceNone
	}
}

// Restart uses the boot override if the server is on.
func (s *session) Restart(ctx context.Context) error {
	return s.change(ctx, bmc.NameRestart, "restart", s.delays.Power, func() {
		if s.power == bmc.PowerOn {
			s.useOverride()
		}
	})
}

// Boot reads the boot override.
func (s *session) Boot(ctx context.Context) (b bmc.Boot, err error) {
	err = s.read(ctx, "read boot override of", Delay{}, func() { b = s.boot })
	return b, err
}

// BootDevices returns what Ironic's fake management offers.
func (s *session) BootDevices(ctx context.Context) (all []bmc.Device, err error) {
	err = s.read(ctx, "list boot devices of", Delay{}, func() { all = []bmc.Device{bmc.DevicePXE} })
	return all, err
}

// SetBoot writes the boot override.
func (s *session) SetBoot(ctx context.Context, b bmc.Boot) error {
	known := b.Device == bmc.DeviceNone
	for _, d := range devices {
		known = known || b.Device == d
	}
	if !known {
		return fault.New(fault.Invalid, "fake node %s: %.40q is no boot device", s.target.Node, string(b.Device))
	}
	return s.change(ctx, b.Name(), "set boot override of", s.delays.Management, func() {
		if b.Device == bmc.DeviceNone {
			b.Persistent = false
		}
		if b.Mode == bmc.ModeUnknown {
			b.Mode = s.boot.Mode
		}
		s.boot = b
	})
}

// Media reads the virtual CD.
func (s *session) Media(ctx context.Context) (m bmc.Media, err error) {
	err = s.read(ctx, "read virtual media of", Delay{}, func() { m = s.media })
	return m, err
}

// InsertMedia inserts the image at url, after ejecting another one.
func (s *session) InsertMedia(ctx context.Context, url string) error {
	if url == "" {
		return fault.New(fault.Invalid, "fake node %s: no image to insert", s.target.Node)
	}
	have, err := s.Media(ctx)
	if err != nil || have == (bmc.Media{Inserted: true, Image: url}) {
		return err
	}
	if err := s.EjectMedia(ctx); err != nil {
		return err
	}
	return s.change(ctx, bmc.NameInsert(url), "insert virtual media of", s.delays.Boot, func() { s.media = bmc.Media{Inserted: true, Image: url} })
}

// EjectMedia empties the virtual CD.
func (s *session) EjectMedia(ctx context.Context) error {
	have, err := s.Media(ctx)
	if err != nil || !have.Inserted {
		return err
	}
	return s.change(ctx, bmc.NameEject, "eject virtual media of", s.delays.Boot, func() { s.media = bmc.Media{} })
}

// Inspect returns the inventory that every fake server has.
func (s *session) Inspect(ctx context.Context) (inv bmc.Inventory, err error) {
	err = s.read(ctx, "inspect", s.delays.Inspect, func() { inv = inventory(s.target.Node) })
	return inv, err
}

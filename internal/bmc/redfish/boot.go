package redfish

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// usbCD is Supermicro's word for a virtual CD; the schema has none for it.
const usbCD schemas.BootSource = "UsbCd"

// sources says in which words Redfish names a device, best first.
var sources = []struct {
	device bmc.Device
	names  []schemas.BootSource
}{
	{bmc.DevicePXE, []schemas.BootSource{schemas.PxeBootSource}},
	{bmc.DeviceDisk, []schemas.BootSource{schemas.HddBootSource}},
	{bmc.DeviceCDROM, []schemas.BootSource{schemas.CdBootSource, usbCD}},
	{bmc.DeviceBIOS, []schemas.BootSource{schemas.BiosSetupBootSource}},
}

// deviceOf is the device that a BMC's word means.
func deviceOf(source schemas.BootSource) bmc.Device {
	if source == "" || source == schemas.NoneBootSource {
		return bmc.DeviceNone
	}
	for _, s := range sources {
		if slices.Contains(s.names, source) {
			return s.device
		}
	}
	return bmc.Device(strings.ToLower(clean(string(source), 40)))
}

// sourceOf is the word for a device that this BMC accepts; every word will do
// for one that does not say what it accepts.
func sourceOf(d bmc.Device, allowed []schemas.BootSource) (schemas.BootSource, error) {
	for _, s := range sources {
		if s.device != d {
			continue
		}
		for _, name := range s.names {
			if len(allowed) == 0 || slices.Contains(allowed, name) {
				return name, nil
			}
		}
		return "", fault.New(fault.Refused, "the system can't boot from %s, only from %s", d, list(allowed))
	}
	return "", fault.New(fault.Invalid, "Redfish has no boot device %.40q", string(d))
}

// Boot reads the boot override.
func (s *session) Boot(ctx context.Context) (bmc.Boot, error) {
	ctx, done := within(ctx, callTime)
	defer done()
	b, _, _, _, err := s.override(ctx)
	if err != nil {
		return bmc.Boot{}, s.fail("read boot override of", err)
	}
	out := bmc.Boot{Mode: modeOf(b.Mode)}
	if b.Enabled == schemas.OnceBootSourceOverrideEnabled || b.Enabled == schemas.ContinuousBootSourceOverrideEnabled {
		out.Device = deviceOf(b.Target)
		out.Persistent = out.Device != bmc.DeviceNone && b.Enabled == schemas.ContinuousBootSourceOverrideEnabled
	}
	return out, nil
}

func modeOf(m schemas.BootSourceOverrideMode) bmc.Mode {
	switch m {
	case schemas.UEFIBootSourceOverrideMode:
		return bmc.ModeUEFI
	case schemas.LegacyBootSourceOverrideMode:
		return bmc.ModeBIOS
	}
	return bmc.ModeUnknown
}

// override reads the system's Boot, and where to write it.
func (s *session) override(ctx context.Context) (b boot, path, etag, settings string, err error) {
	sys, path, etag, err := s.look(ctx)
	if err != nil {
		return boot{}, "", "", "", err
	}
	if sys.Boot.bad {
		return boot{}, "", "", "", garble(path, "Boot is not what the schema says")
	}
	return sys.Boot.v, path, etag, string(sys.Settings.v.SettingsObject), nil
}

// SetBoot writes the boot override of the system, or of its settings resource
// where the BMC takes it only there (iDRAC 10).
func (s *session) SetBoot(ctx context.Context, want bmc.Boot) error {
	ctx, done := within(ctx, callTime)
	defer done()
	return s.fail("set boot override of", s.setBoot(ctx, want))
}

// setBoot writes the override. If a BMC refuses to clear it, setBoot sets it to the
// disk persistently, as Ironic does.
func (s *session) setBoot(ctx context.Context, want bmc.Boot) error {
	err := s.writeBoot(ctx, want)
	if want.Device != bmc.DeviceNone || !refused(err) {
		return err
	}
	if disk := s.writeBoot(ctx, bmc.Boot{Device: bmc.DeviceDisk, Persistent: true}); disk != nil {
		return fault.New(fault.KindOf(disk), "%w; setting it to the disk instead failed, too: %s", err, disk.Error())
	}
	return nil
}

func (s *session) writeBoot(ctx context.Context, want bmc.Boot) error {
	// What Redfish has no word for is refused before the BMC is asked anything.
	if want.Device != bmc.DeviceNone {
		if _, err := sourceOf(want.Device, nil); err != nil {
			return err
		}
	}
	have, path, etag, settings, err := s.override(ctx)
	if err != nil {
		return err
	}
	next, err := nextBoot(want, have)
	if err != nil {
		return err
	}
	body := map[string]schemas.Boot{"Boot": next}
	err = s.patch(ctx, path, etag, body)
	if settings == "" || settings == path || !refused(err) {
		return err
	}
	var pending struct {
		ETag text `json:"@odata.etag"`
	}
	a, rerr := s.read(ctx, settings, &pending)
	if rerr != nil {
		return err // the first refusal says more
	}
	return s.patch(ctx, settings, a.etag(pending.ETag), body)
}

// nextBoot is what to write. The mode is written only where it differs: some
// BMCs refuse a mode, even the one they are in.
func nextBoot(want bmc.Boot, have boot) (schemas.Boot, error) {
	if want.Device == bmc.DeviceNone {
		return schemas.Boot{BootSourceOverrideEnabled: schemas.DisabledBootSourceOverrideEnabled}, nil
	}
	source, err := sourceOf(want.Device, have.Allowed)
	if err != nil {
		return schemas.Boot{}, err
	}
	next := schemas.Boot{
		BootSourceOverrideTarget:  source,
		BootSourceOverrideEnabled: schemas.OnceBootSourceOverrideEnabled,
	}
	if want.Persistent {
		next.BootSourceOverrideEnabled = schemas.ContinuousBootSourceOverrideEnabled
	}
	if want.Mode == modeOf(have.Mode) {
		return next, nil
	}
	switch want.Mode {
	case bmc.ModeUEFI:
		next.BootSourceOverrideMode = schemas.UEFIBootSourceOverrideMode
	case bmc.ModeBIOS:
		next.BootSourceOverrideMode = schemas.LegacyBootSourceOverrideMode
	}
	return next, nil
}

// refused reports whether the BMC said a plain no to a change, so that another
// way may be tried: nothing was changed.
func refused(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.change && fault.Is(err, fault.Refused) && no.status != http.StatusNotFound
}

// list is a few words of a BMC's, for an error.
func list[T ~string](words []T) string {
	texts := make([]string, 0, len(words))
	for _, w := range words {
		texts = append(texts, string(w))
	}
	return clean(strings.Join(texts, ", "), 160)
}

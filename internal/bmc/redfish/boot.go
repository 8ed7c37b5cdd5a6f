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

// usbCD is Supermicro's boot source for a virtual CD. It is not in the schema.
const usbCD schemas.BootSource = "UsbCd"

// bootSources has Redfish's boot sources for each device, best first.
var bootSources = []struct {
	device bmc.Device
	names  []schemas.BootSource
}{
	{bmc.DevicePXE, []schemas.BootSource{schemas.PxeBootSource}},
	{bmc.DeviceDisk, []schemas.BootSource{schemas.HddBootSource}},
	{bmc.DeviceCDROM, []schemas.BootSource{schemas.CdBootSource, usbCD}},
	{bmc.DeviceBIOS, []schemas.BootSource{schemas.BiosSetupBootSource}},
}

// deviceFromSource returns the device for a boot source.
func deviceFromSource(source schemas.BootSource) bmc.Device {
	if source == "" || source == schemas.NoneBootSource {
		return bmc.DeviceNone
	}
	for _, s := range bootSources {
		if slices.Contains(s.names, source) {
			return s.device
		}
	}
	return bmc.Device(strings.ToLower(printable(string(source), 40)))
}

// sourceForDevice returns the first boot source for the device that is in allowed, the
// sources that the BMC accepts. An empty list allows all.
func sourceForDevice(d bmc.Device, allowed []schemas.BootSource) (schemas.BootSource, error) {
	for _, s := range bootSources {
		if s.device != d {
			continue
		}
		for _, name := range s.names {
			if len(allowed) == 0 || slices.Contains(allowed, name) {
				return name, nil
			}
		}
		return "", fault.Coded(fault.BootDeviceRefused, "the system can't boot from %s, only from %s", d, joinWords(allowed))
	}
	return "", fault.New(fault.Invalid, "Redfish has no boot device %.40q", string(d))
}

// Boot reads the boot override.
func (s *session) Boot(ctx context.Context) (bmc.Boot, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	b, _, _, _, err := s.bootOverride(ctx)
	if err != nil {
		return bmc.Boot{}, s.wrap("read boot override", err)
	}
	out := bmc.Boot{Mode: modeFromRedfish(b.Mode)}
	if b.Enabled == schemas.OnceBootSourceOverrideEnabled || b.Enabled == schemas.ContinuousBootSourceOverrideEnabled {
		out.Device = deviceFromSource(b.Target)
		out.Persistent = out.Device != bmc.DeviceNone && b.Enabled == schemas.ContinuousBootSourceOverrideEnabled
	}
	return out, nil
}

func modeFromRedfish(m schemas.BootSourceOverrideMode) bmc.Mode {
	switch m {
	case schemas.UEFIBootSourceOverrideMode:
		return bmc.ModeUEFI
	case schemas.LegacyBootSourceOverrideMode:
		return bmc.ModeBIOS
	}
	return bmc.ModeUnknown
}

// bootOverride reads the system's Boot. It also returns the system's path and ETag, and
// the path of its settings resource, if it has one.
func (s *session) bootOverride(ctx context.Context) (b boot, path, etag, settings string, err error) {
	sys, path, etag, err := s.readSystem(ctx)
	if err != nil {
		return boot{}, "", "", "", err
	}
	if sys.Boot.bad {
		return boot{}, "", "", "", malformedAnswer(path, "Boot is not what the schema says")
	}
	return sys.Boot.v, path, etag, string(sys.Settings.v.SettingsObject), nil
}

// SetBoot writes the boot override of the system, or of its settings resource if the
// BMC accepts it only there (iDRAC 10).
func (s *session) SetBoot(ctx context.Context, want bmc.Boot) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("set boot override", s.setBoot(ctx, want))
}

// setBoot writes the override. If the BMC refuses to clear it, setBoot sets a persistent
// override of the disk, as Ironic does.
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
	// A device that Redfish does not have is refused without a request to the BMC.
	if want.Device != bmc.DeviceNone {
		if _, err := sourceForDevice(want.Device, nil); err != nil {
			return err
		}
	}
	have, path, etag, settings, err := s.bootOverride(ctx)
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
		ETag looseString `json:"@odata.etag"`
	}
	a, rerr := s.read(ctx, settings, &pending)
	if rerr != nil {
		return err // the refusal explains more than the failed read
	}
	return s.patch(ctx, settings, a.etag(pending.ETag), body)
}

// nextBoot returns what to write. It contains the mode only if it differs, because some
// BMCs refuse every mode, even the current one.
func nextBoot(want bmc.Boot, have boot) (schemas.Boot, error) {
	if want.Device == bmc.DeviceNone {
		return schemas.Boot{BootSourceOverrideEnabled: schemas.DisabledBootSourceOverrideEnabled}, nil
	}
	source, err := sourceForDevice(want.Device, have.Allowed)
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
	if want.Mode == modeFromRedfish(have.Mode) {
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

// refused reports whether the BMC refused a change, so that nothing was changed and
// another way may be tried.
func refused(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.change && fault.Is(err, fault.Refused) && no.status != http.StatusNotFound
}

// joinWords joins names that a BMC sent, for an error.
func joinWords[T ~string](words []T) string {
	texts := make([]string, 0, len(words))
	for _, w := range words {
		texts = append(texts, string(w))
	}
	return printable(strings.Join(texts, ", "), 160)
}

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
	{bmc.DeviceUEFIHTTP, []schemas.BootSource{schemas.UefiHTTPBootSource}},
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
// sources that the BMC accepts. An empty list allows all. preferred are tried first.
func sourceForDevice(d bmc.Device, allowed []schemas.BootSource, preferred ...schemas.BootSource) (schemas.BootSource, error) {
	for _, s := range bootSources {
		if s.device != d {
			continue
		}
		for _, name := range append(listed(preferred, allowed), s.names...) {
			if len(allowed) == 0 || slices.Contains(allowed, name) {
				return name, nil
			}
		}
		return "", fault.Coded(fault.BootDeviceRefused, "the system can't boot from %s, only from %s", d, joinWords(allowed))
	}
	return "", fault.New(fault.Invalid, "Redfish has no boot device %.40q", string(d))
}

// listed returns the preferred sources that the BMC lists. Without a list it is not known
// whether the BMC has them.
func listed(preferred, allowed []schemas.BootSource) []schemas.BootSource {
	var out []schemas.BootSource
	for _, name := range preferred {
		if slices.Contains(allowed, name) {
			out = append(out, name)
		}
	}
	return out
}

// BootDevices returns the devices for which the BMC lists a boot source. If it lists none, these are all that Redfish has.
func (s *session) BootDevices(ctx context.Context) ([]bmc.Device, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	o, err := s.readOverride(ctx)
	if err != nil {
		return nil, s.wrap("list boot devices", err)
	}
	var all []bmc.Device
	for _, b := range bootSources {
		if _, err := sourceForDevice(b.device, o.Allowed, o.cdSources(b.device)...); err == nil {
			all = append(all, b.device)
		}
	}
	return all, nil
}

// Boot reads the boot override.
func (s *session) Boot(ctx context.Context) (bmc.Boot, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	o, err := s.readOverride(ctx)
	if err != nil {
		return bmc.Boot{}, s.wrap("read boot override", err)
	}
	return o.shown(), nil
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

// SetBoot writes the boot override of the system, or of its settings resource if the
// BMC accepts it only there.
func (s *session) SetBoot(ctx context.Context, want bmc.Boot) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	ctx = bmc.Asking(ctx, want.Name())
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
	o, err := s.recentOverride(ctx)
	if err != nil {
		return err
	}
	return s.writeOverride(ctx, o, want)
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
		if w != "" { // it was of another type than the schema says
			texts = append(texts, string(w))
		}
	}
	if len(texts) == 0 {
		return "what it does not name"
	}
	return printable(strings.Join(texts, ", "), 160)
}

package redfish

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// override is the boot override of a system as it was read.
type override struct {
	boot
	system   system
	path     string // of the resource that has it: the system or its settings
	etag     string
	settings string // path of the settings resource, "" if there is none or path is it
	quirks   effect
	dell     *dellBoot // nil where the attributes of Dell's manager do not matter
}

// readOverride reads the boot override where the BMC has it.
func (s *session) readOverride(ctx context.Context) (override, error) {
	o, err := s.overrideNow(ctx)
	if err == nil {
		note(s, &s.readings.override, o)
	}
	return o, err
}

// recentOverride is readOverride for what is about to write the override.
func (s *session) recentOverride(ctx context.Context) (override, error) {
	return recently(ctx, s, &s.readings.override, s.readOverride)
}

func (s *session) overrideNow(ctx context.Context) (override, error) {
	sys, err := s.readSystem(ctx)
	if err != nil {
		return override{}, err
	}
	path := sys.path
	if sys.Boot.bad {
		return override{}, malformedAnswer(path, "Boot is not what the schema says")
	}
	quirks, err := s.quirks(ctx, sys.system, path)
	if err != nil {
		return override{}, err
	}
	o := override{boot: sys.Boot.v, system: sys.system, path: path, etag: sys.etag, quirks: quirks}
	if settings := string(sys.Settings.v.SettingsObject); settings != path {
		o.settings = settings
	}
	if o.settings != "" && (quirks.settingsBoot || s.endpoint.bootInSettings(path)) {
		return s.readSettings(ctx, o)
	}
	if quirks.attributeBoot {
		o.dell, err = s.readDellBoot(ctx, sys.system)
	}
	return o, err
}

// readSettings returns the override as the settings resource has it, or o if there is none.
func (s *session) readSettings(ctx context.Context, o override) (override, error) {
	var pending struct {
		ETag looseString `json:"@odata.etag"`
		Boot loose[boot]
	}
	a, err := s.read(ctx, o.settings, &pending)
	switch {
	case err != nil && skippable(err), err == nil && pending.Boot.bad:
		return o, nil
	case err != nil:
		return override{}, err
	}
	next := pending.Boot.v
	if len(next.Allowed) == 0 {
		next.Allowed = o.Allowed
	}
	if len(next.Enables) == 0 {
		next.Enables = o.Enables
	}
	next.Mode = cmp.Or(next.Mode, o.Mode)
	o.boot, o.path, o.etag, o.settings = next, o.settings, a.etag(pending.ETag), ""
	return o, nil
}

// shown returns the override as the driver's callers see it.
func (o override) shown() bmc.Boot {
	out := bmc.Boot{Mode: modeFromRedfish(o.Mode)}
	switch {
	case o.dell != nil && o.dell.virtualCD():
		out.Device, out.Persistent = bmc.DeviceCDROM, !o.dell.once()
	case o.Enabled == schemas.OnceBootSourceOverrideEnabled || o.Enabled == schemas.ContinuousBootSourceOverrideEnabled:
		out.Device = deviceFromSource(o.Target)
		out.Persistent = out.Device != bmc.DeviceNone && o.Enabled == schemas.ContinuousBootSourceOverrideEnabled
		if out.Device == bmc.DeviceUEFIHTTP {
			out.URI = string(o.URI)
		}
	}
	return out
}

// writeOverride writes the override. If the BMC refuses the shortest request, it tries the
// ones that other BMCs want: all properties at once, and the settings resource.
func (s *session) writeOverride(ctx context.Context, o override, want bmc.Boot) error {
	if o.dell != nil {
		if done, err := s.writeDellBoot(ctx, o, want); done || err != nil {
			return err
		}
	}
	short, full, err := o.requests(want)
	if err != nil {
		return err
	}
	return s.patchOverride(ctx, o, short, full)
}

// patchOverride writes Boot of the system or, if the BMC refuses that, of its settings resource.
func (s *session) patchOverride(ctx context.Context, o override, short, full schemas.Boot) error {
	if o.quirks.fullBoot {
		short = full
	}
	err := s.patchBoot(ctx, o.path, o.etag, short, full)
	if o.settings == "" || !refused(err) {
		return err
	}
	pending, rerr := s.readSettings(ctx, o)
	if rerr != nil || pending.path == o.path {
		return err // the refusal explains more than the failed read
	}
	if terr := s.patchBoot(ctx, pending.path, pending.etag, short, full); terr != nil {
		return terr
	}
	s.endpoint.learnBootInSettings(o.path)
	return nil
}

// patchBoot writes Boot, and writes it in full if the BMC refuses the short form.
func (s *session) patchBoot(ctx context.Context, path, etag string, short, full schemas.Boot) error {
	err := s.patch(ctx, path, etag, map[string]schemas.Boot{"Boot": short})
	if !refused(err) || bootEqual(short, full) || readOnly(err) {
		return err
	}
	if ferr := s.patch(ctx, path, etag, map[string]schemas.Boot{"Boot": full}); !refused(ferr) {
		return ferr
	}
	return err // the first refusal is about what was wanted
}

// readOnly reports whether the BMC says that the property can't be changed at this place,
// so that more of it is not accepted either (PropertyNotWritable; AMI's FutureStateURI).
func readOnly(err error) bool {
	var no *refusal
	return errors.As(err, &no) && (strings.Contains(no.details, "PropertyNotWritable") || strings.Contains(no.details, "FutureState"))
}

// requests returns the shortest form of what to write, and the form with all properties.
// The short form has the mode only if it differs, because some BMCs refuse every mode,
// even the current one.
func (o override) requests(want bmc.Boot) (short, full schemas.Boot, err error) {
	mode := redfishMode(want.Mode)
	if want.Device == bmc.DeviceNone {
		short.BootSourceOverrideEnabled = schemas.DisabledBootSourceOverrideEnabled
		full = short
		if len(o.Allowed) == 0 || slices.Contains(o.Allowed, schemas.NoneBootSource) {
			full.BootSourceOverrideTarget, full.BootSourceOverrideMode = schemas.NoneBootSource, o.Mode
		}
		if o.quirks.disabledTarget {
			short.BootSourceOverrideTarget = schemas.NoneBootSource
		}
		return short, full, nil
	}
	source, err := sourceForDevice(want.Device, o.Allowed, o.cdSources(want.Device)...)
	if err != nil {
		return short, full, err
	}
	enabled := schemas.OnceBootSourceOverrideEnabled
	if want.Persistent {
		enabled = schemas.ContinuousBootSourceOverrideEnabled
	}
	if len(o.Enables) > 0 && !slices.Contains(o.Enables, enabled) && want.Persistent {
		return short, full, fault.Coded(fault.BootDeviceRefused, "the system has no persistent boot override, only %s", joinWords(o.Enables))
	}
	short = schemas.Boot{BootSourceOverrideTarget: source, BootSourceOverrideEnabled: enabled, HTTPBootURI: want.URI}
	full = short
	if want.Mode != modeFromRedfish(o.Mode) {
		short.BootSourceOverrideMode = mode
	}
	full.BootSourceOverrideMode = cmp.Or(mode, o.Mode, schemas.UEFIBootSourceOverrideMode)
	return short, full, nil
}

func (o override) cdSources(d bmc.Device) []schemas.BootSource {
	if d == bmc.DeviceCDROM {
		return o.quirks.cdSources
	}
	return nil
}

func redfishMode(m bmc.Mode) schemas.BootSourceOverrideMode {
	switch m {
	case bmc.ModeUEFI:
		return schemas.UEFIBootSourceOverrideMode
	case bmc.ModeBIOS:
		return schemas.LegacyBootSourceOverrideMode
	}
	return ""
}

// bootEqual reports whether two requests are the same.
func bootEqual(a, b schemas.Boot) bool {
	return a.BootSourceOverrideEnabled == b.BootSourceOverrideEnabled &&
		a.BootSourceOverrideTarget == b.BootSourceOverrideTarget && a.BootSourceOverrideMode == b.BootSourceOverrideMode
}

// bootInSettings reports whether the BMC has accepted the boot override of this system in
// its settings resource, after it had refused it in the system.
func (e *endpoint) bootInSettings(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.inSettings[path]
}

func (e *endpoint) learnBootInSettings(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.inSettings == nil {
		e.inSettings = map[string]bool{}
	}
	e.inSettings[path] = true
}

package redfish

import (
	"cmp"
	"context"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// BootMode reads the boot mode. An iLO has it as an attribute of its BIOS (BootMode) and refuses to change it here.
func (s *session) BootMode(ctx context.Context) (bmc.Mode, []bmc.Mode, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	o, err := s.readOverride(ctx)
	if err != nil {
		return bmc.ModeUnknown, nil, s.wrap("read the boot mode", err)
	}
	var modes []bmc.Mode
	for _, m := range o.Modes {
		if mode := modeFromRedfish(m); mode != bmc.ModeUnknown {
			modes = append(modes, mode)
		}
	}
	return modeFromRedfish(o.Mode), modes, nil
}

// SetBootMode writes the mode of the boot override. The override itself stays.
func (s *session) SetBootMode(ctx context.Context, m bmc.Mode) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("set the boot mode", s.setBootMode(bmc.Asking(ctx, bmc.NameBootMode(m)), m))
}

func (s *session) setBootMode(ctx context.Context, m bmc.Mode) error {
	mode := redfishMode(m)
	if mode == "" {
		return fault.New(fault.Invalid, "Redfish has no boot mode %.20q", string(m))
	}
	o, err := s.recentOverride(ctx)
	if err != nil {
		return err
	}
	short := schemas.Boot{BootSourceOverrideMode: mode}
	full := schemas.Boot{
		BootSourceOverrideMode: mode, BootSourceOverrideTarget: cmp.Or(o.Target, schemas.NoneBootSource),
		BootSourceOverrideEnabled: cmp.Or(o.Enabled, schemas.DisabledBootSourceOverrideEnabled), HTTPBootURI: string(o.URI),
	}
	return s.patchOverride(ctx, o, short, full)
}

// secureBootReading is Secure Boot as it was read.
type secureBootReading struct {
	secureBoot
	ETag       looseString `json:"@odata.etag"`
	path, etag string
}

func (s *session) readSecureBoot(ctx context.Context) (secureBootReading, error) {
	sys, err := s.recentSystem(ctx)
	if err != nil {
		return secureBootReading{}, err
	}
	r := secureBootReading{path: string(sys.SecureBoot)}
	if r.path == "" {
		return r, fault.New(fault.Refused, "the system has no Secure Boot")
	}
	a, err := s.read(ctx, r.path, &r)
	if err == nil {
		r.etag = a.etag(r.ETag)
	}
	return r, err
}

// SecureBoot reads whether Secure Boot is on in the next boot.
func (s *session) SecureBoot(ctx context.Context) (*bool, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	r, err := s.readSecureBoot(ctx)
	return r.Enable.v, s.wrap("read Secure Boot", err)
}

// SetSecureBoot switches Secure Boot from the next boot on.
func (s *session) SetSecureBoot(ctx context.Context, on bool) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	r, err := s.readSecureBoot(ctx)
	if err == nil {
		err = s.patch(bmc.Asking(ctx, bmc.NameSecureBoot(on)), r.path, r.etag, map[string]any{"SecureBootEnable": on})
	}
	return s.wrap("switch Secure Boot", err)
}

package redfish

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// Probe is what a BMC tells about itself, and what the driver can do with it.
type Probe struct {
	Vendor       string `json:"vendor"`          // of the service root
	Product      string `json:"product"`         // of the service root
	Redfish      string `json:"redfish_version"` // of the service root
	Manufacturer string `json:"manufacturer"`    // of the system
	Model        string `json:"model"`           // of the system
	Manager      string `json:"manager_model"`
	Firmware     string `json:"firmware"` // of the manager
	System       string `json:"redfish_system_id"`
	Login        string `json:"login"` // how requests authenticate: session, basic or none
	// Quirks are the rows of the table that are about this BMC.
	Quirks []Quirk `json:"quirks"`
	// Findings say, for each thing that Temper asks of a BMC, whether it will work.
	Findings []bmc.Finding `json:"operations"`
}

// Probe asks the BMC what it is and what it can do. It sends nothing but GET, but for the login. An error means
// that there is no BMC that can be talked to; everything else that does not work is a finding.
func (d *Driver) Probe(ctx context.Context, t bmc.Target) (*Probe, error) {
	s, end, err := d.converse(ctx, t)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, done := withBudget(ctx, inspectTime)
	defer done()
	p, err := s.probe(ctx)
	return p, s.wrap("probe the BMC", err)
}

func (s *session) probe(ctx context.Context) (*Probe, error) {
	sys, err := s.readSystem(ctx)
	if fault.Is(err, fault.Denied) && s.endpoint.info.username == "" {
		return s.probeRoot(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	id, root, err := s.selfDescription(ctx, sys.system)
	if err != nil {
		return nil, err
	}
	p := &Probe{
		Vendor: id.vendor, Product: string(root.Product), Redfish: string(root.RedfishVersion), Manufacturer: id.manufacturer,
		Model: id.model, Manager: id.managerModel, Firmware: id.firmware, System: sys.path, Login: s.endpoint.currentLogin().kind.String(),
		Quirks: []Quirk{},
	}
	for i, q := range Quirks() {
		if quirks[i].who.fits(id) {
			p.Quirks = append(p.Quirks, q)
		}
	}
	for _, find := range []func(context.Context) bmc.Finding{
		s.findPower, s.findResets, s.findBoot, s.findMedia, s.findInventory,
	} {
		p.Findings = append(p.Findings, find(ctx))
	}
	return p, nil
}

// probeRoot returns what a BMC tells without a login: its service root. denied is why it does not tell more.
func (s *session) probeRoot(ctx context.Context, denied error) (*Probe, error) {
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil {
		return nil, denied
	}
	return &Probe{
		Vendor: string(root.Vendor), Product: string(root.Product), Redfish: string(root.RedfishVersion), Login: loginNone.String(), Quirks: []Quirk{},
		Findings: []bmc.Finding{{
			Operation: "read the system, its power, boot device, media and inventory",
			Words:     "not known: the BMC wants a login for that, and none was given",
		}},
	}, nil
}

// String returns how requests authenticate, in one word.
func (k loginKind) String() string {
	return map[loginKind]string{loginBasic: "basic", loginSession: "session"}[k] + map[bool]string{true: "none"}[k == loginNone || k == notLoggedIn]
}

// selfDescription returns what the service root, the system and the manager say, whoever the vendor is.
func (s *session) selfDescription(ctx context.Context, sys system) (identity, serviceRoot, error) {
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil {
		return identity{}, serviceRoot{}, err
	}
	id := identity{vendor: string(root.Vendor), manufacturer: string(sys.Manufacturer), model: string(sys.Model)}
	if err = s.askManager(ctx, sys, &id); serverError(err) {
		err = nil // a probe tells what there is
	}
	return id, root, err
}

func (s *session) findPower(ctx context.Context) bmc.Finding {
	p, err := s.power(ctx)
	return s.finding("read the power state", err, "%s", p)
}

// findResets tells which resets the system lists that power requests and restarts need.
func (s *session) findResets(ctx context.Context) bmc.Finding {
	const what = "switch on and off"
	sys, err := s.readSystem(ctx)
	switch {
	case err != nil:
		return s.finding(what, err, "")
	case sys.Actions.v.Reset.Target == "":
		return s.finding(what, fault.New(fault.Refused, "%s: the system has no Reset action", sys.path), "")
	}
	allowed := s.allowedResets(ctx, sys.Actions.v.Reset)
	if len(allowed) == 0 {
		return s.finding(what, nil, "the BMC does not list what it accepts")
	}
	var missing []string
	for _, one := range []struct {
		what  string
		types []schemas.ResetType
	}{
		{"switch on", resets[bmc.RequestOn].types},
		{"switch off", resets[bmc.RequestForceOff].types},
		{"shut down", resets[bmc.RequestSoftOff].types},
		{"restart", []schemas.ResetType{schemas.ForceRestartResetType}},
	} {
		if !slices.ContainsFunc(one.types, func(t schemas.ResetType) bool { return slices.Contains(allowed, t) }) {
			missing = append(missing, one.what)
		}
	}
	if len(missing) > 0 {
		return s.finding(what, fault.New(fault.Refused, "the system can't %s, only %s", strings.Join(missing, " or "), joinWords(allowed)), "")
	}
	return s.finding(what, nil, "%s", joinWords(allowed))
}

// findBoot tells from which devices the system can be booted once.
func (s *session) findBoot(ctx context.Context) bmc.Finding {
	const what = "choose the boot device"
	o, err := s.readOverride(ctx)
	if err != nil {
		return s.finding(what, err, "")
	}
	var can, cant []string
	for _, d := range []bmc.Device{bmc.DeviceCDROM, bmc.DevicePXE, bmc.DeviceDisk, bmc.DeviceBIOS} {
		if source, err := sourceForDevice(d, o.Allowed, o.cdSources(d)...); err == nil {
			can = append(can, fmt.Sprintf("%s (%s)", d, source))
		} else {
			cant = append(cant, string(d))
		}
	}
	text := "now " + o.shown().String() + "; can boot from " + strings.Join(can, ", ")
	if len(cant) > 0 {
		text += "; not from " + strings.Join(cant, ", ")
	}
	if len(can) == 0 {
		err = fault.New(fault.Refused, "the BMC lists no boot source that Temper uses, only %s", joinWords(o.Allowed))
	}
	return s.finding(what, err, "%s, in %s", text, o.path)
}

func (s *session) findMedia(ctx context.Context) bmc.Finding {
	d, err := s.findDrive(ctx)
	how := "by InsertMedia"
	if d.Actions.v.Insert.Target == "" {
		how = "by PATCH"
	}
	words := "empty"
	if d.media().Inserted {
		words = "holds a medium"
	}
	return s.finding(mediaOperation, err, "%s, %s, %s", d.path, how, words)
}

func (s *session) findInventory(ctx context.Context) bmc.Finding {
	inv, err := s.inspect(ctx)
	if err == nil && inv.CPUs == 0 && inv.MemoryMiB == 0 {
		err = fault.New(fault.Refused, "the system has neither processors nor memory; if the BMC has another system, name that with %s", propSystem)
	}
	words := fmt.Sprintf("%d CPUs, %d MiB in %d modules, %d disks, %d NICs, %d GPUs, %d PCI devices, %d versions of firmware",
		inv.CPUs, inv.MemoryMiB, len(inv.DIMMs), len(inv.Disks), len(inv.NICs), len(inv.GPUs), len(inv.PCIDevices), len(inv.Firmware))
	if len(inv.Incomplete) > 0 {
		words += "; not whole: " + joinWords(inv.Incomplete)
	}
	return s.finding("inspect out of band", err, "%s", words)
}

// finding returns a finding: that it works, with the words of format, or why not.
func (s *session) finding(what string, err error, format string, args ...any) bmc.Finding {
	if err != nil {
		return bmc.Finding{Operation: what, Words: s.endpoint.redact(err.Error())}
	}
	return bmc.Found(what, nil, format, args...)
}

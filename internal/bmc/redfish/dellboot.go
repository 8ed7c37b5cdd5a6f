package redfish

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// dellBoot is what the attributes of an iDRAC 9 say about the next boot. Their names and
// values are those that community.general's idrac_redfish_config documents.
type dellBoot struct {
	path, etag string
	Attributes loose[struct {
		First looseString `json:"ServerBoot.1.FirstBootDevice"`
		Once  looseString `json:"ServerBoot.1.BootOnce"`
	}]
}

const (
	firstBootDevice = "ServerBoot.1.FirstBootDevice"
	bootOnce        = "ServerBoot.1.BootOnce"
	virtualOptical  = "VCD-DVD" // the virtual CD
	normalBoot      = "Normal"  // no override
)

func (b *dellBoot) virtualCD() bool { return b.Attributes.v.First == virtualOptical }

func (b *dellBoot) once() bool { return b.Attributes.v.Once == "Enabled" }

// readDellBoot reads the attributes of the system's manager. It returns nil if the manager
// has none, so that the standard's way is tried.
func (s *session) readDellBoot(ctx context.Context, sys system) (*dellBoot, error) {
	for _, path := range s.managers(ctx, sys) {
		b := &dellBoot{path: path + "/Attributes"}
		a, err := s.read(ctx, b.path, b)
		switch {
		case err == nil && b.Attributes.v.First != "":
			b.etag = a.etag("")
			return b, nil
		case err != nil && !skippable(err):
			return nil, err
		}
	}
	return nil, nil
}

// writeDellBoot writes the attributes if want is the virtual CD, or if they boot it and want
// is something else. done means that nothing else has to be written.
func (s *session) writeDellBoot(ctx context.Context, o override, want bmc.Boot) (done bool, err error) {
	set := func(first, once string) error {
		body := map[string]any{"Attributes": map[string]string{firstBootDevice: first, bootOnce: once}}
		return s.patch(ctx, o.dell.path, o.dell.etag, body)
	}
	if want.Device == bmc.DeviceCDROM {
		once := "Enabled"
		if want.Persistent {
			once = "Disabled"
		}
		err := set(virtualOptical, once)
		if refused(err) {
			err = fault.Coded(fault.BootDeviceRefused, "%w", err)
		}
		return true, err
	}
	if !o.dell.virtualCD() {
		return false, nil
	}
	if err := set(normalBoot, "Disabled"); err != nil {
		return false, err
	}
	standard := o
	standard.dell = nil
	return standard.shown().Fulfils(want), nil
}

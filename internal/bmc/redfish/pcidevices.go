package redfish

import (
	"context"
	"strings"

	"go.temper.dev/temper/internal/bmc"
)

type pcieDevice struct {
	ID              looseString `json:"Id"`
	Name            looseString
	Model           looseString
	Manufacturer    looseString
	SerialNumber    looseString
	FirmwareVersion looseString
	PCIeFunctions   link
	Links           loose[struct{ PCIeFunctions links }]
	Status          loose[status]
}

type pcieFunction struct {
	VendorID          looseString `json:"VendorId"`
	DeviceID          looseString `json:"DeviceId"`
	SubsystemVendorID looseString `json:"SubsystemVendorId"`
	SubsystemID       looseString `json:"SubsystemId"`
	ClassCode         looseString
	RevisionID        looseString `json:"RevisionId"`
}

type chassis struct {
	PCIeDevices     linkOrLinks
	NetworkAdapters link
}

// readPCIDevices sets the PCI devices that the system lists, or that its chassis list if the system lists none.
func (in *inspection) readPCIDevices(ctx context.Context) error {
	paths, err := in.pcieMembers(ctx, in.sys.PCIeDevices)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		err = in.eachChassis(ctx, bmc.PartPCI, func(c chassis) error {
			more, err := in.pcieMembers(ctx, c.PCIeDevices)
			paths = append(paths, more...)
			return err
		})
		if err != nil {
			return err
		}
	}
	var lost error
	err = tryEach(ctx, in, bmc.PartPCI, paths, func(d pcieDevice) {
		if !d.Status.v.absent() && lost == nil {
			lost = in.addPCIDevice(ctx, d)
		}
	})
	if lost != nil {
		return lost
	}
	return err
}

func (in *inspection) pcieMembers(ctx context.Context, of linkOrLinks) ([]string, error) {
	if len(of.members) > 0 {
		return of.members, nil
	}
	return in.tryMembers(ctx, bmc.PartPCI, of.collection)
}

// eachChassis calls use for each chassis of the system that can be read.
func (in *inspection) eachChassis(ctx context.Context, part bmc.Part, use func(chassis) error) error {
	paths := in.sys.Links.v.Chassis
	for _, path := range paths[:min(len(paths), maxMembers)] {
		var c chassis
		ok, err := tryRead(ctx, in, part, path, &c)
		if ok {
			err = use(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addPCIDevice adds a device with the numbers of its first function.
func (in *inspection) addPCIDevice(ctx context.Context, d pcieDevice) error {
	functions := []string(d.Links.v.PCIeFunctions)
	if len(functions) == 0 {
		var err error
		if functions, err = in.tryMembers(ctx, bmc.PartPCI, d.PCIeFunctions); err != nil {
			return err
		}
	}
	var f pcieFunction
	if len(functions) > 0 {
		if _, err := tryRead(ctx, in, bmc.PartPCI, functions[0], &f); err != nil {
			return err
		}
	}
	out := bmc.PCIDevice{
		Name: firstNonBlank(d.Name.short(), d.ID.short()), Model: d.Model.short(), Manufacturer: d.Manufacturer.short(),
		Serial: d.SerialNumber.short(), Firmware: d.FirmwareVersion.short(),
		VendorID: hexDigits(string(f.VendorID), 4), DeviceID: hexDigits(string(f.DeviceID), 4),
		SubsystemVendorID: hexDigits(string(f.SubsystemVendorID), 4), SubsystemID: hexDigits(string(f.SubsystemID), 4),
		Class: hexDigits(string(f.ClassCode), 6), Revision: hexDigits(string(f.RevisionID), 2),
	}
	in.inv.PCIDevices = append(in.inv.PCIDevices, out)
	if strings.HasPrefix(out.Class, "0302") || strings.HasPrefix(out.Class, "1200") { // 3D controller, processing accelerator
		in.byClass = append(in.byClass, out)
	}
	return nil
}

// hexDigits returns hexadecimal digits in lower case without 0x, "" if s is something else or has more than most.
func hexDigits(s string, most int) string {
	s = strings.TrimPrefix(strings.ToLower(s), "0x")
	if len(s) > most || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}

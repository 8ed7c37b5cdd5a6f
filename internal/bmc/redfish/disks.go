package redfish

import (
	"context"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
)

type storage struct {
	Drives links
}

type drive struct {
	ID            looseString `json:"Id"`
	Name          looseString
	CapacityBytes looseNumber
	SerialNumber  looseString
	Model         looseString
	Manufacturer  looseString
	Revision      looseString
	Identifiers   looseList[identifier]
	MediaType     looseString
	Protocol      looseString
	Status        loose[status]
}

type identifier struct {
	DurableName       looseString
	DurableNameFormat looseString
}

type simpleStorage struct {
	Devices looseList[struct {
		Name          looseString
		Manufacturer  looseString
		Model         looseString
		CapacityBytes looseNumber
		Status        loose[status]
	}]
}

// readDisks sets the drives, or the devices of SimpleStorage if Storage has none.
func (in *inspection) readDisks(ctx context.Context) error {
	add := func(d bmc.Disk, st status) {
		if d.SizeBytes >= minDisk && !removable(d.Name, d.Model) && !st.absent() && len(in.inv.Disks) < maxMembers {
			in.inv.Disks = append(in.inv.Disks, d)
		}
	}
	var drives []string
	err := each(ctx, in.session, in.sys.Storage, func(st storage) { drives = append(drives, st.Drives[:min(len(st.Drives), maxMembers-len(drives))]...) })
	if err != nil {
		return err
	}
	err = eachOf(ctx, in.session, drives, func(d drive) {
		add(bmc.Disk{
			Name: firstNonBlank(d.Name.stored(), d.ID.stored()), SizeBytes: int64(d.CapacityBytes),
			Serial: d.SerialNumber.stored(), Model: d.Model.stored(), Manufacturer: d.Manufacturer.short(), Firmware: d.Revision.short(),
			WWN: d.wwn(), Media: d.media(),
		}, d.Status.v)
	})
	if err != nil || len(in.inv.Disks) > 0 {
		return err
	}
	return each(ctx, in.session, in.sys.SimpleStorage, func(st simpleStorage) {
		for _, d := range st.Devices {
			add(bmc.Disk{Name: d.Name.stored(), SizeBytes: int64(d.CapacityBytes), Model: d.Model.stored(), Manufacturer: d.Manufacturer.short()}, d.Status.v)
		}
	})
}

// minDisk is the smallest size of a disk in bytes. A virtual CD appears as a device
// of one sector, which has 2 KiB.
const minDisk = 1 << 20

// removable reports whether a device's name or model says that it is a drive for
// removable media. BMCs list their virtual drives among the system's disks.
func removable(names ...string) bool {
	for _, name := range names {
		name = strings.ToLower(name)
		for _, word := range []string{"virtual cd", "cdrom", "cd-rom", "dvd", "floppy"} {
			if strings.Contains(name, word) {
				return true
			}
		}
	}
	return false
}

func (d drive) media() string {
	switch {
	case d.Protocol == looseString(schemas.NVMeProtocol):
		return "nvme"
	case d.MediaType == looseString(schemas.SSDMediaType):
		return "ssd"
	case d.MediaType == looseString(schemas.HDDMediaType), d.MediaType == looseString(schemas.SMRMediaType):
		return "hdd"
	}
	return ""
}

// wwn returns the drive's World Wide Name as Linux shows it, "" if it has none.
func (d drive) wwn() string {
	for _, id := range d.Identifiers {
		name := hexDigits(string(id.DurableName), 32)
		if (id.DurableNameFormat == looseString(schemas.NAADurableNameFormat) || id.DurableNameFormat == looseString(schemas.EUIDurableNameFormat)) && name != "" {
			return "0x" + name
		}
	}
	return ""
}

package hardware

import (
	"slices"
	"strings"
)

// raidDrivers are the kernel's drivers of controllers that make volumes of disks (scsi_host's proc_name).
var raidDrivers = []string{"megaraid_sas", "mpt2sas", "mpt3sas", "hpsa", "smartpqi", "aacraid", "arcmsr", "3w-9xxx", "3w-sas", "ips", "pm80xx", "mpi3mr"}

// volumeMakers are what controllers call their volumes by: words in vendor or model that no disk has.
var volumeMakers = []string{
	"logical volume", "virtual disk", "virtual drive", "perc", "megaraid", "serveraid", "raid", "smart array", "lsi", "avago", "broadcom", "adaptec", "areca",
}

// mirrorCard is the model of the volumes of Dell's BOSS cards, which look like disks at a SATA port.
const mirrorCard = "DELLBOSS VD"

// RAIDVolume returns the driver of the RAID controller of which the disk is a volume; "" if it is none, also where such a controller
// passes a disk through.
func (m Machine) RAIDVolume(name string) string {
	dir := "sys/block/" + name
	host := ""
	for _, part := range strings.Split(m.link(dir), "/") {
		if strings.HasPrefix(part, "host") {
			host = part
		}
	}
	driver := m.read("sys/class/scsi_host", host, "proc_name")
	if strings.HasPrefix(m.read(dir, "device/model"), mirrorCard) {
		return "BOSS"
	}
	if host == "" || !slices.Contains(raidDrivers, driver) {
		return ""
	}
	if level := m.read(dir, "device/raid_level"); level != "" { // of hpsa and smartpqi
		if strings.EqualFold(level, "N/A") {
			return ""
		}
		return driver
	}
	called := strings.ToLower(m.read(dir, "device/vendor") + " " + m.read(dir, "device/model"))
	if slices.ContainsFunc(volumeMakers, func(word string) bool { return strings.Contains(called, word) }) {
		return driver
	}
	return ""
}

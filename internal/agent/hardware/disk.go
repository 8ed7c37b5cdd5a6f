package hardware

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/rootdevice"
)

// notDisks are the beginnings of the names of block devices that are no disks, or are made of disks: nobody puts an image on them.
// Arrays of software RAID (md) are none either; package softraid knows which of them may have an image.
var notDisks = []string{"loop", "ram", "zram", "sr", "fd", "dm-", "md", "nbd", "mtd", "rbd", "drbd"}

// Disks returns the disks in the order of their names. Read-only ones, as virtual media, are none.
func (m Machine) Disks() []agent.Disk {
	var out []agent.Disk
	for _, name := range m.list("sys/block") {
		dir := "sys/block/" + name
		size := m.number(dir, "size") * 512 // the kernel counts in sectors of 512 bytes, whatever those of the disk are
		if slices.ContainsFunc(notDisks, func(p string) bool { return strings.HasPrefix(name, p) }) ||
			size == 0 || m.read(dir, "ro") == "1" || m.read(dir, "hidden") == "1" {
			continue
		}
		out = append(out, m.disk(name, dir, size))
	}
	return out
}

func (m Machine) disk(name, dir string, size int64) agent.Disk {
	wwn, extended, extension := m.wwn(dir)
	d := agent.Disk{
		Name: agent.Text("/dev/" + name), Size: agent.Number(size), Rotational: m.read(dir, "queue/rotational") == "1",
		Model: agent.Text(spaced(m.read(dir, "device/model"))), Vendor: agent.Text(m.read(dir, "device/vendor")), Serial: agent.Text(m.serial(dir)),
		WWN: agent.Text(wwn), WWNWithExtension: agent.Text(extended), WWNVendorExtension: agent.Text(extension), ByPath: agent.Text(m.byPath(name, dir)),
		LogicalSectors: agent.Number(m.number(dir, "queue/logical_block_size")), PhysicalSectors: agent.Number(m.number(dir, "queue/physical_block_size")),
	}
	if hctl := m.list(dir, "device/scsi_device"); len(hctl) > 0 {
		d.HCTL = agent.Text(hctl[0])
	}
	return d
}

// spaced replaces the runs of spaces that SCSI fills its fields with by one.
func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// serial returns the serial number: of NVMe and virtio it is a file, of SCSI and SATA a page of vital product data (SPC, page 80h:
// four bytes of header, then the text).
func (m Machine) serial(dir string) string {
	for _, file := range []string{"device/serial", "serial"} {
		if s := m.read(dir, file); s != "" {
			return s
		}
	}
	if page := m.raw(dir + "/device/vpd_pg80"); len(page) > 4 {
		return strings.TrimSpace(strings.Trim(page[4:], "\x00"))
	}
	return ""
}

// wwn returns the world wide name as udev does (60-persistent-storage.rules): of SCSI the first 16 digits of the NAA name, the rest of
// a longer one being the vendor's extension; of NVMe the whole name.
func (m Machine) wwn(dir string) (wwn, extended, extension string) {
	if id := m.read(dir, "wwid"); id != "" {
		return id, "", ""
	}
	digits, found := strings.CutPrefix(m.read(dir, "device/wwid"), "naa.")
	if !found {
		return "", "", ""
	}
	if len(digits) <= 16 {
		return "0x" + digits, "0x" + digits, ""
	}
	return "0x" + digits[:16], "0x" + digits, "0x" + digits[16:]
}

// byPath returns the name by which udev calls the disk after its place. Without udev it is made of the device's path in /sys.
func (m Machine) byPath(name, dir string) string {
	const links = "dev/disk/by-path"
	for _, link := range m.list(links) {
		if base(m.link(links, link)) == name {
			return "/" + links + "/" + link
		}
	}
	parts := strings.Split(m.link(dir), "/")
	pci, port, scsi := "", "", ""
	for _, p := range parts {
		switch {
		case isPCI(p):
			pci = p
		case strings.HasPrefix(p, "end_device-"), strings.HasPrefix(p, "usb"):
			return "" // places of SAS and USB have long names that only udev knows
		case strings.HasPrefix(p, "ata"):
			port = m.read("sys/class/ata_port", p, "port_no")
		case strings.HasPrefix(p, "host"):
			scsi = p
		}
	}
	place := ""
	switch hctl := m.list(dir, "device/scsi_device"); {
	case pci == "":
		return ""
	case strings.HasPrefix(name, "nvme"):
		place = "-nvme-" + strconv.FormatInt(max(1, m.number(dir, "nsid")), 10)
	case port != "":
		place = "-ata-" + port
	case scsi != "" && len(hctl) > 0:
		_, rest, _ := strings.Cut(hctl[0], ":")
		place = "-scsi-0:" + rest
	}
	return "/dev/disk/by-path/pci-" + pci + place
}

// Candidates returns the disks as package rootdevice compares them. Every fact is known: one that the kernel does not tell is empty.
func (m Machine) Candidates() []rootdevice.Disk {
	links := map[string][]string{}
	for _, folder := range m.list("dev/disk") {
		for _, link := range m.list("dev/disk", folder) {
			to := base(m.link("dev/disk", folder, link))
			links[to] = append(links[to], filepath.Join("/dev/disk", folder, link))
		}
	}
	var out []rootdevice.Disk
	for _, d := range m.Disks() {
		name := strings.TrimPrefix(string(d.Name), "/dev/")
		out = append(out, rootdevice.Disk{
			Name: string(d.Name), Size: int64(d.Size), Aliases: links[name],
			Facts: map[string]string{
				"model": string(d.Model), "vendor": string(d.Vendor), "serial": string(d.Serial), "wwn": string(d.WWN),
				"wwn_with_extension": string(d.WWNWithExtension), "wwn_vendor_extension": string(d.WWNVendorExtension),
				"rotational": strconv.FormatBool(d.Rotational), "hctl": string(d.HCTL), "by_path": string(d.ByPath), "tran": m.transport(name),
			},
		})
	}
	return out
}

// transport returns how a disk is connected, by lsblk's names.
func (m Machine) transport(name string) string {
	path := m.link("sys/block", name)
	for _, t := range []struct{ part, name string }{
		{"/nvme/", "nvme"}, {"/usb", "usb"}, {"/end_device-", "sas"}, {"/ata", "sata"}, {"/virtio", "virtio"}, {"/session", "iscsi"}, {"/rport-", "fc"},
	} {
		if strings.Contains(path, t.part) {
			return t.name
		}
	}
	return ""
}

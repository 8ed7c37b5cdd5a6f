package ramdisk

import "fmt"

// device is a device that servers have, as the PCI bus tells of it. The ramdisk has the modules for each of them.
type device struct {
	vendor, id uint16
	class      uint32 // base class, sub-class and programming interface, such as 0x020000 for Ethernet
	subsystem  [2]uint16
	module     string // which drives it
	name       string
}

// Classes of PCI devices (the PCI Code and ID Assignment Specification).
const (
	ethernet = 0x020000
	scsi     = 0x010000
	ide      = 0x010180
	raid     = 0x010400
	ahci     = 0x010601
	sas      = 0x010700
	nvme     = 0x010802
	fibre    = 0x0c0400
	xhci     = 0x0c0330
	ehci     = 0x0c0320
)

// modalias is the device's name for the kernel (file2alias.c of Linux).
func (d device) modalias() string {
	return fmt.Sprintf("pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X",
		d.vendor, d.id, d.subsystem[0], d.subsystem[1], d.class>>16&0xff, d.class>>8&0xff, d.class&0xff)
}

// devices are network cards and disk controllers of servers. The ids are those of the PCI ID Repository.
var devices = []device{
	{vendor: 0x8086, id: 0x100e, class: ethernet, module: "e1000", name: "Intel 82540EM"},
	{vendor: 0x8086, id: 0x10d3, class: ethernet, module: "e1000e", name: "Intel 82574L"},
	{vendor: 0x8086, id: 0x15b7, class: ethernet, module: "e1000e", name: "Intel I219-LM"},
	{vendor: 0x8086, id: 0x10c9, class: ethernet, module: "igb", name: "Intel 82576"},
	{vendor: 0x8086, id: 0x1521, class: ethernet, module: "igb", name: "Intel I350"},
	{vendor: 0x8086, id: 0x1533, class: ethernet, module: "igb", name: "Intel I210"},
	{vendor: 0x8086, id: 0x15f2, class: ethernet, module: "igc", name: "Intel I225-LM"},
	{vendor: 0x8086, id: 0x10fb, class: ethernet, module: "ixgbe", name: "Intel 82599ES"},
	{vendor: 0x8086, id: 0x1528, class: ethernet, module: "ixgbe", name: "Intel X540-AT2"},
	{vendor: 0x8086, id: 0x1563, class: ethernet, module: "ixgbe", name: "Intel X550T"},
	{vendor: 0x8086, id: 0x1572, class: ethernet, module: "i40e", name: "Intel X710"},
	{vendor: 0x8086, id: 0x1583, class: ethernet, module: "i40e", name: "Intel XL710"},
	{vendor: 0x8086, id: 0x158b, class: ethernet, module: "i40e", name: "Intel XXV710"},
	{vendor: 0x8086, id: 0x37d2, class: ethernet, module: "i40e", name: "Intel X722"},
	{vendor: 0x8086, id: 0x1592, class: ethernet, module: "ice", name: "Intel E810-C QSFP"},
	{vendor: 0x8086, id: 0x1593, class: ethernet, module: "ice", name: "Intel E810-C SFP"},
	{vendor: 0x8086, id: 0x159b, class: ethernet, module: "ice", name: "Intel E810-XXV"},
	{vendor: 0x8086, id: 0x1889, class: ethernet, module: "iavf", name: "Intel Ethernet virtual function"},
	{vendor: 0x15b3, id: 0x1003, class: ethernet, module: "mlx4_core", name: "Mellanox ConnectX-3"},
	{vendor: 0x15b3, id: 0x1013, class: ethernet, module: "mlx5_core", name: "Mellanox ConnectX-4"},
	{vendor: 0x15b3, id: 0x1015, class: ethernet, module: "mlx5_core", name: "Mellanox ConnectX-4 Lx"},
	{vendor: 0x15b3, id: 0x1017, class: ethernet, module: "mlx5_core", name: "Mellanox ConnectX-5"},
	{vendor: 0x15b3, id: 0x101b, class: ethernet, module: "mlx5_core", name: "Mellanox ConnectX-6"},
	{vendor: 0x15b3, id: 0x101d, class: ethernet, module: "mlx5_core", name: "Mellanox ConnectX-6 Dx"},
	{vendor: 0x15b3, id: 0x101f, class: ethernet, module: "mlx5_core", name: "Mellanox ConnectX-6 Lx"},
	{vendor: 0x15b3, id: 0x1021, class: ethernet, module: "mlx5_core", name: "Mellanox ConnectX-7"},
	{vendor: 0x15b3, id: 0xa2d6, class: ethernet, module: "mlx5_core", name: "Mellanox BlueField-2"},
	{vendor: 0x14e4, id: 0x165f, class: ethernet, module: "tg3", name: "Broadcom BCM5720"},
	{vendor: 0x14e4, id: 0x1657, class: ethernet, module: "tg3", name: "Broadcom BCM5719"},
	{vendor: 0x14e4, id: 0x1639, class: ethernet, module: "bnx2", name: "Broadcom BCM5709"},
	{vendor: 0x14e4, id: 0x168e, class: ethernet, module: "bnx2x", name: "Broadcom BCM57810"},
	{vendor: 0x14e4, id: 0x16a1, class: ethernet, module: "bnx2x", name: "Broadcom BCM57840"},
	{vendor: 0x14e4, id: 0x16d7, class: ethernet, module: "bnxt_en", name: "Broadcom BCM57414"},
	{vendor: 0x14e4, id: 0x16d8, class: ethernet, module: "bnxt_en", name: "Broadcom BCM57416"},
	{vendor: 0x14e4, id: 0x1750, class: ethernet, module: "bnxt_en", name: "Broadcom BCM57508"},
	{vendor: 0x1077, id: 0x1656, class: ethernet, module: "qede", name: "QLogic FastLinQ QL45000 25GbE"},
	{vendor: 0x1077, id: 0x8070, class: ethernet, module: "qede", name: "QLogic FastLinQ QL41000"},
	{vendor: 0x10df, id: 0x0720, class: ethernet, module: "be2net", name: "Emulex OneConnect (Skyhawk)"},
	{vendor: 0x19a2, id: 0x0710, class: ethernet, module: "be2net", name: "Emulex OneConnect (Lancer)"},
	{vendor: 0x1425, id: 0x5401, class: ethernet, module: "cxgb4", name: "Chelsio T520-CR"},
	{vendor: 0x1924, id: 0x0a03, class: ethernet, module: "sfc", name: "Solarflare SFC9220"},
	{vendor: 0x1137, id: 0x0043, class: ethernet, module: "enic", name: "Cisco VIC"},
	{vendor: 0x1d6a, id: 0x07b1, class: ethernet, module: "atlantic", name: "Aquantia AQC107"},
	{vendor: 0x10ec, id: 0x8168, class: ethernet, module: "r8169", name: "Realtek RTL8168"},
	{vendor: 0x1d0f, id: 0xec20, class: ethernet, module: "ena", name: "Amazon ENA"},
	{vendor: 0x1ae0, id: 0x0042, class: ethernet, module: "gve", name: "Google gVNIC"},
	{vendor: 0x15ad, id: 0x07b0, class: ethernet, module: "vmxnet3", name: "VMware VMXNET3"},
	{vendor: 0x1af4, id: 0x1041, class: ethernet, module: "virtio_pci", name: "virtio network card"},

	{vendor: 0x144d, id: 0xa80a, class: nvme, module: "nvme", name: "Samsung PM9A3"},
	{vendor: 0x8086, id: 0x0a54, class: nvme, module: "nvme", name: "Intel P4500"},
	{vendor: 0x8086, id: 0x201d, class: raid, module: "vmd", name: "Intel Volume Management Device"},
	{vendor: 0x8086, id: 0x28c0, class: raid, module: "vmd", name: "Intel Volume Management Device (Ice Lake)"},
	{vendor: 0x8086, id: 0xa182, class: ahci, module: "ahci", name: "Intel C620 SATA"},
	{vendor: 0x1022, id: 0x7901, class: ahci, module: "ahci", name: "AMD FCH SATA"},
	{vendor: 0x1b4b, id: 0x9230, class: ahci, module: "ahci", name: "Marvell 88SE9230 (Dell BOSS-S1)"},
	{vendor: 0x8086, id: 0x7010, class: ide, module: "ata_piix", name: "Intel PIIX3 IDE"},
	{vendor: 0x8086, id: 0x1d6b, class: sas, module: "isci", name: "Intel C602 SAS"},
	{vendor: 0x1000, id: 0x005b, class: raid, module: "megaraid_sas", name: "LSI MegaRAID SAS 2208 (PERC H710)"},
	{vendor: 0x1000, id: 0x005d, class: raid, module: "megaraid_sas", name: "LSI MegaRAID SAS-3 3108 (PERC H730)"},
	{vendor: 0x1000, id: 0x0014, class: raid, module: "megaraid_sas", name: "Broadcom MegaRAID SAS3516 (PERC H740P)"},
	{vendor: 0x1000, id: 0x10e2, class: raid, module: "megaraid_sas", name: "Broadcom MegaRAID SAS39xx (PERC H755)"},
	{vendor: 0x1000, id: 0x0087, class: sas, module: "mpt3sas", name: "LSI SAS2308"},
	{vendor: 0x1000, id: 0x0097, class: sas, module: "mpt3sas", name: "LSI SAS3008 (HBA330)"},
	{vendor: 0x1000, id: 0x00ac, class: sas, module: "mpt3sas", name: "Broadcom SAS3416"},
	{vendor: 0x1000, id: 0x00e6, class: sas, module: "mpt3sas", name: "Broadcom SAS3816 (HBA355)"},
	{vendor: 0x1000, id: 0x00a5, class: raid, module: "mpi3mr", name: "Broadcom SAS4116 (PERC H965)"},
	{vendor: 0x1000, id: 0x0030, class: scsi, module: "mptspi", name: "LSI 53c1030"},
	{vendor: 0x9005, id: 0x028f, class: raid, subsystem: [2]uint16{0x103c, 0x0600}, module: "smartpqi", name: "HPE Smart Array P408i"},
	{vendor: 0x9005, id: 0x028d, class: raid, module: "aacraid", name: "Adaptec Series 8"},
	{vendor: 0x103c, id: 0x323b, class: raid, subsystem: [2]uint16{0x103c, 0x3354}, module: "hpsa", name: "HP Smart Array P420i"},
	{vendor: 0x1077, id: 0x2532, class: fibre, module: "qla2xxx", name: "QLogic ISP2532 8Gb Fibre Channel"},
	{vendor: 0x10df, id: 0xe300, class: fibre, module: "lpfc", name: "Emulex LPe31000/LPe32000 Fibre Channel"},
	{vendor: 0x15ad, id: 0x07c0, class: scsi, module: "vmw_pvscsi", name: "VMware PVSCSI"},
	{vendor: 0x1af4, id: 0x1042, class: scsi, module: "virtio_pci", name: "virtio disk"},
	{vendor: 0x8086, id: 0xa12f, class: xhci, module: "xhci_pci", name: "Intel USB 3 controller, for keyboards and virtual media"},
	{vendor: 0x8086, id: 0x1c26, class: ehci, module: "ehci_pci", name: "Intel USB 2 controller, for keyboards and virtual media"},
}

// always are modules that no device of the table asks for: what sits on a bus below them, file systems of media, and what
// the agent needs to see a server's disks and its BMC.
var always = []string{
	// Disks, CDs and keyboards, also those that a BMC simulates on USB.
	"sd_mod", "sr_mod", "sg", "ses", "usb_storage", "uas", "usbhid", "hid_generic", "uhci_hcd", "ohci_pci", "ohci_hcd", "atkbd",
	// A CD that UEFI has loaded by HTTP is a disk in memory (UEFI 2.10, section 24.7.3.1; NFIT of ACPI).
	"nfit", "nd_pmem",
	// A network card on USB is the way from the server to many a BMC.
	"cdc_ether", "cdc_ncm", "rndis_host",
	// What virtual machines have behind virtio_pci.
	"virtio_net", "virtio_blk", "virtio_scsi", "virtio_rng", "virtio_console", "virtio_balloon",
	// The port of a ConnectX-3.
	"mlx4_en",
	// File systems of media and images, with the names in them.
	"isofs", "udf", "vfat", "ext4", "xfs", "squashfs", "overlay", "loop", "nls_cp437", "nls_ascii", "nls_iso8859-1", "nls_utf8",
	// RAID and volumes of the kernel, which may lie on disks.
	"md_mod", "raid0", "raid1", "raid10", "raid456", "dm_mod",
	// The way to the BMC, and what firmware keeps.
	"ipmi_si", "ipmi_devintf", "ipmi_ssif", "acpi_ipmi", "efi_pstore", "efivarfs", "dmi_sysfs", "tpm_tis", "tpm_crb",
	// What the host hands to a virtual machine of QEMU.
	"qemu_fw_cfg",
	// Networks behind a bond or in a VLAN, and the neighbours that tell of themselves.
	"bonding", "8021q", "af_packet",
}

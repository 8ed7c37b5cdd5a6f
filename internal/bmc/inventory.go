package bmc

// Inventory is what out-of-band inspection finds. A field that the BMC does not report is
// its zero value.
type Inventory struct {
	CPUs         int // logical processors if the BMC reports them, else cores
	CPUModel     string
	Architecture string // x86_64, aarch64, ...
	MemoryMiB    int64
	Processors   []Processor // one a socket
	DIMMs        []DIMM
	Disks        []Disk
	NICs         []NIC
	GPUs         []GPU
	PCIDevices   []PCIDevice
	Firmware     []Firmware // what is installed, in the BMC's order
	TPM          *TPM       // nil = the BMC reports none

	Manufacturer string
	Model        string
	PartNumber   string
	SKU          string
	Serial       string
	AssetTag     string
	SystemUUID   string
	BIOSVersion  string
	BootMode     Mode
	SecureBoot   *bool // whether it is enabled; nil = the BMC does not say

	// Incomplete are the lists that are not whole, because the BMC refused a part of them or has too many.
	Incomplete []Part
}

// Part is a list of an Inventory.
type Part string

// The parts that can be unread. An inspection without one of the others fails.
const (
	PartMemory     Part = "memory"
	PartGPUs       Part = "gpus"
	PartPCI        Part = "pci_devices"
	PartFirmware   Part = "firmware"
	PartNetwork    Part = "network" // which NIC can boot, and what LLDP tells
	PartSecureBoot Part = "secure_boot"
)

// Processor is a CPU in its socket.
type Processor struct {
	Socket  string
	Model   string
	Serial  string
	Cores   int
	Threads int
	MHz     int // the highest frequency
}

// DIMM is a memory module.
type DIMM struct {
	Slot         string
	MiB          int64
	Type         string // DDR5, ...
	MHz          int    // as it runs
	Manufacturer string
	PartNumber   string
	Serial       string
}

// Disk is a drive or volume as the BMC lists it.
type Disk struct {
	Name         string
	SizeBytes    int64
	Serial       string
	Model        string
	Manufacturer string
	Firmware     string
	WWN          string // with 0x, as Linux shows it
	Media        string // ssd, hdd, nvme or ""
}

// NIC is an Ethernet interface as the BMC lists it.
type NIC struct {
	Name        string
	MAC         string // lower case, colons; never empty
	Enabled     bool
	LinkUp      bool
	Mbps        int64
	NetworkBoot NetworkBoot
	LLDP        *LLDP // nil = the BMC has received none, or does not report it
}

// NetworkBoot says whether a server can boot from a NIC.
type NetworkBoot string

// Values of NetworkBoot.
const (
	NetworkBootUnknown NetworkBoot = "" // the BMC does not say
	NetworkBootYes     NetworkBoot = "yes"
	NetworkBootNo      NetworkBoot = "no"
)

// LLDP is what the switch at the other end of the cable tells (IEEE 802.1AB).
type LLDP struct {
	ChassisID  string
	PortID     string
	SystemName string
	VLAN       int // the VLAN for management; 0 = not told
}

// GPU is a graphics processor or another accelerator.
type GPU struct {
	Name         string
	Model        string
	Manufacturer string
	Serial       string
	Firmware     string
	MemoryMiB    int64
}

// PCIDevice is a PCI device. Its numbers are hexadecimal digits in lower case without 0x, as lspci shows them; they are those of its
// first function.
type PCIDevice struct {
	Name              string
	Model             string
	Manufacturer      string
	Serial            string
	Firmware          string
	VendorID          string // 4 digits
	DeviceID          string // 4 digits
	SubsystemVendorID string // 4 digits
	SubsystemID       string // 4 digits
	Class             string // 6 digits
	Revision          string // 2 digits
}

// Firmware is the version of one firmware.
type Firmware struct {
	Name    string
	Version string
}

// TPM is a trusted platform module.
type TPM struct {
	Version  string // TPM2_0, TPM1_2, ..., by Redfish's names
	Firmware string
	Enabled  bool
}

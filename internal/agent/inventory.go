package agent

import "encoding/json"

// Inventory is the hardware that the agent finds (poll.get_hardware_info, and the
// "inventory" of continue_inspection). Every part may be missing.
type Inventory struct {
	Interfaces   []Interface  `json:"interfaces"`
	CPU          CPU          `json:"cpu"`
	Memory       Memory       `json:"memory"`
	Disks        []Disk       `json:"disks"`
	Boot         BootInfo     `json:"boot"`
	BMCAddress   Text         `json:"bmc_address"`
	BMCV6Address Text         `json:"bmc_v6address"`
	BMCMAC       Text         `json:"bmc_mac,omitempty"`
	SystemVendor SystemVendor `json:"system_vendor"`
	Hostname     Text         `json:"hostname"`
}

// Interface is a network interface.
type Interface struct {
	Name        Text   `json:"name"`
	MAC         Text   `json:"mac_address"`
	IPv4        Text   `json:"ipv4_address"`
	IPv6        Text   `json:"ipv6_address"`
	HasCarrier  bool   `json:"has_carrier"`
	Vendor      Text   `json:"vendor"`
	Product     Text   `json:"product"`
	ClientID    Text   `json:"client_id"` // InfiniBand only
	BIOSDevName Text   `json:"biosdevname"`
	SpeedMbps   Number `json:"speed_mbps"`
	PCIAddress  Text   `json:"pci_address,omitempty"`
	Driver      Text   `json:"driver,omitempty"`
	// LLDP is a list of [type, hex value] pairs, or null if no packet was received.
	LLDP json.RawMessage `json:"lldp,omitempty"`
}

// CPU describes all processors together.
type CPU struct {
	ModelName    Text     `json:"model_name"`
	Frequency    Text     `json:"frequency"` // MHz, "2400.0000"
	Count        Number   `json:"count"`     // logical processors
	Architecture Text     `json:"architecture"`
	Flags        []string `json:"flags"`
	SocketCount  Number   `json:"socket_count"`
}

// Memory is the size of the main memory.
type Memory struct {
	Total      Number `json:"total"`       // bytes that the kernel has
	PhysicalMB Number `json:"physical_mb"` // size of the memory modules; 0 = unknown
}

// Disk is a block device.
type Disk struct {
	Name               Text   `json:"name"` // "/dev/sda"
	Model              Text   `json:"model"`
	Size               Number `json:"size"` // bytes
	Rotational         bool   `json:"rotational"`
	WWN                Text   `json:"wwn"`
	Serial             Text   `json:"serial"`
	Vendor             Text   `json:"vendor"`
	WWNWithExtension   Text   `json:"wwn_with_extension"`
	WWNVendorExtension Text   `json:"wwn_vendor_extension"`
	HCTL               Text   `json:"hctl"`
	ByPath             Text   `json:"by_path"`
	LogicalSectors     Number `json:"logical_sectors,omitempty"`
	PhysicalSectors    Number `json:"physical_sectors,omitempty"`
}

// PCIDevice is a device in the list pci_devices, which is beside the inventory (ironic-python-agent, inspector.py). Its numbers are
// hexadecimal digits.
type PCIDevice struct {
	Vendor   Text `json:"vendor_id"`
	Product  Text `json:"product_id"`
	Class    Text `json:"class"`
	Revision Text `json:"revision"`
	Bus      Text `json:"bus"` // "0000:17:00.0"
}

// BootInfo is how the ramdisk was booted.
type BootInfo struct {
	Mode         Text `json:"current_boot_mode"` // "uefi" or "bios"
	PXEInterface Text `json:"pxe_interface"`     // MAC; empty with virtual media
}

// SystemVendor is DMI's description of the server.
type SystemVendor struct {
	ProductName  Text     `json:"product_name"`
	SerialNumber Text     `json:"serial_number"`
	Manufacturer Text     `json:"manufacturer"`
	Firmware     Firmware `json:"firmware"`
}

// Firmware is the version of the machine's BIOS or UEFI.
type Firmware struct {
	Vendor    Text `json:"vendor"`
	Version   Text `json:"version"`
	BuildDate Text `json:"build_date"`
}

// MACs returns the addresses of all interfaces that have one. The agent sends them in its
// lookup.
func (i *Inventory) MACs() []string {
	var out []string
	for _, n := range i.Interfaces {
		if n.MAC != "" {
			out = append(out, string(n.MAC))
		}
	}
	return out
}

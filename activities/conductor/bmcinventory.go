package conductor

import (
	"fmt"

	"go.temper.dev/temper/internal/bmc"
)

// inventoryOf returns the BMC's inventory in the format of the agent's, which clients of
// /v1/nodes/X/inventory expect. What the agent does not tell is added: the processors, the memory modules, the GPUs, the PCI devices,
// the versions of firmware, the TPM, and the parts that could not be read.
func inventoryOf(inv bmc.Inventory) map[string]any {
	out := map[string]any{
		"cpu": map[string]any{
			"count": inv.CPUs, "model_name": inv.CPUModel, "architecture": inv.Architecture, "socket_count": len(inv.Processors),
		},
		"processors": listOf(inv.Processors, func(p bmc.Processor) map[string]any {
			return map[string]any{
				"socket": p.Socket, "model_name": p.Model, "serial": p.Serial, "cores": p.Cores, "threads": p.Threads, "max_mhz": p.MHz,
			}
		}),
		"memory": map[string]any{"physical_mb": inv.MemoryMiB, "modules": listOf(inv.DIMMs, moduleOf)},
		"disks":  listOf(inv.Disks, diskOf), "interfaces": listOf(inv.NICs, interfaceOf),
		"gpus": listOf(inv.GPUs, gpuOf), "pci_devices": listOf(inv.PCIDevices, pciDeviceOf),
		"firmware": listOf(inv.Firmware, func(f bmc.Firmware) map[string]any {
			return map[string]any{"name": f.Name, "version": f.Version}
		}),
		"boot": map[string]any{"current_boot_mode": string(inv.BootMode), "secure_boot": inv.SecureBoot},
		"system_vendor": map[string]any{
			"manufacturer": inv.Manufacturer, "product_name": inv.Model, "serial_number": inv.Serial, "part_number": inv.PartNumber,
			"sku": inv.SKU, "asset_tag": inv.AssetTag, "uuid": inv.SystemUUID, "firmware": map[string]any{"version": inv.BIOSVersion},
		},
	}
	if len(inv.Incomplete) > 0 {
		out["incomplete_parts"] = inv.Incomplete
	}
	if len(inv.Processors) > 0 && inv.Processors[0].MHz > 0 {
		out["cpu"].(map[string]any)["frequency"] = fmt.Sprintf("%d.0000", inv.Processors[0].MHz)
	}
	if inv.TPM != nil {
		out["tpm"] = map[string]any{"version": inv.TPM.Version, "firmware": inv.TPM.Firmware, "enabled": inv.TPM.Enabled}
	}
	return out
}

// listOf returns the elements as clients get them. It is never nil, so that it is a list in JSON, too.
func listOf[T any](of []T, one func(T) map[string]any) []map[string]any {
	out := make([]map[string]any, len(of))
	for i, v := range of {
		out[i] = one(v)
	}
	return out
}

func moduleOf(d bmc.DIMM) map[string]any {
	return map[string]any{
		"slot": d.Slot, "size_mb": d.MiB, "type": d.Type, "speed_mhz": d.MHz, "manufacturer": d.Manufacturer,
		"part_number": d.PartNumber, "serial": d.Serial,
	}
}

func diskOf(d bmc.Disk) map[string]any {
	return map[string]any{
		"name": d.Name, "size": d.SizeBytes, "serial": d.Serial, "model": d.Model, "vendor": d.Manufacturer, "wwn": d.WWN,
		"rotational": d.Media == "hdd", "media": d.Media, "firmware": d.Firmware,
	}
}

func interfaceOf(n bmc.NIC) map[string]any {
	out := map[string]any{"name": n.Name, "mac_address": n.MAC, "has_carrier": n.LinkUp, "enabled": n.Enabled, "network_boot": string(n.NetworkBoot)}
	if n.Mbps > 0 {
		out["speed_mbps"] = n.Mbps
	}
	return out
}

func gpuOf(g bmc.GPU) map[string]any {
	return map[string]any{
		"name": g.Name, "model": g.Model, "manufacturer": g.Manufacturer, "serial": g.Serial, "firmware": g.Firmware, "memory_mb": g.MemoryMiB,
	}
}

// pciDeviceOf has the names of the agent's collector pci-devices for the numbers.
func pciDeviceOf(d bmc.PCIDevice) map[string]any {
	return map[string]any{
		"vendor_id": d.VendorID, "product_id": d.DeviceID, "subsystem_vendor_id": d.SubsystemVendorID, "subsystem_id": d.SubsystemID,
		"class": d.Class, "revision": d.Revision, "name": d.Name, "model": d.Model, "manufacturer": d.Manufacturer, "serial": d.Serial,
		"firmware": d.Firmware,
	}
}

// pluginDataOf has what interfaces receive by LLDP in the format of Ironic's hook parse-lldp.
func pluginDataOf(inv bmc.Inventory) map[string]any {
	parsed := map[string]any{}
	for _, n := range inv.NICs {
		if n.LLDP == nil {
			continue
		}
		one := map[string]any{"switch_chassis_id": n.LLDP.ChassisID, "switch_port_id": n.LLDP.PortID}
		if n.LLDP.SystemName != "" {
			one["switch_system_name"] = n.LLDP.SystemName
		}
		if n.LLDP.VLAN != 0 {
			one["switch_port_management_vlanid"] = n.LLDP.VLAN
		}
		parsed[n.Name] = one
	}
	if len(parsed) == 0 {
		return nil
	}
	return map[string]any{"parsed_lldp": parsed}
}

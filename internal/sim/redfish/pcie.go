package redfish

import (
	"strconv"

	"go.temper.dev/temper/internal/sim/machine"
)

const pcie = chassis + "/PCIeDevices"

// pcieRoutes has the PCI devices, which are the network adapter and the GPUs.
func pcieRoutes() map[string]resource {
	return map[string]resource{
		pcie: {get: func(c *call) (m, error) {
			return numbered(pcie, "PCIeDevice", "PCIe Devices", len(pcieDevices(c.s))), nil
		}},
		pcie + "/{n}": {get: getPCIeDevice},
		pcie + "/{n}/PCIeFunctions": {get: func(c *call) (m, error) {
			if _, err := nth(c, len(pcieDevices(c.s))); err != nil {
				return nil, err
			}
			return numbered(c.URL.Path, "PCIeFunction", "PCIe Functions", 1), nil
		}},
		pcie + "/{n}/PCIeFunctions/1": {get: getPCIeFunction},
	}
}

// pcieDevice is a PCI device of a server.
type pcieDevice struct {
	name, model, serial, firmware          string
	vendor, device, subsystem, class, kind string
}

func pcieDevices(s *machine.Server) []pcieDevice {
	out := []pcieDevice{{
		name: "Network Adapter", model: "SIM-NIC-2", serial: "NIC" + s.Serial, firmware: "22.31.6",
		vendor: "0x8086", device: "0x1592", subsystem: "0x0002", class: "0x020000", kind: "NetworkController",
	}}
	for i, g := range s.GPUs {
		out = append(out, pcieDevice{
			name: "GPU " + strconv.Itoa(i+1), model: g.Model, serial: g.Serial, firmware: g.Firmware,
			vendor: "0x10de", device: "0x2330", subsystem: "0x16c1", class: "0x030200", kind: "DisplayController",
		})
	}
	return out
}

func getPCIeDevice(c *call) (m, error) {
	all := pcieDevices(c.s)
	i, err := nth(c, len(all))
	if err != nil {
		return nil, err
	}
	d := all[i]
	return m{
		"@odata.type": "#PCIeDevice.v1_13_0.PCIeDevice", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1), "Name": d.name, "DeviceType": "SingleFunction",
		"Manufacturer": c.s.Manufacturer, "Model": d.model, "SerialNumber": d.serial, "FirmwareVersion": d.firmware,
		"PCIeFunctions": ref(c.URL.Path + "/PCIeFunctions"), "Status": enabled,
	}, nil
}

func getPCIeFunction(c *call) (m, error) {
	all := pcieDevices(c.s)
	i, err := nth(c, len(all))
	if err != nil {
		return nil, err
	}
	d := all[i]
	return m{
		"@odata.type": "#PCIeFunction.v1_5_0.PCIeFunction", "@odata.id": c.URL.Path, "Id": "1", "Name": "Function 1 of " + d.name, "FunctionId": 0,
		"DeviceClass": d.kind, "ClassCode": d.class, "VendorId": d.vendor, "DeviceId": d.device, "SubsystemVendorId": d.vendor,
		"SubsystemId": d.subsystem, "RevisionId": "0x02", "Status": enabled,
	}, nil
}

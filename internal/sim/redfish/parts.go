package redfish

import (
	"net/http"
	"strconv"

	"go.temper.dev/temper/internal/sim/machine"
)

// partRoutes has the parts of the system that are read-only.
func partRoutes() map[string]resource {
	return map[string]resource{
		system + "/Processors": {get: func(c *call) (m, error) {
			return numbered(system+"/Processors", "Processor", "Processors", len(c.s.CPUs)+c.p.gpus(c.s)), nil
		}},
		system + "/Processors/{n}": {get: getProcessor},
		system + "/Memory": {get: func(c *call) (m, error) {
			return numbered(system+"/Memory", "Memory", "Memory Modules", len(c.s.DIMMs)), nil
		}},
		system + "/Memory/{n}": {get: getDIMM},
		system + "/EthernetInterfaces": {get: func(c *call) (m, error) {
			return numbered(system+"/EthernetInterfaces", "EthernetInterface", "Ethernet Interfaces", len(c.s.NICs)), nil
		}},
		system + "/EthernetInterfaces/{n}": {get: getNIC},
		root + "/Chassis": {get: func(*call) (m, error) {
			return collection(root+"/Chassis", "Chassis", "Chassis Collection", chassis), nil
		}},
		chassis: {get: getChassis, patch: patchChassis},
	}
}

// numbered returns a collection whose members are 1, 2, ...
func numbered(path, of, name string, n int) m {
	members := make([]string, n)
	for i := range members {
		members[i] = path + "/" + strconv.Itoa(i+1)
	}
	return collection(path, of, name, members...)
}

// nth returns the index, below n, of the member that the path names.
func nth(c *call, n int) (int, error) {
	i, err := strconv.Atoi(c.PathValue("n"))
	if err != nil || i < 1 || i > n {
		return 0, missing(c)
	}
	return i - 1, nil
}

// gpus returns how many GPUs are among the processors of the system.
func (p *Persona) gpus(s *machine.Server) int {
	if p.gpuBoard {
		return 0
	}
	return len(s.GPUs)
}

func getProcessor(c *call) (m, error) {
	i, err := nth(c, len(c.s.CPUs)+c.p.gpus(c.s))
	if err != nil {
		return nil, err
	}
	if n := len(c.s.CPUs); i >= n {
		return gpu(c, strconv.Itoa(i+1), c.s.GPUs[i-n]), nil
	}
	p := c.s.CPUs[i]
	return m{
		"@odata.type": "#Processor.v1_18_0.Processor", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1),
		"Name": "Processor " + strconv.Itoa(i+1), "Socket": "CPU" + strconv.Itoa(i+1), "ProcessorType": "CPU",
		"ProcessorArchitecture": "x86", "InstructionSet": "x86-64", "Manufacturer": c.s.Manufacturer, "Model": p.Model,
		"MaxSpeedMHz": p.MHz, "TotalCores": p.Cores, "TotalThreads": p.Threads, "Status": enabled,
	}, nil
}

func gpu(c *call, id string, g machine.GPU) m {
	return m{
		"@odata.type": "#Processor.v1_18_0.Processor", "@odata.id": c.URL.Path, "Id": id, "Name": "GPU " + id,
		"ProcessorType": "GPU", "Manufacturer": c.s.Manufacturer, "Model": g.Model, "SerialNumber": g.Serial, "FirmwareVersion": g.Firmware,
		"MemorySummary": m{"TotalMemorySizeMiB": g.MiB}, "Status": enabled,
	}
}

func getDIMM(c *call) (m, error) {
	i, err := nth(c, len(c.s.DIMMs))
	if err != nil {
		return nil, err
	}
	d := c.s.DIMMs[i]
	return m{
		"@odata.type": "#Memory.v1_18_0.Memory", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1), "Name": d.Slot,
		"MemoryDeviceType": "DDR5", "MemoryType": "DRAM", "CapacityMiB": d.MiB, "OperatingSpeedMhz": 4800,
		"DeviceLocator": d.Slot, "SerialNumber": d.Serial, "PartNumber": "SIM-DDR5-" + strconv.FormatInt(d.MiB>>10, 10), "Manufacturer": c.s.Manufacturer, "Status": enabled,
	}, nil
}

func getNIC(c *call) (m, error) {
	i, err := nth(c, len(c.s.NICs))
	if err != nil {
		return nil, err
	}
	n := c.s.NICs[i]
	return m{
		"@odata.type": "#EthernetInterface.v1_11_0.EthernetInterface", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1),
		"Name": n.Name, "MACAddress": n.MAC, "PermanentMACAddress": n.MAC, "InterfaceEnabled": true, "LinkStatus": "LinkUp",
		"SpeedMbps": n.Mbps, "FullDuplex": true, "Status": enabled,
	}, nil
}

func getChassis(c *call) (m, error) {
	return m{
		"@odata.type": "#Chassis.v1_23_0.Chassis", "@odata.id": chassis, "Id": "1", "Name": "Chassis of " + c.s.Name,
		"PCIeDevices": ref(chassis + "/PCIeDevices"), "NetworkAdapters": ref(chassis + "/NetworkAdapters"),
		"ChassisType": "RackMount", "Manufacturer": c.s.Manufacturer, "Model": c.s.Model, "SerialNumber": c.s.Serial,
		"PowerState": c.s.PowerState(), "IndicatorLED": c.s.Settings().LED, "Status": enabled,
		"Links": m{"ComputerSystems": refs(system), "ManagedBy": refs(manager)},
	}, nil
}

// patchChassis switches the identification light, which the chassis shares with
// its system.
func patchChassis(c *call, body m) error {
	led := ""
	for k, v := range body {
		if k != "IndicatorLED" {
			return unwritable(c, getChassis, k)
		}
		if err := oneOf(&led, k, v, machine.LEDs); err != nil {
			return err
		}
	}
	if led != "" {
		c.s.SetLED(led)
	}
	return nil
}

// unwritable returns the error for a property that can't be changed: PropertyNotWritable if
// the resource has it, else PropertyUnknown.
func unwritable(c *call, get func(*call) (m, error), name string) error {
	if have, _ := get(c); have[name] != nil {
		return problem(http.StatusBadRequest, "PropertyNotWritable", name)
	}
	return problem(http.StatusBadRequest, "PropertyUnknown", name)
}

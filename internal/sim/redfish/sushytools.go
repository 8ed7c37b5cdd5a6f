package redfish

import "go.temper.dev/temper/internal/sim/machine"

var sushyTools = Persona{
	Name: "sushy-tools", sensors: oldModel, About: "a virtual machine behind OpenStack's sushy-tools",
	Parts: []Part{
		{"the override is always Continuous, and can't be disabled", Reported, "sushy-tools, emulator/main.py"},
		{"paths (a uuid instead of 1)", Reported, "sushy-tools, emulator/main.py"},
		{"no memory modules, network adapters, PCI devices, TPM or versions of firmware", Reported, "sushy-tools, templates"},
		{"the number of cores is a string", Reported, "sushy-tools, templates"},
		{"no vendor, no allowed values of the reset's types but the usual ones", Guessed, ""},
	},
	Make: machine.Make{Manufacturer: "Sushy Emulator", Model: "libvirt", BIOSVersion: "1.0", BMCVersion: "1.00"},
	moves: []move{
		{system, root + "/Systems/c7a5fdbd-cdaf-9455-926a-d65c16db1809"},
		{manager, root + "/Managers/c7a5fdbd-cdaf-9455-926a-d65c16db1809"},
	},
	registry: "Base.1.0", continuous: true,
	change: func(r map[string]resource) {
		withoutAdapters(r)
		withoutBootOptions(r)
		r[root] = r[root].edited(func(_ *call, body m) { delete(body, "UpdateService") })
		r[chassis] = r[chassis].edited(func(_ *call, body m) { delete(body, "PCIeDevices") })
		r[system] = r[system].edited(func(_ *call, body m) {
			for _, name := range []string{"Memory", "TrustedModules", "PartNumber", "AssetTag", "SKU"} {
				delete(body, name)
			}
		})
		r[root] = r[root].edited(func(_ *call, body m) {
			delete(body, "Vendor")
			delete(body, "Product")
		})
		r[system] = r[system].edited(func(_ *call, body m) {
			body["ProcessorSummary"] = m{"Count": 2, "ProcessorArchitecture": "x86", "CoreCount": "8", "LogicalProcessorCount": "16"}
		})
	},
}

package redfish

import (
	"net/http"
	"strconv"

	"go.temper.dev/temper/internal/sim/machine"
)

var openbmc = Persona{
	Name: "openbmc", logs: openbmcLogs, events: streams, About: "a server with OpenBMC, as Cisco's UCS C845A",
	Parts: []Part{
		{"paths (system, bmc, chassis)", Reported, "openbmc/bmcweb, redfish-core"},
		{"the service root names no vendor", Guessed, ""},
		{"slots of virtual media without InsertMedia", Reported, "ironic release note cisco-c845a-vmedia-fix"},
		{"a slot that names InsertMedia and answers 405", Reported, "ironic release note cisco-c845a-vmedia-fix"},
		{"numbers of the slots", Guessed, ""},
		{"nulls instead of texts that are not known", Guessed, ""},
		{"PCI devices are a list of the system; no network adapters", Reported, "openbmc/bmcweb, redfish-core"},
		{"a property of another type (Status)", Reported, "stmcginnis/gofish#533 and #414, of other properties"},
	},
	Make: machine.Make{Manufacturer: "OpenBMC", Model: "Obsidian", BIOSVersion: "0.9", BMCVersion: "2.14.0-dev"},
	moves: []move{
		{cd, root + "/Managers/bmc/VirtualMedia/Slot_2"},
		{system, root + "/Systems/system"},
		{manager, root + "/Managers/bmc"},
		{chassis, root + "/Chassis/chassis"},
	},
	registry: "Base.1.16",
	change: func(r map[string]resource) {
		withoutAdapters(r)
		r[system] = r[system].edited(func(c *call, body m) {
			var devices []string
			for i := range pcieDevices(c.s) {
				devices = append(devices, pcie+"/"+strconv.Itoa(i+1))
			}
			body["PCIeDevices"], body["PCIeDevices@odata.count"] = refs(devices...), len(devices)
		})
		r[root] = r[root].edited(func(_ *call, body m) {
			delete(body, "Vendor")
			delete(body, "Product")
		})
		r[system] = r[system].edited(func(_ *call, body m) {
			body["Id"], body["SKU"], body["IndicatorLED"], body["HostName"] = "system", nil, nil, nil
			body["Status"] = "Enabled"
		})
		r[manager] = r[manager].edited(func(_ *call, body m) { body["Id"], body["Name"], body["Model"] = "bmc", "OpenBmc Manager", "OpenBmc" })
		const proxy, deaf = media + "/Slot_0", media + "/Slot_1"
		r[media] = r[media].edited(func(_ *call, body m) {
			body["Members"], body["Members@odata.count"] = refs(proxy, deaf, cd), 3
		})
		slot := func(path, id string, actions m) resource {
			return resource{get: func(*call) (m, error) {
				return m{
					"@odata.id": path, "Id": id, "Name": "Virtual Removable Media", "MediaTypes": []string{"CD", "USBStick"},
					"Inserted": false, "Image": "", "ConnectedVia": "NotConnected", "Actions": actions,
				}, nil
			}}
		}
		r[proxy] = slot(proxy, "Slot_0", m{"#VirtualMedia.EjectMedia": m{"target": proxy + "/Actions/VirtualMedia.EjectMedia"}})
		r[deaf] = slot(deaf, "Slot_1", m{"#VirtualMedia.InsertMedia": m{"target": deaf + "/Actions/VirtualMedia.InsertMedia"}})
		r[deaf+"/Actions/VirtualMedia.InsertMedia"] = resource{get: func(*call) (m, error) {
			return nil, problem(http.StatusMethodNotAllowed, "OperationNotAllowed")
		}}
		r[cd] = r[cd].edited(func(_ *call, body m) { body["Id"], body["MediaTypes"] = "Slot_2", []string{"CD", "USBStick"} })
	},
}

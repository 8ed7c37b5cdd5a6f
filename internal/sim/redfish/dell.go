package redfish

import (
	"net/http"
	"path"

	"go.temper.dev/temper/internal/sim/machine"
)

// dellMoves are the paths of an iDRAC.
var dellMoves = []move{
	{cd, root + "/Managers/iDRAC.Embedded.1/VirtualMedia/CD"},
	{system, root + "/Systems/System.Embedded.1"},
	{manager, root + "/Managers/iDRAC.Embedded.1"},
	{chassis, root + "/Chassis/System.Embedded.1"},
}

// dellFull is the answer to a login if there are too many sessions (stmcginnis/gofish#75).
var dellFull = &Problem{
	Status: http.StatusServiceUnavailable, ID: "IDRAC.2.8.RAC0218", Words: "The maximum number of user sessions is reached.", NoRetry: true,
}

// dellParts are the parts that all iDRACs have in common.
var dellParts = []Part{
	{"paths, ids, vendor and product", Recorded, "dell/iDRAC-Redfish-Scripting#58 and #324"},
	{"serial number in SKU, the board's in SerialNumber", Reported, "ironic release notes idrac-inspect-sku and idrac-redfish-sku"},
	{"eight sessions, then 503 with RAC0218", Recorded, "stmcginnis/gofish#75; bb-Ricardo/check_redfish#198"},
	{"409 to a request for the power state that it has", Reported, "ironic release note catch-redfish-409"},
	{"an ejected medium is shown for a while, and inserting another is answered with 500", Reported, "ironic, storyboard 2008504"},
	{"message ids of resets and of that answer", Guessed, ""},
	{"names of the Ethernet interfaces (NIC.Embedded.1-1-1)", Reported, "dell/iDRAC-Redfish-Scripting"},
	{"attributes of the BIOS that tell from which of them the server boots (PxeDev1EnDis, PxeDev1Interface)", Reported, "ironic, drivers/modules/drac/inspect.py"},
	{"functions of the network adapter tell no boot mode, and its ports nothing of LLDP", Guessed, ""},
	{"what is received by LLDP is in DellSwitchConnections; a port without a cable has No Link", Reported, "ironic, drivers/modules/drac/inspect.py"},
	{"firmware that was installed before is listed, too (Previous-...)", Reported, "dell/iDRAC-Redfish-Scripting"},
}

func dellMake(model, bios, bmc, cdTarget string) machine.Make {
	return machine.Make{Manufacturer: "Dell Inc.", Model: model, BIOSVersion: bios, BMCVersion: bmc, CDTarget: cdTarget, MaxSessions: 8, SlowEject: true}
}

// idrac9 has firmware that boots the virtual CD by the standard's way.
var idrac9 = Persona{
	Name: "idrac9", logs: dellLogs, events: streams, About: "a Dell PowerEdge R660, iDRAC 9 with firmware 7.10",
	Parts: dellParts, Make: dellMake("PowerEdge R660", "2.2.7", "7.10.30.00", ""),
	moves: dellMoves, registry: "Base.1.12", full: dellFull,
	change: func(r map[string]resource) { dell(r, "16G Monolithic") },
}

// idrac9Before6 boots the virtual CD by attributes of its manager only.
var idrac9Before6 = Persona{
	Name: "idrac9-5", logs: dellLogs, About: "a Dell PowerEdge R650, iDRAC 9 with firmware 5.10",
	Parts: append([]Part{
		{"the boot source Cd does not boot the virtual CD", Reported, "ironic, doc/source/admin/drivers/redfish.rst"},
		{"attributes that boot it, and their values", Reported, "community.general, idrac_redfish_config"},
		{"both attributes are reset by the boot that used them", Guessed, ""},
	}, dellParts...),
	Make:  dellMake("PowerEdge R650", "1.6.5", "5.10.50.00", dellVirtualCD),
	moves: dellMoves, registry: "Base.1.8", full: dellFull,
	change: func(r map[string]resource) {
		dell(r, "15G Monolithic")
		dellAttributes(r)
	},
}

// idrac10 has its boot override in the settings resource, and its virtual CDs in the system.
var idrac10 = Persona{
	Name: "idrac10", logs: dellLogs, events: streams, About: "a Dell PowerEdge R670, iDRAC 10 with firmware 1.20",
	Parts: append([]Part{
		{"Boot is read-only in the system and written in its settings", Recorded, "ansible-collections/community.general#11297; libredfish#33"},
		{"the system does not show an override that is in the settings", Guessed, ""},
		{"virtual CDs 2 and 1, in this order, in the system", Recorded, "dell/iDRAC-Redfish-Scripting#324"},
		{"virtual CD 2 can't be booted", Reported, "ironic release note idrac10-vmedia-slot1"},
		{"409 ActionParameterValueConflict to On right after Off", Reported, "ironic release note redfish-power-on-conflict-retry"},
		{"how long that lasts", Guessed, ""},
	}, dellParts...),
	Make: dellMake("PowerEdge R670", "1.4.2", "1.20.50.50", ""),
	moves: append([]move{
		{cd, root + "/Systems/System.Embedded.1/VirtualMedia/1"},
		{media, root + "/Systems/System.Embedded.1/VirtualMedia"},
	}, dellMoves[1:]...),
	registry: "Base.1.18", full: dellFull,
	change: func(r map[string]resource) {
		dell(r, "17G Monolithic")
		dellSettings(r)
		dellSlots(r)
		r[reset] = r[reset].checked(func(c *call, body m) error {
			if body["ResetType"] == "On" && c.s.JustSwitched() {
				return problem(http.StatusConflict, "ActionParameterValueConflict", "ResetType", "On")
			}
			return nil
		})
	},
}

// dell is what all iDRACs have in common.
func dell(r map[string]resource, model string) {
	r[root] = r[root].edited(func(_ *call, body m) {
		body["Vendor"], body["Product"] = "Dell", "Integrated Dell Remote Access Controller"
	})
	r[system] = r[system].edited(func(c *call, body m) {
		body["Id"], body["SKU"], body["SerialNumber"] = "System.Embedded.1", c.s.Serial, "CN"+c.s.Serial[:3]+"00BOARD"
	})
	r[manager] = r[manager].edited(func(_ *call, body m) {
		body["Id"], body["Name"], body["Model"] = "iDRAC.Embedded.1", "Manager", model
		delete(body, "Manufacturer")
	})
	r[cd] = r[cd].edited(func(c *call, body m) { body["Id"] = path.Base(c.p.shown(cd)) })
	dellInventory(r)
	const insert = cd + "/Actions/VirtualMedia.InsertMedia"
	r[insert] = r[insert].checked(func(c *call, _ m) error {
		if c.s.Media().Inserted {
			return vendor(http.StatusInternalServerError, "IDRAC.2.8.VRM0012", "The virtual media device is in use.")
		}
		return nil
	})
	r[reset] = r[reset].checked(refuseDone(func(now machine.Power) *Problem {
		return vendor(http.StatusConflict, "IDRAC.2.8.PSU501", "The server is already powered "+string(now)+".")
	}))
}

// dellSettings moves the boot override into the settings resource of the system.
func dellSettings(r map[string]resource) {
	const settings = system + "/Settings"
	real := r[system]
	r[settings] = resource{
		get: func(c *call) (m, error) {
			return m{"@odata.id": settings, "@odata.type": "#ComputerSystem.v1_20_1.ComputerSystem", "Id": "Settings", "Boot": boot(c)}, nil
		},
		patch: func(c *call, body m) error { return real.patch(c, body) },
	}
	r[system] = r[system].edited(func(_ *call, body m) {
		body["@Redfish.Settings"] = m{"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": ref(settings)}
		body["Boot"] = m{
			"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled",
			"BootSourceOverrideMode": body["Boot"].(m)["BootSourceOverrideMode"],
		}
	}).checked(func(_ *call, body m) error {
		if bootOf(body) != nil {
			return problem(http.StatusBadRequest, "PropertyNotWritable", "Boot")
		}
		return nil
	})
}

// dellSlots moves the virtual CD into the system, as number 1, and adds number 2.
func dellSlots(r map[string]resource) {
	const second = media + "/2"
	r[system] = r[system].edited(func(_ *call, body m) { body["VirtualMedia"] = ref(media) })
	r[manager] = r[manager].edited(func(_ *call, body m) { delete(body, "VirtualMedia") })
	r[media] = r[media].edited(func(_ *call, body m) {
		body["Members"], body["Members@odata.count"] = refs(second, cd), 2
	})
	for at, res := range (drive{path: second, id: "2", slot: "2"}).routes() {
		r[at] = res
	}
}

// dellVirtualCD is the value of FirstBootDevice that boots the virtual CD.
const dellVirtualCD = "VCD-DVD"

// dellAttributes adds the attributes of the manager that choose the next boot device.
func dellAttributes(r map[string]resource) {
	const attributes = manager + "/Attributes"
	r[system] = r[system].edited(func(_ *call, body m) {
		if o := body["Boot"].(m); o["BootSourceOverrideTarget"] == dellVirtualCD {
			o["BootSourceOverrideTarget"], o["BootSourceOverrideEnabled"] = "None", "Disabled"
		}
	})
	r[attributes] = resource{
		get: func(c *call) (m, error) {
			first, once := "Normal", "Disabled"
			if b := c.s.BootOverride(); b.Target == dellVirtualCD && b.Enabled != "Disabled" {
				first = dellVirtualCD
				if b.Enabled == "Once" {
					once = "Enabled"
				}
			}
			return m{
				"@odata.id": attributes, "@odata.type": "#DellAttributes.v1_0_0.DellAttributes", "Id": "iDRACAttributes",
				"Attributes": m{"ServerBoot.1.FirstBootDevice": first, "ServerBoot.1.BootOnce": once},
			}, nil
		},
		patch: func(c *call, body m) error {
			set, _ := body["Attributes"].(m)
			b := c.s.BootOverride()
			switch set["ServerBoot.1.FirstBootDevice"] {
			case dellVirtualCD:
				b.Target, b.Enabled = dellVirtualCD, "Continuous"
				if set["ServerBoot.1.BootOnce"] == "Enabled" {
					b.Enabled = "Once"
				}
			case "Normal":
				b.Target, b.Enabled = machine.NoOverride.Target, machine.NoOverride.Enabled
			default:
				return problem(http.StatusBadRequest, "PropertyValueNotInList", "", "ServerBoot.1.FirstBootDevice")
			}
			c.s.SetBootOverride(b)
			return nil
		},
	}
}

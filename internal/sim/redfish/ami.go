package redfish

import (
	"net/http"

	"go.temper.dev/temper/internal/sim/machine"
)

// amiMoves are the paths of a MegaRAC.
var amiMoves = []move{
	{cd, root + "/Managers/Self/VirtualMedia/CD1"},
	{system, root + "/Systems/Self"},
	{manager, root + "/Managers/Self"},
	{chassis, root + "/Chassis/Self"},
}

var ami = Persona{
	Name: "ami", logs: amiLogs, sensors: oldModel, About: "a server with AMI MegaRAC SP-X",
	Parts: []Part{
		{"paths (Self)", Recorded, "DMTF/Redfish-Tacklebox#111"},
		{"400 OperationSupportedInFutureStateURI to a boot override of the system, which is written in Systems/Self/SD", Recorded, "DMTF/Redfish-Tacklebox#144"},
		{"an override is refused without mode, enabled and target", Reported, "ansible-collections/community.general#11542, which names no vendor"},
		{"InsertMedia wants TransferProtocolType and TransferMethod", Reported, "sushy release notes retry-if-transferprototype-missing and action-parameter-missing, which name other vendors"},
		{"the system does not show an override that is in SD", Guessed, ""},
	},
	Make:  machine.Make{Manufacturer: "AMI", Model: "MegaRAC SP-X server", BIOSVersion: "5.22", BMCVersion: "13.4.0"},
	moves: amiMoves, registry: "Base.1.12",
	change: func(r map[string]resource) {
		amiNames(r, "AMI Redfish Server")
		amiFutureState(r)
		d := drive{path: cd, id: "CD1", ask: []string{"TransferProtocolType", "TransferMethod"}}
		for at, res := range d.routes() {
			r[at] = res
		}
	},
}

var asrock = Persona{
	Name: "asrock", sensors: oldModel, About: "an ASRock Rack ROMED8, MegaRAC",
	Parts: []Part{
		{"paths (Self)", Recorded, "DMTF/Redfish-Tacklebox#144"},
		{"an override without mode, enabled or target is accepted and ignored", Reported, "ironic release notes redfish-full-boot-payload-asrockrack and fix-redfish-boot-device-full-request"},
		{"PATCH refuses the resource's own ETag", Reported, "sushy release note ignore-empty-string-etags and gofish#511, of other vendors"},
		{"one Ethernet interface has no address", Reported, "sushy release note skip-empty-mac-address, which names no vendor"},
	},
	Make:  machine.Make{Manufacturer: "ASRockRack", Model: "ROMED8-2T", BIOSVersion: "P3.50", BMCVersion: "2.02.00"},
	moves: amiMoves, registry: "Base.1.5", noMatch: true,
	change: func(r map[string]resource) {
		amiNames(r, "AMI Redfish Server")
		patch := r[system].patch
		res := r[system]
		res.patch = func(c *call, body m) error {
			if b := bootOf(body); b != nil && missingOf(b) != "" {
				return nil
			}
			return patch(c, body)
		}
		r[system] = res
		const empty = system + "/EthernetInterfaces/usb0"
		list := system + "/EthernetInterfaces"
		r[list] = r[list].edited(func(_ *call, body m) {
			body["Members"] = append(refs(empty), body["Members"].([]any)...)
		})
		r[empty] = resource{get: func(*call) (m, error) {
			return m{"@odata.id": empty, "Id": "usb0", "MACAddress": "", "Status": nil, "LinkStatus": nil}, nil
		}}
	},
}

func amiNames(r map[string]resource, product string) {
	r[root] = r[root].edited(func(_ *call, body m) { body["Vendor"], body["Product"] = "AMI", product })
	r[system] = r[system].edited(func(_ *call, body m) { body["Id"] = "Self" })
	r[manager] = r[manager].edited(func(_ *call, body m) { body["Id"], body["Name"], body["Model"] = "Self", "Manager", "AST2600" })
}

// missingOf returns the first property that an override lacks, "" if it is whole.
func missingOf(b m) string {
	for _, name := range []string{"BootSourceOverrideEnabled", "BootSourceOverrideTarget", "BootSourceOverrideMode"} {
		if b[name] == nil {
			return name
		}
	}
	return ""
}

// amiFutureState moves the boot override into the settings resource SD.
func amiFutureState(r map[string]resource) {
	const future = system + "/SD"
	patch := r[system].patch
	r[future] = resource{
		get: func(c *call) (m, error) {
			return m{"@odata.id": future, "Id": "Self", "Name": "System", "Boot": boot(c)}, nil
		},
		patch: func(c *call, body m) error {
			if name := missingOf(bootOf(body)); name != "" {
				return problem(http.StatusBadRequest, "PropertyMissing", name)
			}
			return patch(c, body)
		},
	}
	r[system] = r[system].edited(func(_ *call, body m) {
		body["@Redfish.Settings"] = m{"SettingsObject": ref(future)}
		o := body["Boot"].(m)
		o["BootSourceOverrideTarget"], o["BootSourceOverrideEnabled"] = "None", "Disabled"
	}).checked(func(_ *call, body m) error {
		if bootOf(body) != nil {
			return vendor(http.StatusBadRequest, "Ami.1.0.OperationSupportedInFutureStateURI",
				"Support of this Operation for Boot Properties is moved to FutureState URI(/redfish/v1/Systems/Self/SD)")
		}
		return nil
	})
}

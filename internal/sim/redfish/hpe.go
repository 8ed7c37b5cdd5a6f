package redfish

import (
	"net/http"

	"go.temper.dev/temper/internal/sim/machine"
)

// hpeMoves are the paths of an iLO. Its floppy is virtual medium 1, its CD number 2.
var hpeMoves = []move{
	{cd, root + "/Managers/1/VirtualMedia/2"},
	{manager, root + "/Managers/1"},
}

// hpeParts are the parts that both iLOs have in common.
var hpeParts = []Part{
	{"paths; links end with a slash", Reported, "ansible-collections/community.general#3509 and #3690"},
	{"virtual media 1 (floppy) and 2 (CD)", Recorded, "HewlettPackard/python-ilorest-library#7"},
	{"errors have ids and arguments, and no texts", Recorded, "ironcore-dev/metal-operator#997"},
	{"400 UnableToModifyDuringSystemPOST to a boot override during POST", Recorded, "ironcore-dev/metal-operator#997"},
	{"400 InvalidOperationForSystemState to a reset to the state it has", Reported, "ironic release note redfish-post-boot-retry"},
	{"the boot mode can't be written", Recorded, "ansible-collections/community.general#3509"},
	{"a target is wanted to disable the override", Reported, "ironcore-dev/metal-operator#998"},
	{"415 to an eject without a body", Reported, "sushy release note fix-eject-media-empty-dict"},
	{"the id of the answer to an override without a target", Guessed, ""},
	{"functions of the network adapter tell no boot mode, and boot options name the NICs", Guessed, ""},
}

var ilo5 = Persona{
	Name: "ilo5", logs: hpeLogs, events: sends, sensors: oldModel, About: "an HPE ProLiant DL380 Gen10, iLO 5 with firmware 2.78", Parts: hpeParts,
	Make:  machine.Make{Manufacturer: "HPE", Model: "ProLiant DL380 Gen10", BIOSVersion: "U30 v2.76", BMCVersion: "iLO 5 v2.78"},
	moves: hpeMoves, slashes: true, registry: "Base.1.4",
	change: func(r map[string]resource) { hpe(r, "iLO 5", "2.37") },
}

var ilo6 = Persona{
	Name: "ilo6", logs: hpeLogs, events: sends, About: "an HPE ProLiant DL380 Gen11, iLO 6 with firmware 1.53", Parts: hpeParts,
	Make:  machine.Make{Manufacturer: "HPE", Model: "ProLiant DL380 Gen11", BIOSVersion: "U54 v1.46", BMCVersion: "iLO 6 v1.53"},
	moves: hpeMoves, slashes: true, registry: "Base.1.18",
	change: func(r map[string]resource) { hpe(r, "iLO 6", "2.39") },
}

func hpe(r map[string]resource, model, registry string) {
	refuse := func(id string, args ...string) *Problem {
		p := vendor(http.StatusBadRequest, "iLO."+registry+"."+id, "", args...)
		p.Code = "iLO.0.10.ExtendedInfo"
		return p
	}
	r[root] = r[root].edited(func(_ *call, body m) { body["Vendor"], body["Product"] = "HPE", "ProLiant" })
	r[manager] = r[manager].edited(func(_ *call, body m) {
		body["Id"], body["Name"], body["Model"] = "1", "Manager", model
		delete(body, "Manufacturer")
	})
	r[system] = r[system].edited(func(_ *call, body m) {
		delete(body["Boot"].(m), "BootSourceOverrideEnabled@Redfish.AllowableValues")
		body["HostName"], body["AssetTag"] = "", ""
	}).checked(func(c *call, body m) error {
		b := bootOf(body)
		switch {
		case b == nil:
			return nil
		case c.s.InPOST():
			return refuse("UnableToModifyDuringSystemPOST", "BootSourceOverrideTarget")
		case b["BootSourceOverrideMode"] != nil:
			return refuse("PropertyNotWritableOrUnknown", "BootSourceOverrideMode")
		case b["BootSourceOverrideTarget"] == nil:
			return refuse("PropertyMissing", "BootSourceOverrideTarget")
		}
		return nil
	})
	r[reset] = r[reset].checked(refuseDone(func(machine.Power) *Problem { return refuse("InvalidOperationForSystemState") }))
	withoutBootMode(r)

	const floppy = media + "/1"
	r[media] = r[media].edited(func(_ *call, body m) {
		body["Members"], body["Members@odata.count"] = refs(floppy, cd), 2
	})
	r[floppy] = resource{get: func(*call) (m, error) {
		return m{"@odata.id": floppy, "Id": "1", "Name": "VirtualMedia", "MediaTypes": []string{"Floppy", "USBStick"}, "Inserted": false, "Image": ""}, nil
	}}
	r[cd] = r[cd].edited(func(_ *call, body m) {
		body["Id"] = "2"
		if body["Image"] == nil {
			body["Image"] = ""
		}
	})
	const eject = cd + "/Actions/VirtualMedia.EjectMedia"
	r[eject] = r[eject].checked(func(c *call, _ m) error {
		if c.ContentLength == 0 {
			p := refuse("UnsupportedMediaType")
			p.Status = http.StatusUnsupportedMediaType
			return p
		}
		return nil
	})
}

package redfish

import (
	"net/http"

	"go.temper.dev/temper/internal/sim/machine"
)

var supermicroParts = []Part{
	{"UsbCd is listed beside Cd, and only UsbCd boots the virtual CD", Reported, "sushy, resources/system/system.py"},
	{"InsertMedia refuses Inserted and WriteProtected", Reported, "sushy release note fix-insert-media-payload; ansible-collections/community.general#4839"},
	{"the image is shown after it was ejected", Recorded, "ansible-collections/community.general#6969 and #12537"},
	{"an override without a mode resets the mode to Legacy", Reported, "DMTF/Redfishtool#106"},
	{"an override without enabled is refused", Reported, "ironic, drivers/modules/redfish/management.py"},
	{"texts of the refusals", Guessed, ""},
	{"no functions of network adapters, and no boot options", Guessed, ""},
}

var supermicroX11 = Persona{
	Name: "smc-x11", sensors: oldModel, About: "a Supermicro X11DPU, BMC firmware 1.74",
	Parts: append([]Part{{"path of the virtual CD (VM1/CD1)", Reported, "quadsproject/badfish#126 and #579"}}, supermicroParts...),
	Make:  machine.Make{Manufacturer: "Supermicro", Model: "SYS-6029U-TR4T", BIOSVersion: "3.8a", BMCVersion: "01.74.13", CDTarget: "UsbCd"},
	moves: []move{
		{cd, root + "/Managers/1/VM1/CD1"},
		{media, root + "/Managers/1/VM1"},
		{manager, root + "/Managers/1"},
	},
	registry: "Base.v1_4_0", targets: supermicroTargets, change: supermicro,
}

var supermicroX13 = Persona{
	Name: "smc-x13", events: sends, About: "a Supermicro X13DEM, BMC firmware 1.03",
	Parts: append([]Part{
		{"path of the virtual CD (VirtualMedia/VirtualMedia1)", Guessed, ""},
		{"compressed answers have another ETag, which PATCH refuses", Reported, "sushy release note do-not-offer-compression; stmcginnis/gofish#511"},
	}, supermicroParts...),
	Make: machine.Make{Manufacturer: "Supermicro", Model: "SYS-621C-TN12R", BIOSVersion: "2.1", BMCVersion: "01.03.16", CDTarget: "UsbCd"},
	moves: []move{
		{cd, root + "/Managers/1/VirtualMedia/VirtualMedia1"},
		{manager, root + "/Managers/1"},
	},
	registry: "Base.1.12", targets: supermicroTargets, gzip: true, change: supermicro,
}

var supermicroTargets = []string{"None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "UsbCd", "UefiBootNext", "UefiHttp"}

func supermicro(r map[string]resource) {
	withoutAdapters(r)
	withoutBootOptions(r)
	r[root] = r[root].edited(func(_ *call, body m) {
		body["Vendor"] = "Supermicro"
		delete(body, "Product")
	})
	r[manager] = r[manager].edited(func(_ *call, body m) {
		body["Id"], body["Name"], body["Model"] = "1", "Manager", "ASPEED"
	})
	r[system] = r[system].checked(func(c *call, body m) error {
		b := bootOf(body)
		if b == nil {
			return nil
		}
		if b["BootSourceOverrideEnabled"] == nil {
			return problem(http.StatusBadRequest, "PropertyMissing", "BootSourceOverrideEnabled")
		}
		if b["BootSourceOverrideMode"] == nil {
			b["BootSourceOverrideMode"] = "Legacy"
		}
		return nil
	})
	d := drive{path: cd, id: "CD1", not: []string{"Inserted", "WriteProtected"}}
	for at, res := range d.routes() {
		r[at] = res
	}
	r[cd] = r[cd].edited(func(c *call, body m) {
		body["MediaTypes"] = []string{"CD", "DVD"}
		if body["Inserted"] == false && c.s.LastImage() != "" {
			body["Image"], body["ImageName"] = c.s.LastImage(), "image"
		}
	})
}

package redfish

import (
	"net/http"

	"go.temper.dev/temper/internal/sim/machine"
)

var xcc = Persona{
	Name: "xcc", events: sends, About: "a Lenovo ThinkSystem SD530, XCC",
	Parts: []Part{
		{"virtual media are changed by PATCH, have no actions, and need Inserted", Reported, "sushy release note fix-virtual-media-fallback; stmcginnis/gofish#530"},
		{"16 sessions", Reported, "bmclib, providers/lenovo/lenovo.go"},
		{"no override that is Continuous", Reported, "bmclib, providers/lenovo/boot.go"},
		{"names of the drives (EXT1, RDOC1)", Reported, "lenovo/python-redfish-lenovo"},
		{"RDOC1 accepts no PATCH", Guessed, ""},
	},
	Make: machine.Make{Manufacturer: "Lenovo", Model: "ThinkSystem SD530", BIOSVersion: "TEE162E-2.42", BMCVersion: "CDI386M 6.10", MaxSessions: 16},
	moves: []move{
		{cd, root + "/Managers/1/VirtualMedia/EXT1"},
		{manager, root + "/Managers/1"},
	},
	registry: "Base.1.12", enables: []string{"Once", "Disabled"},
	change: func(r map[string]resource) {
		r[root] = r[root].edited(func(_ *call, body m) {
			body["Vendor"] = "Lenovo"
			delete(body, "Product")
		})
		r[manager] = r[manager].edited(func(_ *call, body m) { body["Id"], body["Model"] = "1", "Lenovo XClarity Controller" })
		const readOnly = media + "/RDOC1"
		r[media] = r[media].edited(func(_ *call, body m) {
			body["Members"], body["Members@odata.count"] = refs(readOnly, cd), 2
		})
		r[readOnly] = resource{get: func(*call) (m, error) {
			return m{"@odata.id": readOnly, "Id": "RDOC1", "Name": "VirtualMedia", "MediaTypes": []string{"CD", "DVD"}, "Inserted": false, "Image": nil}, nil
		}}
		changedByPatch(r)
	},
}

// changedByPatch removes the actions of the virtual CD, which is changed by PATCH instead.
func changedByPatch(r map[string]resource) {
	real := drive{path: cd, id: "EXT1"}
	res := resource{get: real.get}.edited(func(_ *call, body m) { delete(body, "Actions") })
	res.patch = func(c *call, body m) error {
		image, there := body["Image"]
		switch {
		case there && image == nil || body["Inserted"] == false:
			c.s.EjectMedia()
			return nil
		case !there:
			return problem(http.StatusBadRequest, "PropertyMissing", "Image")
		case body["Inserted"] != true:
			return problem(http.StatusBadRequest, "PropertyMissing", "Inserted")
		}
		delete(body, "Inserted")
		_, err := real.insert(c, body)
		return err
	}
	r[cd] = res
	delete(r, cd+"/Actions/VirtualMedia.InsertMedia")
	delete(r, cd+"/Actions/VirtualMedia.EjectMedia")
}

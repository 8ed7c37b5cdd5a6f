package redfish

import (
	"maps"
	"strconv"
)

// switchConnections is where an iDRAC has what its NICs receive by LLDP.
const switchConnections = system + "/NetworkPorts/Oem/Dell/DellSwitchConnections"

// fqdd is Dell's name of a NIC.
func fqdd(i int) string { return "NIC.Embedded." + strconv.Itoa(i+1) + "-1-1" }

// dellInventory is what iDRACs show differently of the hardware. The server boots from its first NIC only.
func dellInventory(r map[string]resource) {
	withoutBootMode(r)
	withoutLLDP(r)
	nic := system + "/EthernetInterfaces/{n}"
	r[nic] = r[nic].edited(func(c *call, body m) {
		if i, err := nth(c, len(c.s.NICs)); err == nil {
			body["Id"] = fqdd(i)
		}
	})
	r[bios] = r[bios].edited(func(_ *call, body m) {
		attributes, _ := body["Attributes"].(m)
		maps.Copy(attributes, m{
			"PxeDev1EnDis": "Enabled", "PxeDev1Interface": fqdd(0), "PxeDev2EnDis": "Disabled", "PxeDev2Interface": fqdd(1),
			"PxeDev3EnDis": "Disabled", "PxeDev3Interface": fqdd(0), "HttpDev1EnDis": "Disabled", "HttpDev1Interface": fqdd(1),
		})
	})
	r[switchConnections] = resource{get: func(c *call) (m, error) {
		members := []any{m{"FQDD": "NIC.Slot.7-1-1", "SwitchConnectionID": "No Link", "SwitchPortConnectionID": "No Link"}}
		for i, n := range c.s.NICs {
			members = append(members, m{
				"@odata.id": switchConnections + "/" + fqdd(i), "Id": fqdd(i), "FQDD": fqdd(i),
				"SwitchConnectionID": n.SwitchID, "SwitchPortConnectionID": n.SwitchPort,
			})
		}
		return m{
			"@odata.type": "#DellSwitchConnectionCollection.DellSwitchConnectionCollection", "@odata.id": switchConnections,
			"Name": "DellSwitchConnectionCollection", "Members": members, "Members@odata.count": len(members),
		}, nil
	}}
	const now, before = firmware + "/Installed-159-", firmware + "/Previous-159-"
	r[firmware] = r[firmware].edited(func(c *call, body m) {
		members := append([]any{}, body["Members"].([]any)...)
		members = append(members, refs(now+c.s.FirmwareVersion("BIOS"), before+"1.0.0")...)
		body["Members"], body["Members@odata.count"] = members[1:], len(members)-1 // the BIOS has Dell's id
	})
	real := r[firmware+"/{id}"]
	r[firmware+"/{id}"] = resource{get: func(c *call) (m, error) {
		switch id := firmware + "/" + c.PathValue("id"); id {
		case now + c.s.FirmwareVersion("BIOS"):
			return installed(c, "BIOS", c.s.FirmwareVersion("BIOS")), nil
		case before + "1.0.0":
			return installed(c, "BIOS", "1.0.0"), nil
		}
		return real.get(c)
	}}
}

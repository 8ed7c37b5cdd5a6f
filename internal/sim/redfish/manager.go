package redfish

import (
	"net/http"
	"time"
)

func managerRoutes() map[string]resource {
	return map[string]resource{
		managers: {get: func(*call) (m, error) { return collection(managers, "Manager", "Managers", manager), nil }},
		manager:  {get: getManager, patch: patchManager},
		manager + "/EthernetInterfaces": {get: func(*call) (m, error) {
			return numbered(manager+"/EthernetInterfaces", "EthernetInterface", "Ethernet Interfaces", 1), nil
		}},
		manager + "/EthernetInterfaces/{n}": {get: getManagerNIC},
		manager + "/Actions/Manager.Reset":  {post: postManagerReset},
	}
}

func getManager(c *call) (m, error) {
	return m{
		"@odata.type": "#Manager.v1_18_0.Manager", "@odata.id": manager, "Id": "BMC", "Name": "Simulated BMC", "ManagerType": "BMC",
		"Manufacturer": c.s.Manufacturer, "Model": "Simulated BMC", "FirmwareVersion": c.s.FirmwareVersion("BMC"), "UUID": c.s.UUID,
		"PowerState": "On", "Status": enabled, "DateTime": c.s.Clock().Format(time.RFC3339), "DateTimeLocalOffset": "+00:00",
		"EthernetInterfaces": ref(manager + "/EthernetInterfaces"), "VirtualMedia": ref(manager + "/VirtualMedia"),
		"Links": m{"ManagerForServers": refs(system), "ManagerForChassis": refs(chassis)},
		"Actions": m{"#Manager.Reset": m{
			"target": manager + "/Actions/Manager.Reset", "ResetType@Redfish.AllowableValues": []string{"GracefulRestart", "ForceRestart"},
		}},
	}, nil
}

// patchManager sets the clock, which is all that can be set.
func patchManager(c *call, body m) error {
	text, _ := body["DateTime"].(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return problem(http.StatusBadRequest, "PropertyValueFormatError", text, "DateTime")
	}
	c.s.SetClock(at)
	return nil
}

func getManagerNIC(c *call) (m, error) {
	if _, err := nth(c, 1); err != nil {
		return nil, err
	}
	return m{
		"@odata.type": "#EthernetInterface.v1_11_0.EthernetInterface", "@odata.id": c.URL.Path, "Id": "1", "Name": "bmc0",
		"MACAddress": c.s.BMCMAC, "InterfaceEnabled": true, "LinkStatus": "LinkUp", "SpeedMbps": 1000, "Status": enabled,
	}, nil
}

func postManagerReset(c *call, body m) (reply, error) {
	switch t, _ := body["ResetType"].(string); t {
	case "", "GracefulRestart", "ForceRestart":
		c.s.RestartBMC()
		return reply{}, nil
	default:
		return reply{}, problem(http.StatusBadRequest, "ActionParameterValueNotInList", t, "ResetType", "Manager.Reset")
	}
}

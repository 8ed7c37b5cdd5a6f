package redfish

import "path"

const (
	updateService = root + "/UpdateService"
	firmware      = updateService + "/FirmwareInventory"
)

// firmwareRoutes has the versions of the firmware that is installed.
func firmwareRoutes() map[string]resource {
	return map[string]resource{
		updateService: {get: func(*call) (m, error) {
			return m{
				"@odata.type": "#UpdateService.v1_14_0.UpdateService", "@odata.id": updateService, "Id": "UpdateService", "Name": "Update Service",
				"ServiceEnabled": true, "FirmwareInventory": ref(firmware), "Status": enabled,
			}, nil
		}},
		firmware: {get: func(*call) (m, error) {
			return collection(firmware, "SoftwareInventory", "Firmware Inventory", firmware+"/BIOS", firmware+"/BMC", firmware+"/NIC", firmware+"/TPM"), nil
		}},
		firmware + "/{id}": {get: getFirmware},
	}
}

func getFirmware(c *call) (m, error) {
	id := c.PathValue("id")
	version := map[string]string{"BIOS": c.s.BIOSVersion, "BMC": c.s.BMCVersion, "NIC": "22.31.6", "TPM": c.s.TPMVersion}[id]
	if version == "" {
		return nil, missing(c)
	}
	return installed(c, id, version), nil
}

func installed(c *call, name, version string) m {
	return m{
		"@odata.type": "#SoftwareInventory.v1_10_0.SoftwareInventory", "@odata.id": c.URL.Path, "Id": path.Base(c.URL.Path), "Name": name,
		"Manufacturer": c.s.Manufacturer, "Version": version, "Updateable": true, "Status": enabled,
	}
}

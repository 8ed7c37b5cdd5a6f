package redfish

import (
	"strconv"
	"strings"
)

const bootOptions = system + "/BootOptions"

// bootOptionRoutes has the boot options of UEFI: the disk, and each NIC.
func bootOptionRoutes() map[string]resource {
	return map[string]resource{
		bootOptions: {get: func(c *call) (m, error) {
			return numbered(bootOptions, "BootOption", "Boot Options", 1+len(c.s.NICs)), nil
		}},
		bootOptions + "/{n}": {get: getBootOption},
	}
}

func getBootOption(c *call) (m, error) {
	i, err := nth(c, 1+len(c.s.NICs))
	if err != nil {
		return nil, err
	}
	name, path := "Linux Boot Manager", "HD(1,GPT,5D4B5A3C-0000-4000-8000-000000000001,0x800,0x100000)/\\EFI\\BOOT\\BOOTX64.EFI"
	if i > 0 {
		n := c.s.NICs[i-1]
		name = "UEFI PXEv4 " + n.Name
		path = "PciRoot(0x1)/Pci(0x1,0x0)/Pci(0x0,0x" + strconv.Itoa(i-1) + ")/MAC(" + strings.ToUpper(strings.ReplaceAll(n.MAC, ":", "")) + ",0x1)/IPv4(0.0.0.0)"
	}
	id := "Boot000" + strconv.Itoa(i)
	return m{
		"@odata.type": "#BootOption.v1_0_6.BootOption", "@odata.id": c.URL.Path, "Id": id, "BootOptionReference": id, "Name": name,
		"DisplayName": name, "BootOptionEnabled": true, "UefiDevicePath": path,
	}, nil
}

// withoutBootOptions removes the boot options.
func withoutBootOptions(r map[string]resource) {
	r[system] = r[system].edited(func(_ *call, body m) {
		if b := bootOf(body); b != nil {
			delete(b, "BootOptions")
		}
	})
	for at := range bootOptionRoutes() {
		delete(r, at)
	}
}

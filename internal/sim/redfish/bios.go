package redfish

import (
	"errors"
	"fmt"
	"maps"
	"net/http"

	"go.temper.dev/temper/internal/sim/machine"
)

const (
	bios       = system + "/Bios"
	secureBoot = system + "/SecureBoot"
)

func biosRoutes() map[string]resource {
	return map[string]resource{
		bios:                             {get: getBIOS},
		bios + "/Settings":               {get: getPendingBIOS, patch: patchBIOS},
		bios + "/Actions/Bios.ResetBios": {post: postResetBIOS},
		secureBoot:                       {get: getSecureBoot},
	}
}

func getBIOS(c *call) (m, error) {
	return m{
		"@odata.type": "#Bios.v1_2_1.Bios", "@odata.id": bios, "Id": "BIOS", "Name": "BIOS Configuration",
		"AttributeRegistry": "BiosAttributeRegistry.v1_0_0", "Attributes": m(c.s.Settings().BIOS),
		"@Redfish.Settings": m{
			"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": ref(bios + "/Settings"),
			"SupportedApplyTimes": []string{"OnReset"},
		},
		"Actions": m{"#Bios.ResetBios": m{"target": bios + "/Actions/Bios.ResetBios"}},
	}, nil
}

func getSecureBoot(c *call) (m, error) {
	s := c.s.Settings()
	next, ok := s.Pending["SecureBoot"]
	if !ok {
		next = s.BIOS["SecureBoot"]
	}
	return m{
		"@odata.type": "#SecureBoot.v1_1_2.SecureBoot", "@odata.id": secureBoot, "Id": "SecureBoot", "Name": "UEFI Secure Boot",
		"SecureBootEnable": next == "Enabled", "SecureBootCurrentBoot": s.BIOS["SecureBoot"], "SecureBootMode": "DeployedMode",
	}, nil
}

// getPendingBIOS is what the attributes will be after the next reset.
func getPendingBIOS(c *call) (m, error) {
	s := c.s.Settings()
	maps.Copy(s.BIOS, s.Pending)
	return m{
		"@odata.type": "#Bios.v1_2_1.Bios", "@odata.id": bios + "/Settings", "Id": "Settings", "Name": "BIOS Configuration, pending",
		"AttributeRegistry": "BiosAttributeRegistry.v1_0_0", "Attributes": m(s.BIOS),
	}, nil
}

func patchBIOS(c *call, body m) error {
	a, ok := body["Attributes"].(m)
	if !ok {
		return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(body["Attributes"]), "Attributes")
	}
	if k, err := c.s.SetBIOS(machine.Attributes(a)); errors.Is(err, machine.ErrAttribute) {
		return problem(http.StatusBadRequest, "PropertyUnknown", k)
	} else if err != nil {
		return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(a[k]), k)
	}
	return nil
}

func postResetBIOS(c *call, _ m) (reply, error) {
	c.s.ResetBIOS()
	return reply{}, nil
}

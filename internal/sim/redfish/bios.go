package redfish

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"go.temper.dev/temper/internal/sim/machine"
)

const (
	bios         = system + "/Bios"
	secureBoot   = system + "/SecureBoot"
	registries   = root + "/Registries"
	biosRegistry = "BiosAttributeRegistry.v1_0_0"
)

func biosRoutes() map[string]resource {
	return map[string]resource{
		bios:                             {get: getBIOS},
		bios + "/Settings":               {get: getPendingBIOS, patch: patchBIOS},
		bios + "/Actions/Bios.ResetBios": {post: postResetBIOS},
		secureBoot:                       {get: getSecureBoot, patch: patchSecureBoot},
		registries: {get: func(*call) (m, error) {
			return collection(registries, "MessageRegistryFile", "Registries", registries+"/"+biosRegistry), nil
		}},
		registries + "/" + biosRegistry:                         {get: getRegistryFile},
		registries + "/" + biosRegistry + "/" + "Registry.json": {get: getBIOSRegistry},
	}
}

func getBIOS(c *call) (m, error) {
	return m{
		"@odata.type": "#Bios.v1_2_1.Bios", "@odata.id": bios, "Id": "BIOS", "Name": "BIOS Configuration",
		"AttributeRegistry": biosRegistry, "Attributes": m(c.s.Settings().BIOS),
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

func patchSecureBoot(c *call, body m) error {
	for k, v := range body {
		on, ok := v.(bool)
		switch {
		case k != "SecureBootEnable":
			return unwritable(c, getSecureBoot, k)
		case !ok:
			return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(v), k)
		}
		_, err := c.s.SetBIOS(machine.Attributes{"SecureBoot": map[bool]string{true: "Enabled", false: "Disabled"}[on]})
		if err != nil {
			return err
		}
	}
	return nil
}

// getPendingBIOS is what the attributes will be after the next reset.
func getPendingBIOS(c *call) (m, error) {
	s := c.s.Settings()
	maps.Copy(s.BIOS, s.Pending)
	return m{
		"@odata.type": "#Bios.v1_2_1.Bios", "@odata.id": bios + "/Settings", "Id": "Settings", "Name": "BIOS Configuration, pending",
		"AttributeRegistry": biosRegistry, "Attributes": m(s.BIOS),
	}, nil
}

func patchBIOS(c *call, body m) error {
	a, ok := body["Attributes"].(m)
	if !ok {
		return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(body["Attributes"]), "Attributes")
	}
	k, err := c.s.SetBIOS(machine.Attributes(a))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, machine.ErrAttribute):
		return problem(http.StatusBadRequest, "PropertyUnknown", k)
	case errors.Is(err, machine.ErrAttributeReadOnly):
		return problem(http.StatusBadRequest, "PropertyNotWritable", k)
	case errors.Is(err, machine.ErrAttributeValue):
		return problem(http.StatusBadRequest, "PropertyValueNotInList", fmt.Sprint(a[k]), k)
	}
	return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(a[k]), k)
}

func postResetBIOS(c *call, _ m) (reply, error) {
	c.s.ResetBIOS()
	return reply{}, nil
}

func getRegistryFile(*call) (m, error) {
	at := registries + "/" + biosRegistry
	return m{
		"@odata.type": "#MessageRegistryFile.v1_1_5.MessageRegistryFile", "@odata.id": at, "Id": biosRegistry, "Name": "BIOS attributes",
		"Registry": "BiosAttributeRegistry.v1_0_0", "Languages": []string{"en"},
		"Location": []any{m{"Language": "en", "Uri": at + "/Registry.json"}},
	}, nil
}

func getBIOSRegistry(*call) (m, error) {
	var all []any
	for _, name := range slices.Sorted(maps.Keys(machine.AttributeSpecs)) {
		spec := machine.AttributeSpecs[name]
		one := m{"AttributeName": name, "DisplayName": name, "ReadOnly": spec.ReadOnly, "ResetRequired": true, "DefaultValue": spec.Default}
		switch spec.Default.(type) {
		case bool:
			one["Type"] = "Boolean"
		case float64:
			one["Type"], one["LowerBound"], one["UpperBound"] = "Integer", spec.Min, spec.Max
		default:
			one["Type"] = "String"
			var values []any
			for _, v := range spec.Allowed {
				values = append(values, m{"ValueName": v, "ValueDisplayName": v})
			}
			if values != nil {
				one["Type"], one["Value"] = "Enumeration", values
			}
		}
		all = append(all, one)
	}
	return m{
		"@odata.type": "#AttributeRegistry.v1_3_8.AttributeRegistry", "Id": biosRegistry, "Name": "BIOS attributes", "Language": "en",
		"OwningEntity": "Simulated", "RegistryVersion": "1.0.0", "RegistryEntries": m{"Attributes": all},
	}, nil
}

package redfish

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

func systemRoutes() map[string]resource {
	return map[string]resource{
		root + "/Systems": {get: func(*call) (m, error) {
			return collection(root+"/Systems", "ComputerSystem", "Computer Systems", system), nil
		}},
		system:                                   {get: getSystem, patch: patchSystem},
		system + "/Actions/ComputerSystem.Reset": {post: postReset},
	}
}

func getSystem(c *call) (m, error) {
	s := c.s
	cpu, power := s.CPUs[0], s.PowerState()
	state := "Enabled"
	if power != machine.On {
		state = "StandbyOffline"
	}
	return m{
		"@odata.type": "#ComputerSystem.v1_20_1.ComputerSystem", "@odata.id": system, "Id": "1", "Name": s.Name,
		"SystemType": "Physical", "Manufacturer": s.Manufacturer, "Model": s.Model, "SerialNumber": s.Serial,
		"SKU": s.Model, "PartNumber": s.PartNumber, "AssetTag": s.AssetTag, "UUID": s.UUID, "BiosVersion": s.FirmwareVersion("BIOS"), "HostName": "",
		"PowerState": power, "IndicatorLED": s.Settings().LED, "Status": m{"State": state, "Health": "OK", "HealthRollup": "OK"},
		"BootProgress": m{"LastState": progress(s, power)}, "Boot": bootWithOptions(c),
		"ProcessorSummary": m{
			"Count": len(s.CPUs), "Model": cpu.Model, "CoreCount": len(s.CPUs) * cpu.Cores,
			"LogicalProcessorCount": len(s.CPUs) * cpu.Threads, "Status": enabled,
		},
		"MemorySummary": m{"TotalSystemMemoryGiB": float64(s.MemoryMiB()) / 1024, "Status": enabled},
		"Bios":          ref(system + "/Bios"), "Processors": ref(system + "/Processors"), "Memory": ref(system + "/Memory"),
		"EthernetInterfaces": ref(system + "/EthernetInterfaces"), "Storage": ref(system + "/Storage"),
		"NetworkInterfaces": ref(system + "/NetworkInterfaces"), "SecureBoot": ref(system + "/SecureBoot"),
		"TrustedModules": []any{m{"InterfaceType": "TPM2_0", "FirmwareVersion": s.TPMVersion, "Status": enabled}},
		"Links":          m{"Chassis": refs(chassis), "ManagedBy": refs(manager)},
		"Actions": m{"#ComputerSystem.Reset": m{
			"target": system + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": machine.ResetTypes,
		}},
	}, nil
}

// progress is the BootProgress of a server. The BMC can't see how far a real machine has come after it was started.
func progress(s *machine.Server, p machine.Power) string {
	switch {
	case p != machine.On || s.Stuck():
		return "None"
	case s.Booted() == machine.None:
		return "SystemHardwareInitializationComplete"
	case s.RealMachine():
		return "OSBootStarted"
	}
	return "OSRunning"
}

// continuous reports whether the override can be neither one-time nor disabled.
func (c *call) continuous() bool { return c.p.continuous || c.s.Faults.Active(faults.AlwaysContinuous) }

func boot(c *call) m {
	b := c.s.BootOverride()
	if c.continuous() {
		if b.Target == machine.NoOverride.Target {
			b.Target = "Hdd"
		}
		return m{
			"BootSourceOverrideTarget": b.Target, "BootSourceOverrideEnabled": "Continuous", "BootSourceOverrideMode": b.Mode,
			"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"Pxe", "Cd", "Hdd"},
		}
	}
	out := m{
		"BootSourceOverrideTarget": b.Target, "BootSourceOverrideEnabled": b.Enabled, "BootSourceOverrideMode": b.Mode,
		"BootSourceOverrideTarget@Redfish.AllowableValues":  c.p.bootTargets(),
		"BootSourceOverrideEnabled@Redfish.AllowableValues": c.p.bootEnables(),
		"BootSourceOverrideMode@Redfish.AllowableValues":    c.s.BootModes(),
	}
	if b.URI != "" {
		out["HttpBootUri"] = b.URI
	}
	return out
}

// bootWithOptions is the override, with a link to the boot options unless the server boots from a BIOS.
func bootWithOptions(c *call) m {
	b := boot(c)
	if b["BootSourceOverrideMode"] != "Legacy" {
		b["BootOptions"] = ref(bootOptions)
	}
	return b
}

// patchSystem writes all of the body or nothing.
func patchSystem(c *call, body m) error {
	b, led := c.s.BootOverride(), ""
	for k, v := range body {
		switch k {
		case "Boot":
			o, ok := v.(m)
			if !ok {
				return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(v), k)
			}
			if err := patchBoot(c, &b, o); err != nil {
				return err
			}
		case "IndicatorLED":
			if err := oneOf(&led, k, v, machine.LEDs); err != nil {
				return err
			}
		default:
			return unwritable(c, getSystem, k)
		}
	}
	if body["Boot"] != nil {
		c.s.SetBootOverride(b)
	}
	if led != "" {
		c.s.SetLED(led)
	}
	return nil
}

// patchBoot writes the override. An override that is always continuous accepts a
// target and a mode, ignores BootSourceOverrideEnabled, and refuses a request that
// has neither target nor mode.
func patchBoot(c *call, b *machine.Boot, o m) error {
	continuous := c.continuous()
	if continuous && o["BootSourceOverrideTarget"] == nil && o["BootSourceOverrideMode"] == nil {
		return problem(http.StatusBadRequest, "GeneralError").saying("Missing the BootSourceOverrideTarget and/or BootSourceOverrideMode element")
	}
	for k, v := range o {
		var err error
		switch k {
		case "BootSourceOverrideTarget":
			err = oneOf(&b.Target, k, v, c.p.bootTargets())
		case "BootSourceOverrideEnabled":
			err = oneOf(&b.Enabled, k, v, c.p.bootEnables())
		case "BootSourceOverrideMode":
			err = oneOf(&b.Mode, k, v, c.s.BootModes())
		case "HttpBootUri":
			uri, ok := v.(string)
			if !ok {
				err = problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(v), k)
			}
			b.URI = uri
		default:
			err = problem(http.StatusBadRequest, "PropertyUnknown", k)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case continuous && b.Target != machine.NoOverride.Target:
		b.Enabled = "Continuous"
	case b.Enabled == "Disabled":
		b.Target = "None"
	}
	return nil
}

func oneOf(to *string, name string, v any, of []string) error {
	s, ok := v.(string)
	if !ok {
		return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(v), name)
	}
	if !slices.Contains(of, s) {
		return problem(http.StatusBadRequest, "PropertyValueNotInList", s, name)
	}
	*to = s
	return nil
}

func postReset(c *call, body m) (reply, error) {
	const action = "ComputerSystem.Reset"
	t, ok := body["ResetType"].(string)
	if !ok {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterMissing", action, "ResetType")
	}
	if !slices.Contains(machine.ResetTypes, machine.ResetType(t)) {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterValueNotInList", t, "ResetType", action)
	}
	switch err := c.s.Reset(machine.ResetType(t)); {
	case errors.Is(err, machine.ErrBusy):
		return reply{}, problem(http.StatusServiceUnavailable, "ServiceTemporarilyUnavailable", "1")
	case errors.Is(err, machine.ErrPoweredOff):
		return reply{}, problem(http.StatusConflict, "ActionNotSupported", t)
	}
	if !c.s.TasksEnabled() {
		return reply{}, nil
	}
	return accepted(c.s.StartTask(action, func() error { return nil })), nil
}

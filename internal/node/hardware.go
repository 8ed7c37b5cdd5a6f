package node

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Interfaces are the 13 of a node, in the order in which Ironic lists them.
var Interfaces = []string{
	"bios", "boot", "console", "deploy", "firmware", "inspect", "management", "network", "power", "raid", "rescue", "storage", "vendor",
}

// HardwareType is a driver by name and what it can be made of.
type HardwareType struct {
	Name string
	// Supports: interface -> implementations, the best first. The first one
	// that a conductor has enabled is the default.
	Supports map[string][]string
}

var hardware = []HardwareType{
	{"redfish", map[string][]string{
		"bios":       {"no-bios"},
		"boot":       {"redfish-virtual-media"},
		"console":    {"no-console"},
		"deploy":     {"direct"},
		"firmware":   {"no-firmware"},
		"inspect":    {"redfish", "agent", "no-inspect"},
		"management": {"redfish"},
		"network":    {"noop"},
		"power":      {"redfish"},
		"raid":       {"no-raid"},
		"rescue":     {"no-rescue"},
		"storage":    {"noop"},
		"vendor":     {"no-vendor"},
	}},
	// fake-hardware with direct or agent waits for an agent that somebody else plays.
	{"fake-hardware", map[string][]string{
		"bios":       {"fake", "no-bios"},
		"boot":       {"fake"},
		"console":    {"fake", "no-console"},
		"deploy":     {"fake", "direct"},
		"firmware":   {"fake", "no-firmware"},
		"inspect":    {"fake", "agent", "no-inspect"},
		"management": {"fake", "noop"},
		"network":    {"noop"},
		"power":      {"fake"},
		"raid":       {"fake", "no-raid"},
		"rescue":     {"fake", "no-rescue"},
		"storage":    {"noop", "fake"},
		"vendor":     {"fake", "no-vendor"},
	}},
}

// Hardware is the hardware type of that name.
func Hardware(driver string) (HardwareType, bool) {
	i := slices.IndexFunc(hardware, func(h HardwareType) bool { return h.Name == driver })
	if i < 0 {
		return HardwareType{}, false
	}
	return hardware[i], true
}

// HardwareTypes are the names of all hardware types.
func HardwareTypes() []string {
	out := make([]string, len(hardware))
	for i, h := range hardware {
		out[i] = h.Name
	}
	return out
}

// Resolve fills in and checks the interfaces of a node of type h. want is what
// the node names ("" and absent = the default), enabled what the conductors of
// its driver and group have (Conductor.Interfaces of it). The result names all 13.
// Errors: fault.Invalid in Ironic's words, one for the first interface that does
// not fit, in the order of Interfaces.
func (h HardwareType) Resolve(want map[string]string, enabled map[string][]string) (map[string]string, error) {
	out := make(map[string]string, len(Interfaces))
	for _, i := range Interfaces {
		var usable []string
		for _, impl := range h.Supports[i] {
			if slices.Contains(enabled[i], impl) {
				usable = append(usable, impl)
			}
		}
		switch impl := want[i]; {
		case impl != "" && slices.Contains(usable, impl):
			out[i] = impl
		case impl != "" && !slices.Contains(h.Supports[i], impl):
			return nil, fault.New(fault.Invalid, "%s interface implementation '%s' is not supported by hardware type %s.", i, cut(impl), h.Name)
		case impl != "":
			return nil, fault.New(fault.Invalid, "Could not find the following interface in the 'ironic.hardware.interfaces.%s' entrypoint: %s. Valid interfaces are %s.",
				i, impl, pythonList(usable))
		case len(usable) > 0:
			out[i] = usable[0]
		default:
			return nil, fault.New(fault.Invalid, "For hardware type '%s', no default value found for %s interface could be determined. Please ensure the interfaces are enabled.", h.Name, i)
		}
	}
	return out, nil
}

// pythonList is a list as Ironic's messages show one.
func pythonList(in []string) string {
	quoted := make([]string, len(in))
	for i, s := range in {
		quoted[i] = fmt.Sprintf("'%s'", s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

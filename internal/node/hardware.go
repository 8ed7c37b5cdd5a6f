package node

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

//go:generate go test -run ^TestTheDriversStandInTheDocumentation$ . -update

// Interfaces are the 13 of a node, in the order in which Ironic lists them.
var Interfaces = []string{
	"bios", "boot", "console", "deploy", "firmware", "inspect", "management", "network", "power", "raid", "rescue", "storage", "vendor",
}

// HardwareType is a driver: what nodes with it are made of. The hardware types
// stand in hardware_types.go; nothing else compares their names, or those of
// implementations, with a string (archtest).
type HardwareType struct {
	Name string
	// About is one sentence for the documentation.
	About string
	// Properties are those of driver_info that reach the BMC.
	Properties []Property
	// Implementations of each interface, the best first. The first one that a
	// conductor has enabled is the default.
	Implementations map[string][]Implementation
}

// Implementation is one way to implement an interface.
type Implementation struct {
	Name string
	// Aliases are other names for the same implementation, as Ironic has
	// idrac-redfish for redfish. A node keeps the name that it was given.
	Aliases []string
	Means   Means
	// WritesImage: it deploys an image, so a node must say which one.
	WritesImage bool
	// RunsAgentSteps: steps that the agent offers for the interface run whenever they
	// have a priority. Other interfaces' run only where somebody asks for them.
	RunsAgentSteps bool
	// Boot says how an implementation of the interface boot boots the ramdisk.
	Boot BootMethod
	// Properties are those of driver_info that it needs beside the hardware type's.
	Properties []Property
	// DeploySteps and CleanSteps are the steps that it offers. Each has a row in the
	// table of steps (StepRule), and package conductor (activities/conductor) runs it.
	DeploySteps, CleanSteps []StepSpec
}

// steps are those that the implementation offers of a family.
func (i Implementation) steps(f Family) []StepSpec {
	switch f {
	case DeployFamily:
		return i.DeploySteps
	case CleanFamily:
		return i.CleanSteps
	}
	return nil
}

// Means is how an implementation does its work.
type Means int

// The means.
const (
	MeansNone  Means = iota // it exists to say no (no-raid); also what is not known
	MeansNoop               // there is nothing to do
	MeansFake               // it pretends: it takes the time that the settings say
	MeansBMC                // out of band: it asks the BMC
	MeansAgent              // in band: it asks the ramdisk agent
)

// BootMethod is how a server is made to boot the ramdisk.
type BootMethod string

// The boot methods.
const (
	BootFake         BootMethod = "fake"          // there is no ramdisk, or somebody else plays its agent
	BootVirtualMedia BootMethod = "virtual media" // an ISO image in the BMC's virtual CD drive
)

// Property documents one property of driver_info.
type Property struct {
	Name  string
	About string // sentences, as in GET /v1/drivers/NAME/properties
	// Required: a node without it does not validate.
	Required bool
	// Decides: the value decides where the BMC's password is sent or how the BMC is
	// verified, so the password is sealed together with it (destination.go). A
	// change of this in a hardware type that is there needs a new seal version in
	// package store.
	Decides bool
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

// RegisterHardware adds a hardware type. It must be called before anything else
// of this package is used: tests do, for a driver of their own.
func RegisterHardware(h HardwareType) { hardware = append(hardware, h) }

// Implementation is n's implementation of an interface; of MeansNone where n's
// driver is not known or does not have the one that n names.
func (n *Node) Implementation(iface string) Implementation {
	h, _ := Hardware(n.Driver)
	return h.implementation(iface, n.Interfaces[iface])
}

func (h HardwareType) implementation(iface, name string) Implementation {
	for _, i := range h.Implementations[iface] {
		if i.Name == name || slices.Contains(i.Aliases, name) {
			return i
		}
	}
	return Implementation{}
}

// Supports are the names of the implementations of each interface, the best first.
func (h HardwareType) Supports() map[string][]string {
	out := make(map[string][]string, len(h.Implementations))
	for iface, impls := range h.Implementations {
		for _, i := range impls {
			out[iface] = append(append(out[iface], i.Name), i.Aliases...)
		}
	}
	return out
}

// IsFake reports whether nodes of type h need no hardware.
func (h HardwareType) IsFake() bool {
	return slices.ContainsFunc(h.Implementations["power"], func(i Implementation) bool { return i.Means == MeansFake })
}

// AllProperties are those of driver_info that h and its implementations know,
// sorted by name.
func (h HardwareType) AllProperties() []Property {
	all := map[string]Property{}
	for _, p := range h.Properties {
		all[p.Name] = p
	}
	for _, impls := range h.Implementations {
		for _, i := range impls {
			for _, p := range i.Properties {
				all[p.Name] = p
			}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
}

// DeployISO is the URL of the image from which the virtual media of n boot the
// ramdisk agent: driver_info's or else instance_info's, which the caller gives
// with their secrets in the clear if it has them. fault.Invalid where there is none.
func DeployISO(n *Node, driverInfo, instanceInfo map[string]any) (string, error) {
	for _, from := range []map[string]any{driverInfo, instanceInfo} {
		iso, ok := from[deployISO.Name].(string)
		if !ok || iso == "" {
			continue
		}
		u, err := url.Parse(iso)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", fault.New(fault.Invalid, "%s of node %s is not an http or https URL", deployISO.Name, n.UUID)
		}
		return iso, nil
	}
	return "", fault.New(fault.Invalid, "node %s has no driver_info/%s: the boot interface %s boots the agent from it",
		n.UUID, deployISO.Name, n.Interfaces["boot"])
}

// Resolve fills in and checks the interfaces of a node of type h. want is what
// the node names ("" and absent = the default), enabled what the conductors of
// its driver and group have (Conductor.Interfaces of it). The result names all 13.
// Errors: fault.Invalid in Ironic's words, one for the first interface that does
// not fit, in the order of Interfaces.
func (h HardwareType) Resolve(want map[string]string, enabled map[string][]string) (map[string]string, error) {
	supports := h.Supports()
	out := make(map[string]string, len(Interfaces))
	for _, i := range Interfaces {
		var usable []string
		for _, impl := range supports[i] {
			if slices.Contains(enabled[i], impl) {
				usable = append(usable, impl)
			}
		}
		switch impl := want[i]; {
		case impl != "" && slices.Contains(usable, impl):
			out[i] = impl
		case impl != "" && !slices.Contains(supports[i], impl):
			return nil, fault.New(fault.Invalid, "%s interface implementation '%s' is not supported by hardware type %s.", i, text.Cut(impl), h.Name)
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

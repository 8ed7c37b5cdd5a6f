package node

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

//go:generate go test -run ^TestTheDriversStandInTheDocumentation$ . -update

// Interfaces are the 13 interfaces of a node, in Ironic's order.
var Interfaces = []string{
	"bios", "boot", "console", "deploy", "firmware", "inspect", "management", "network", "power", "raid", "rescue", "storage", "vendor",
}

// HardwareType is a driver, with the implementations that its nodes can have. All are in
// hardware_types.go. Other code never compares their names, or names of implementations,
// with a string, so that a new driver is one entry (a test of archtest).
type HardwareType struct {
	Name string
	// About is one sentence for the documentation.
	About string
	// Properties are the keys of driver_info with which the BMC is reached.
	Properties []Property
	// Probed: "temper bmc probe" can ask its BMCs, with the flag ProbeFlag; "" = without one.
	Probed    bool
	ProbeFlag string
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
	// Because says why it refuses every request, in a sentence; "" where the name says enough.
	Because string
	// WritesImage: it deploys an image, so a node must say which one.
	WritesImage bool
	// BootsISO: it deploys nothing to a disk. The server boots the ISO image that the node's instance names (instance_info/boot_iso).
	BootsISO bool
	// Choose returns the name of the implementation that does the work for a node; nil = it does it itself.
	Choose func(*Node) string
	// RunsAgentSteps: steps that the agent offers for the interface run whenever they
	// have a priority. Steps of other interfaces run only if a request names them.
	RunsAgentSteps bool
	// Methods of an implementation of the interface vendor.
	Methods []VendorMethod
	// Password is the property of driver_info with the password of the BMC's account, if an implementation of the interface management
	// can change it, and User the one with the name of the account; "" = it can't.
	User, Password string
	// Requests are the kinds of request that an implementation of the interface management has besides that for a boot device.
	Requests []OperationKind
	// NMI: an implementation of the interface management can inject an NMI.
	NMI bool
	// Boot says how an implementation of the interface boot boots the ramdisk.
	Boot BootMethod
	// Console is how clients use the consoles of an implementation of the interface console; "" = no conductor has to hold them.
	Console string
	// ConsolePort is the key of driver_info with the TCP port of a console; "" = there is none.
	ConsolePort string
	// LogicalDisk are the properties of a logical disk that an implementation of the interface raid takes; nil = it makes none.
	LogicalDisk []Property
	// Properties are the keys of driver_info that it needs besides those of the hardware type.
	Properties []Property
	// DeploySteps, CleanSteps and ServiceSteps are the steps that it offers. Each has a row in the
	// table of steps (StepRule), and package conductor (activities/conductor) runs it.
	DeploySteps, CleanSteps, ServiceSteps []StepSpec
}

// steps are those that the implementation offers of a family.
func (i Implementation) steps(f Family) []StepSpec {
	switch f {
	case DeployFamily:
		return i.DeploySteps
	case CleanFamily:
		return i.CleanSteps
	case ServiceFamily:
		return i.ServiceSteps
	}
	return nil
}

// Means is how an implementation does its work.
type Means int

// The means.
const (
	MeansNone  Means = iota // it refuses every request (no-raid); also: an unknown implementation
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
	BootNetwork      BootMethod = "network"       // iPXE, which loads a kernel and an initrd
	BootHTTP         BootMethod = "http"          // the same, and UEFI loads iPXE by HTTP
	BootHTTPImage    BootMethod = "http image"    // an ISO image that UEFI loads by HTTP, from a URL that the BMC tells it
)

// Property documents one property of driver_info.
type Property struct {
	Name  string
	About string // sentences, as in GET /v1/drivers/NAME/properties
	// Check says what is wrong with a value, whoever asks: whoever enrols a node, and the driver. It accepts an absent value.
	// Nil = only the driver knows.
	Check func(value any) error
	// ProbeFlag is the flag of "temper bmc probe" for the property, with {value} for its value; "" = the probe does without it.
	ProbeFlag string
	// Required: a node without it does not validate.
	Required bool
	// Decides: the value decides where the BMC's password is sent or how the BMC is
	// verified, so the password is sealed together with it (destination.go). If
	// this changes in a hardware type, package store needs a new seal version, because
	// secrets that were sealed before do not open otherwise.
	Decides bool
}

// Hardware returns the hardware type of that name; false if there is none.
func Hardware(driver string) (HardwareType, bool) {
	i := slices.IndexFunc(hardware, func(h HardwareType) bool { return h.Name == driver })
	if i < 0 {
		return HardwareType{}, false
	}
	return hardware[i], true
}

// HardwareTypes returns the names of all hardware types.
func HardwareTypes() []string {
	out := make([]string, len(hardware))
	for i, h := range hardware {
		out[i] = h.Name
	}
	return out
}

// RegisterHardware adds a hardware type, for tests that have a driver of their own. It must
// be called before anything else of this package is used.
func RegisterHardware(h HardwareType) { hardware = append(hardware, h) }

// Implementation returns n's implementation of an interface, or the one that it chooses for n. Its Means is MeansNone if n's
// driver is unknown or does not have the implementation that n names.
func (n *Node) Implementation(iface string) Implementation {
	h, _ := Hardware(n.Driver)
	i := h.implementation(iface, n.Interfaces[iface])
	if i.Choose != nil {
		return h.implementation(iface, i.Choose(n))
	}
	return i
}

// LacksImage reports whether n can't be deployed before somebody says with which image, and with which digest.
func (n *Node) LacksImage() bool {
	given := func(key string) bool { v, _ := n.InstanceInfo[key].(string); return v != "" }
	return n.Implementation("deploy").WritesImage && (!given("image_source") || !given("image_checksum") && !given("image_os_hash_value"))
}

func (h HardwareType) implementation(iface, name string) Implementation {
	for _, i := range h.Implementations[iface] {
		if i.Name == name || slices.Contains(i.Aliases, name) {
			return i
		}
	}
	return Implementation{}
}

// Supports returns the names of the implementations of each interface, the best first.
func (h HardwareType) Supports() map[string][]string {
	out := make(map[string][]string, len(h.Implementations))
	for iface, impls := range h.Implementations {
		for _, i := range impls {
			out[iface] = append(append(out[iface], i.Name), i.Aliases...)
		}
	}
	return out
}

// BMCProperty returns the key of driver_info that has the address, the username or the password of a node's BMC. Of an unknown
// driver it is that of the first hardware type.
func BMCProperty(driver, what string) string {
	h, known := Hardware(driver)
	if !known || len(h.Properties) == 0 {
		h = hardware[0]
	}
	i := slices.IndexFunc(h.Properties, func(p Property) bool { return strings.HasSuffix(p.Name, "_"+what) })
	return h.Properties[max(i, 0)].Name
}

// CheckChanged checks the properties of driver_info that have changed, as far as Property.Check can. before is nil for a new node
// and where the driver is another one. The error is fault.Invalid and names each property that is wrong.
func (h HardwareType) CheckChanged(before, after map[string]any) error {
	var wrong []string
	for _, p := range h.AllProperties() {
		if p.Check == nil || reflect.DeepEqual(before[p.Name], after[p.Name]) {
			continue
		}
		if err := p.Check(after[p.Name]); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return fault.New(fault.Invalid, "driver_info: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// IsFake reports whether nodes of type h need no hardware.
func (h HardwareType) IsFake() bool {
	return slices.ContainsFunc(h.Implementations["power"], func(i Implementation) bool { return i.Means == MeansFake })
}

// AllProperties returns the keys of driver_info that h and its implementations know, sorted
// by name.
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

// Resolve checks the interfaces that a node of type h asks for, and fills in the defaults.
// want has the implementation that the node names for each interface ("" and absent = the
// default), enabled those that the conductors of its driver and group have
// (coverage.Conductor.Interfaces). The result has all 13 interfaces. The error is
// fault.Invalid, in Ironic's words, for the first interface that does not fit, in the order
// of Interfaces.
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

// pythonList formats a list as Ironic's messages do.
func pythonList(in []string) string {
	quoted := make([]string, len(in))
	for i, s := range in {
		quoted[i] = fmt.Sprintf("'%s'", s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

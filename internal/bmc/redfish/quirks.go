package redfish

import (
	"strings"

	"github.com/stmcginnis/gofish/schemas"
)

//go:generate go test -run ^TestTheHardwareStandsInTheDocumentation$ . -update

// quirk is a row of the table of BMCs that the driver has to treat differently although
// their answers don't say so. What an answer does say (a parameter that is missing, a
// method that is not allowed) is tolerated wherever it is met, and has no row.
type quirk struct {
	name   string
	who    match
	seen   string // what the BMC does
	done   string // what the driver does about it
	source string // where that is reported
	effect effect
}

// effect is what the driver does differently. The zero value is the standard's way.
type effect struct {
	cdSources      []schemas.BootSource // boot sources of the virtual CD, best first
	fullBoot       bool                 // every change of Boot has enabled, target and mode
	disabledTarget bool                 // a change that disables the override has a target, too
	settingsBoot   bool                 // the override is in the system's settings resource
	attributeBoot  bool                 // the virtual CD is booted by attributes of Dell's manager
	mediaSlot      string               // Id of the only virtual CD that boots
	serialFromSKU  bool                 // SKU has the serial number of the server
	// Inspection:
	pxeAttributes     bool // attributes of the BIOS tell which interfaces can boot
	switchConnections bool // what interfaces receive by LLDP is in Dell's resource
	gpuBoard          bool // the GPUs are in another system of the same BMC
}

// and returns what both effects do.
func (e effect) and(more effect) effect {
	if more.cdSources != nil {
		e.cdSources = more.cdSources
	}
	if more.mediaSlot != "" {
		e.mediaSlot = more.mediaSlot
	}
	e.fullBoot = e.fullBoot || more.fullBoot
	e.disabledTarget = e.disabledTarget || more.disabledTarget
	e.settingsBoot = e.settingsBoot || more.settingsBoot
	e.attributeBoot = e.attributeBoot || more.attributeBoot
	e.serialFromSKU = e.serialFromSKU || more.serialFromSKU
	e.pxeAttributes = e.pxeAttributes || more.pxeAttributes
	e.switchConnections = e.switchConnections || more.switchConnections
	e.gpuBoard = e.gpuBoard || more.gpuBoard
	return e
}

// quirks is the table. docs/hardware.md is made from it. Each row has a persona of the
// simulated rack that fails the conformance suite without it.
var quirks = []quirk{
	{
		name:   "supermicro-usb-cd",
		who:    match{vendors: []string{"supermicro"}, notModels: []string{"ARS-111GL-NHR"}},
		seen:   "Lists the boot sources Cd and UsbCd and accepts both, and only UsbCd boots the virtual CD. ARS-111GL-NHR is the other way round.",
		done:   "Boots from UsbCd where it is listed.",
		source: "sushy, resources/system/system.py; sushy release note change-bootdev-smc",
		effect: effect{cdSources: []schemas.BootSource{usbCD, schemas.CdBootSource}},
	},
	{
		name:   "supermicro-full-boot",
		who:    match{vendors: []string{"supermicro"}},
		seen:   "A change of the boot override that does not name the mode resets the mode to Legacy.",
		done:   "Sends enabled, target and the mode as it is.",
		source: "DMTF/Redfishtool#106; ironic, drivers/modules/redfish/management.py (stories 2008547 and 2008712)",
		effect: effect{fullBoot: true},
	},
	{
		name:   "ami-full-boot",
		who:    match{vendors: []string{"ami", "american megatrends", "asrock"}},
		seen:   "Ignores or refuses a change of the boot override that leaves out the mode, enabled or the target.",
		done:   "Sends enabled, target and mode.",
		source: "ironic release notes redfish-full-boot-payload-asrockrack and fix-redfish-boot-device-full-request; ansible-collections/community.general#11542",
		effect: effect{fullBoot: true},
	},
	{
		name:   "hpe-disabled-target",
		who:    match{vendors: []string{"hpe", "hewlett packard"}},
		seen:   "Refuses to disable the boot override without a target.",
		done:   "Sends the target None as well.",
		source: "ironcore-dev/metal-operator#998",
		effect: effect{disabledTarget: true},
	},
	{
		name:   "idrac9-attribute-boot",
		who:    match{vendors: []string{"dell"}, from: "3.0", before: "6.0"},
		seen:   "iDRAC 9 with firmware before 6.00: the boot source Cd does not boot the virtual CD.",
		done:   "Sets ServerBoot.1.FirstBootDevice to VCD-DVD, and ServerBoot.1.BootOnce, in the attributes of the manager.",
		source: "ironic, doc/source/admin/drivers/redfish.rst; ironic release note fix-redfish-idrac-vmedia-version-range; community.general's idrac_redfish_config",
		effect: effect{attributeBoot: true},
	},
	{
		name:   "idrac10-settings-boot",
		who:    match{vendors: []string{"dell"}, before: "3.0", managerModel: "17G"},
		seen:   "iDRAC 10: the boot override of the system is read-only; it is written in the settings resource, and shown there until the next boot.",
		done:   "Writes and reads the override in the settings resource.",
		source: "ansible-collections/community.general#11297; stmcginnis/gofish#511; sushy release note idrac10-settings-resource",
		effect: effect{settingsBoot: true},
	},
	{
		name:   "idrac10-media-slot",
		who:    match{vendors: []string{"dell"}, before: "3.0", managerModel: "17G"},
		seen:   "iDRAC 10: has two virtual CDs, lists number 2 first, and boots number 1 only.",
		done:   "Uses virtual CD 1.",
		source: "dell/iDRAC-Redfish-Scripting#324; ironic release note idrac10-vmedia-slot1",
		effect: effect{mediaSlot: "1"},
	},
	{
		name:   "dell-serial",
		who:    match{vendors: []string{"dell"}},
		seen:   "SerialNumber is the number of the main board; the server's is in SKU.",
		done:   "Inspection stores SKU as the serial number.",
		source: "ironic release notes idrac-inspect-sku and idrac-redfish-sku",
		effect: effect{serialFromSKU: true},
	},
	{
		name:   "dell-pxe-attributes",
		who:    match{vendors: []string{"dell"}},
		seen:   "Whether a UEFI server boots from a network interface is in attributes of the BIOS: PxeDev1EnDis and PxeDev1Interface, up to 4.",
		done:   "Inspection reads them, and makes ports for the interfaces that they enable.",
		source: "ironic, drivers/modules/drac/inspect.py",
		effect: effect{pxeAttributes: true},
	},
	{
		name:   "dell-switch-connections",
		who:    match{vendors: []string{"dell"}},
		seen:   "What interfaces receive by LLDP is in the resource DellSwitchConnections, and not in their ports.",
		done:   "Inspection reads it.",
		source: "ironic, drivers/modules/drac/inspect.py",
		effect: effect{switchConnections: true},
	},
	{
		name:   "nvidia-gpu-board",
		who:    match{vendors: []string{"nvidia"}},
		seen:   "The GPUs are processors of a second system of the same BMC, whose Id begins with HGX_.",
		done:   "Inspection adds them to the system of the node.",
		source: "NVIDIA/infra-controller, crates/bmc-mock and #5418",
		effect: effect{gpuBoard: true},
	},
}

// Quirk is a row of the table for people: which BMCs do what, what the driver does about it,
// and where that is reported.
type Quirk struct {
	Name   string `json:"name"`
	Who    string `json:"bmcs"`
	Seen   string `json:"seen"`
	Done   string `json:"done"`
	Source string `json:"source"`
}

// Quirks returns the table.
func Quirks() []Quirk {
	out := make([]Quirk, len(quirks))
	for i, q := range quirks {
		out[i] = Quirk{Name: q.name, Who: q.who.String(), Seen: q.seen, Done: q.done, Source: q.source}
	}
	return out
}

// identity is what a BMC says about itself.
type identity struct {
	vendor       string // ServiceRoot
	manufacturer string // ComputerSystem
	model        string // ComputerSystem
	managerModel string // Manager
	firmware     string // Manager
}

// match says which BMCs a row is about. Every condition that is set must hold.
type match struct {
	vendors      []string // beginnings of ServiceRoot.Vendor or ComputerSystem.Manufacturer, in lower case
	notModels    []string // ComputerSystem.Model is none of them
	managerModel string   // part of Manager.Model
	from, before string   // versions of Manager.FirmwareVersion, before excluded
}

// String describes the BMCs in words.
func (m match) String() string {
	words := []string{"vendor " + strings.Join(m.vendors, ", ")}
	if m.managerModel != "" {
		words = append(words, "manager's model "+m.managerModel)
	}
	if m.from != "" {
		words = append(words, "firmware from "+m.from)
	}
	if m.before != "" {
		words = append(words, "firmware before "+m.before)
	}
	if len(m.notModels) > 0 {
		words = append(words, "not the model "+strings.Join(m.notModels, ", "))
	}
	return strings.Join(words, "; ")
}

// byVendor reports whether the row is about this vendor's BMCs.
func (m match) byVendor(id identity) bool {
	for _, v := range m.vendors {
		if strings.HasPrefix(strings.ToLower(id.vendor), v) || strings.HasPrefix(strings.ToLower(id.manufacturer), v) {
			return true
		}
	}
	return false
}

// needsManager reports whether the row can be judged only with what the manager says.
func (m match) needsManager() bool { return m.managerModel != "" || m.from != "" || m.before != "" }

func (m match) fits(id identity) bool {
	if !m.byVendor(id) || !strings.Contains(id.managerModel, m.managerModel) {
		return false
	}
	for _, model := range m.notModels {
		if strings.EqualFold(model, id.model) {
			return false
		}
	}
	if m.from == "" && m.before == "" {
		return true
	}
	if id.firmware == "" {
		return false
	}
	return compareVersions(id.firmware, m.from) >= 0 && (m.before == "" || compareVersions(id.firmware, m.before) < 0)
}

// effectOf returns what the rows that fit do together. without is the name of a row that
// tests leave out.
func effectOf(id identity, without string) effect {
	var e effect
	for _, q := range quirks {
		if q.name != without && q.who.fits(id) {
			e = e.and(q.effect)
		}
	}
	return e
}

// compareVersions compares versions number by number, and returns -1, 0 or 1. What is
// missing or no number counts as 0.
func compareVersions(a, b string) int {
	for a != "" || b != "" {
		var x, y int
		x, a = firstNumber(a)
		y, b = firstNumber(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	}
	return 0
}

// firstNumber returns the number before the first dot, and what follows the dot.
func firstNumber(version string) (n int, rest string) {
	head, rest, _ := strings.Cut(version, ".")
	for _, r := range head {
		if r < '0' || r > '9' || n > 1<<20 {
			break
		}
		n = n*10 + int(r-'0')
	}
	return n, rest
}

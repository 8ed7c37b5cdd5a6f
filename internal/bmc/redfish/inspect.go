package redfish

import (
	"context"
	"net"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
)

// Inspect reads the inventory. What a BMC does not tell stays empty, and a
// member that can't be read is left out; but when the BMC stops answering,
// inspection fails rather than find half a machine.
func (s *session) Inspect(ctx context.Context) (bmc.Inventory, error) {
	ctx, done := within(ctx, inspectTime)
	defer done()
	inv, err := s.inspect(ctx)
	if err != nil {
		return bmc.Inventory{}, s.fail("inspect", err)
	}
	return inv, nil
}

func (s *session) inspect(ctx context.Context) (bmc.Inventory, error) {
	sys, _, _, err := s.look(ctx)
	if err != nil {
		return bmc.Inventory{}, err
	}
	inv := bmc.Inventory{
		CPUs:         int(sys.ProcessorSummary.v.LogicalProcessorCount),
		MemoryMiB:    int64(sys.MemorySummary.v.TotalSystemMemoryGiB * 1024),
		Manufacturer: sys.Manufacturer.word(),
		Model:        sys.Model.word(),
		Serial:       sys.SerialNumber.word(),
		SystemUUID:   strings.ToLower(sys.UUID.word()),
		BootMode:     modeOf(sys.Boot.v.Mode),
	}
	if err := s.processors(ctx, sys, &inv); err != nil {
		return bmc.Inventory{}, err
	}
	if inv.Disks, err = s.disks(ctx, sys); err != nil {
		return bmc.Inventory{}, err
	}
	if inv.NICs, err = s.nics(ctx, sys); err != nil {
		return bmc.Inventory{}, err
	}
	return inv, nil
}

// each reads every readable member of a collection and hands it to use.
func each[T any](ctx context.Context, s *session, place link, use func(T)) error {
	if place == "" {
		return nil
	}
	paths, err := s.members(ctx, string(place))
	if err != nil && !skippable(err) {
		return err
	}
	return eachOf(ctx, s, paths, use)
}

func eachOf[T any](ctx context.Context, s *session, paths []string, use func(T)) error {
	for _, path := range paths[:min(len(paths), maxMembers)] {
		var member T
		_, err := s.read(ctx, path, &member)
		switch {
		case err == nil:
			use(member)
		case !skippable(err):
			return err
		}
	}
	return nil
}

// architectures are Linux's names, which properties.cpu_arch has.
var (
	byInstructions = map[schemas.InstructionSet]string{
		schemas.X8664InstructionSet: "x86_64", schemas.X86InstructionSet: "i686",
		schemas.ARMA64InstructionSet: "aarch64", schemas.ARMA32InstructionSet: "armv7l",
		schemas.PowerISAInstructionSet: "ppc64le", schemas.IA64InstructionSet: "ia64",
		schemas.RV64InstructionSet: "riscv64", schemas.RV32InstructionSet: "riscv32",
		schemas.MIPS64InstructionSet: "mips64", schemas.MIPS32InstructionSet: "mips",
	}
	byFamily = map[schemas.ProcessorArchitecture]string{
		schemas.X86ProcessorArchitecture: "x86_64", schemas.ARMProcessorArchitecture: "aarch64",
		schemas.PowerProcessorArchitecture: "ppc64le", schemas.IA64ProcessorArchitecture: "ia64",
		schemas.RISCVProcessorArchitecture: "riscv64", schemas.MIPSProcessorArchitecture: "mips64",
	}
)

// processors fills in what the summary leaves open: the number of logical
// processors, else cores, of all sockets; and the model and architecture of the
// first processor that has them. The summary's model is used only if no processor
// has one, because some BMCs put only the manufacturer there.
func (s *session) processors(ctx context.Context, sys system, inv *bmc.Inventory) error {
	var threads, cores number
	err := each(ctx, s, sys.Processors, func(p processor) {
		if p.ProcessorType != "" && p.ProcessorType != text(schemas.CPUProcessorType) || p.Status.v.absent() {
			return
		}
		threads += p.TotalThreads
		cores += p.TotalCores
		if inv.CPUModel == "" {
			inv.CPUModel = p.Model.word()
		}
		if inv.Architecture == "" {
			inv.Architecture = byInstructions[p.InstructionSet.v]
		}
		if inv.Architecture == "" {
			inv.Architecture = byFamily[p.ProcessorArchitecture.v]
		}
	})
	if inv.CPUModel == "" {
		inv.CPUModel = sys.ProcessorSummary.v.Model.word()
	}
	for _, n := range []number{threads, sys.ProcessorSummary.v.CoreCount, cores} {
		if inv.CPUs == 0 {
			inv.CPUs = int(n)
		}
	}
	return err
}

// absent is an empty socket or bay.
func (s status) absent() bool { return s.State == text(schemas.AbsentState) }

// disks lists drives, or the devices of SimpleStorage where there is no Storage.
func (s *session) disks(ctx context.Context, sys system) ([]bmc.Disk, error) {
	var disks []bmc.Disk
	add := func(d bmc.Disk, st status) {
		if d.SizeBytes >= minDisk && !removable(d.Name, d.Model) && !st.absent() && len(disks) < maxMembers {
			disks = append(disks, d)
		}
	}
	var drives []string
	err := each(ctx, s, sys.Storage, func(st storage) { drives = append(drives, st.Drives[:min(len(st.Drives), maxMembers-len(drives))]...) })
	if err != nil {
		return nil, err
	}
	err = eachOf(ctx, s, drives, func(d drive) {
		add(bmc.Disk{
			Name: firstOf(d.Name.word(), d.ID.word()), SizeBytes: int64(d.CapacityBytes),
			Serial: d.SerialNumber.word(), Model: d.Model.word(), Media: d.media(),
		}, d.Status.v)
	})
	if err != nil || len(disks) > 0 {
		return disks, err
	}
	err = each(ctx, s, sys.SimpleStorage, func(st simpleStorage) {
		for _, d := range st.Devices {
			add(bmc.Disk{Name: d.Name.word(), SizeBytes: int64(d.CapacityBytes), Model: d.Model.word()}, d.Status.v)
		}
	})
	return disks, err
}

// minDisk is the smallest size of a disk in bytes. A virtual CD appears as a device
// of one sector, which has 2 KiB.
const minDisk = 1 << 20

// removable reports whether a device's name or model says that it is a drive for
// removable media. BMCs list their virtual drives among the system's disks.
func removable(names ...string) bool {
	for _, name := range names {
		name = strings.ToLower(name)
		for _, word := range []string{"virtual cd", "cdrom", "cd-rom", "dvd", "floppy"} {
			if strings.Contains(name, word) {
				return true
			}
		}
	}
	return false
}

func (d drive) media() string {
	switch {
	case d.Protocol == text(schemas.NVMeProtocol):
		return "nvme"
	case d.MediaType == text(schemas.SSDMediaType):
		return "ssd"
	case d.MediaType == text(schemas.HDDMediaType), d.MediaType == text(schemas.SMRMediaType):
		return "hdd"
	}
	return ""
}

// nics lists Ethernet interfaces that have an address, each address once: VLANs
// and bridges repeat that of their card. Interfaces that connect to the BMC are left
// out: their addresses are often the same on all servers of a model.
func (s *session) nics(ctx context.Context, sys system) ([]bmc.NIC, error) {
	var nics []bmc.NIC
	seen := map[string]bool{}
	err := each(ctx, s, sys.EthernetInterfaces, func(e ethernetInterface) {
		mac := macOf(string(e.MACAddress))
		if mac == "" {
			mac = macOf(string(e.PermanentMACAddress))
		}
		if mac == "" || seen[mac] || e.Status.v.absent() || e.toBMC() {
			return
		}
		seen[mac] = true
		nics = append(nics, bmc.NIC{
			Name: e.ID.word(), MAC: mac, Enabled: e.enabled(),
			LinkUp: e.LinkStatus == text(schemas.LinkUpLinkStatus),
		})
	})
	return nics, err
}

// enabled is true where the BMC does not say otherwise.
func (e ethernetInterface) enabled() bool {
	if on := e.InterfaceEnabled.v; on != nil && !*on {
		return false
	}
	return e.Status.v.State == "" || e.Status.v.State == text(schemas.EnabledState)
}

// toBMC reports whether the interface is the system's end of a host interface, which
// connects it to the BMC: it links to a host interface or has Supermicro's name for one.
func (e ethernetInterface) toBMC() bool {
	return e.Links.v.HostInterface != "" || len(e.Links.v.HostInterfaces) > 0 ||
		strings.EqualFold(string(e.ID), "ToManager") || strings.EqualFold(string(e.Name), "Host Ethernet Interface")
}

// macOf is an Ethernet address in lower case with colons, "" for anything else.
func macOf(s string) string {
	hw, err := net.ParseMAC(s)
	if err != nil || len(hw) != 6 || strings.Trim(hw.String(), "0:") == "" {
		return ""
	}
	return hw.String()
}

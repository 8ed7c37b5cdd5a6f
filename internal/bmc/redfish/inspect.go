package redfish

import (
	"context"
	"net"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
)

// Inspect reads the inventory. What a BMC does not report stays empty, and a resource
// that can't be read is left out. But if the BMC stops answering, Inspect fails, because
// half an inventory would look like a smaller server.
func (s *session) Inspect(ctx context.Context) (bmc.Inventory, error) {
	ctx, done := withBudget(ctx, inspectTime)
	defer done()
	inv, err := s.inspect(ctx)
	if err != nil {
		return bmc.Inventory{}, s.wrap("inspect", err)
	}
	return inv, nil
}

func (s *session) inspect(ctx context.Context) (bmc.Inventory, error) {
	sys, path, _, err := s.readSystem(ctx)
	if err != nil {
		return bmc.Inventory{}, err
	}
	quirks, err := s.quirks(ctx, sys, path)
	if err != nil {
		return bmc.Inventory{}, err
	}
	inv := bmc.Inventory{
		CPUs:         int(sys.ProcessorSummary.v.LogicalProcessorCount),
		MemoryMiB:    int64(sys.MemorySummary.v.TotalSystemMemoryGiB * 1024),
		Manufacturer: sys.Manufacturer.stored(),
		Model:        sys.Model.stored(),
		Serial:       sys.SerialNumber.stored(),
		SystemUUID:   strings.ToLower(sys.UUID.stored()),
		BootMode:     modeFromRedfish(sys.Boot.v.Mode),
	}
	if sku := sys.SKU.stored(); quirks.serialFromSKU && sku != "" {
		inv.Serial = sku
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

// each calls use for each member of a collection that can be read.
func each[T any](ctx context.Context, s *session, collection link, use func(T)) error {
	if collection == "" {
		return nil
	}
	paths, err := s.members(ctx, string(collection))
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

// Linux's names of architectures, which Ironic has in properties.cpu_arch.
var (
	archByInstructionSet = map[schemas.InstructionSet]string{
		schemas.X8664InstructionSet: "x86_64", schemas.X86InstructionSet: "i686",
		schemas.ARMA64InstructionSet: "aarch64", schemas.ARMA32InstructionSet: "armv7l",
		schemas.PowerISAInstructionSet: "ppc64le", schemas.IA64InstructionSet: "ia64",
		schemas.RV64InstructionSet: "riscv64", schemas.RV32InstructionSet: "riscv32",
		schemas.MIPS64InstructionSet: "mips64", schemas.MIPS32InstructionSet: "mips",
	}
	archByProcessor = map[schemas.ProcessorArchitecture]string{
		schemas.X86ProcessorArchitecture: "x86_64", schemas.ARMProcessorArchitecture: "aarch64",
		schemas.PowerProcessorArchitecture: "ppc64le", schemas.IA64ProcessorArchitecture: "ia64",
		schemas.RISCVProcessorArchitecture: "riscv64", schemas.MIPSProcessorArchitecture: "mips64",
	}
)

// processors sets the number of logical processors, else cores, of all sockets, if the
// summary did not have it; and the model and architecture of the first processor that has
// them. It uses the summary's model only if no processor has one, because some BMCs put
// only the manufacturer there.
func (s *session) processors(ctx context.Context, sys system, inv *bmc.Inventory) error {
	var threads, cores looseNumber
	err := each(ctx, s, sys.Processors, func(p processor) {
		if p.ProcessorType != "" && p.ProcessorType != looseString(schemas.CPUProcessorType) || p.Status.v.absent() {
			return
		}
		threads += p.TotalThreads
		cores += p.TotalCores
		if inv.CPUModel == "" {
			inv.CPUModel = p.Model.stored()
		}
		if inv.Architecture == "" {
			inv.Architecture = archByInstructionSet[p.InstructionSet.v]
		}
		if inv.Architecture == "" {
			inv.Architecture = archByProcessor[p.ProcessorArchitecture.v]
		}
	})
	if inv.CPUModel == "" {
		inv.CPUModel = sys.ProcessorSummary.v.Model.stored()
	}
	for _, n := range []looseNumber{threads, sys.ProcessorSummary.v.CoreCount, cores} {
		if inv.CPUs == 0 {
			inv.CPUs = int(n)
		}
	}
	return err
}

// absent reports whether the resource is an empty socket or bay.
func (s status) absent() bool { return s.State == looseString(schemas.AbsentState) }

// disks returns the drives, or the devices of SimpleStorage if Storage has none.
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
			Name: firstNonBlank(d.Name.stored(), d.ID.stored()), SizeBytes: int64(d.CapacityBytes),
			Serial: d.SerialNumber.stored(), Model: d.Model.stored(), Media: d.media(),
		}, d.Status.v)
	})
	if err != nil || len(disks) > 0 {
		return disks, err
	}
	err = each(ctx, s, sys.SimpleStorage, func(st simpleStorage) {
		for _, d := range st.Devices {
			add(bmc.Disk{Name: d.Name.stored(), SizeBytes: int64(d.CapacityBytes), Model: d.Model.stored()}, d.Status.v)
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
	case d.Protocol == looseString(schemas.NVMeProtocol):
		return "nvme"
	case d.MediaType == looseString(schemas.SSDMediaType):
		return "ssd"
	case d.MediaType == looseString(schemas.HDDMediaType), d.MediaType == looseString(schemas.SMRMediaType):
		return "hdd"
	}
	return ""
}

// nics returns the Ethernet interfaces that have an address, each address once: VLANs and
// bridges have that of their card. It leaves out interfaces that connect to the BMC: their
// addresses are often the same on all servers of a model.
func (s *session) nics(ctx context.Context, sys system) ([]bmc.NIC, error) {
	var nics []bmc.NIC
	seen := map[string]bool{}
	err := each(ctx, s, sys.EthernetInterfaces, func(e ethernetInterface) {
		mac := parseMAC(string(e.MACAddress))
		if mac == "" {
			mac = parseMAC(string(e.PermanentMACAddress))
		}
		if mac == "" || seen[mac] || e.Status.v.absent() || e.toBMC() {
			return
		}
		seen[mac] = true
		nics = append(nics, bmc.NIC{
			Name: e.ID.stored(), MAC: mac, Enabled: e.enabled(),
			LinkUp: e.LinkStatus == looseString(schemas.LinkUpLinkStatus),
		})
	})
	return nics, err
}

// enabled reports whether the interface is enabled, which it is unless the BMC says
// otherwise.
func (e ethernetInterface) enabled() bool {
	if on := e.InterfaceEnabled.v; on != nil && !*on {
		return false
	}
	return e.Status.v.State == "" || e.Status.v.State == looseString(schemas.EnabledState)
}

// toBMC reports whether the interface is the system's end of a host interface, which
// connects it to the BMC: it links to a host interface or has Supermicro's name for one.
func (e ethernetInterface) toBMC() bool {
	return e.Links.v.HostInterface != "" || len(e.Links.v.HostInterfaces) > 0 ||
		strings.EqualFold(string(e.ID), "ToManager") || strings.EqualFold(string(e.Name), "Host Ethernet Interface")
}

// parseMAC returns an Ethernet address in lower case with colons, "" for anything else.
func parseMAC(s string) string {
	hw, err := net.ParseMAC(s)
	if err != nil || len(hw) != 6 || strings.Trim(hw.String(), "0:") == "" {
		return ""
	}
	return hw.String()
}

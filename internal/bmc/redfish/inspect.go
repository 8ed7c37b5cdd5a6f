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
		CPUModel:     string(sys.ProcessorSummary.v.Model),
		MemoryMiB:    int64(sys.MemorySummary.v.TotalSystemMemoryGiB * 1024),
		Manufacturer: string(sys.Manufacturer),
		Model:        string(sys.Model),
		Serial:       string(sys.SerialNumber),
		SystemUUID:   strings.ToLower(string(sys.UUID)),
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
func each[T any](ctx context.Context, s *session, place schemas.Link, use func(T)) error {
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

// processors fills in what the summary leaves open: logical processors, else
// cores, of all sockets; model and architecture of the first that tells.
func (s *session) processors(ctx context.Context, sys system, inv *bmc.Inventory) error {
	var threads, cores number
	err := each(ctx, s, sys.Processors, func(p processor) {
		if p.ProcessorType != "" && p.ProcessorType != text(schemas.CPUProcessorType) || p.Status.v.absent() {
			return
		}
		threads += p.TotalThreads
		cores += p.TotalCores
		if inv.CPUModel == "" {
			inv.CPUModel = string(p.Model)
		}
		if inv.Architecture == "" {
			inv.Architecture = byInstructions[p.InstructionSet.v]
		}
		if inv.Architecture == "" {
			inv.Architecture = byFamily[p.ProcessorArchitecture.v]
		}
	})
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
		if d.SizeBytes > 0 && !st.absent() && len(disks) < maxMembers {
			disks = append(disks, d)
		}
	}
	var drives []string
	err := each(ctx, s, sys.Storage, func(st storage) { drives = append(drives, st.Drives.v.ToStrings()...) })
	if err != nil {
		return nil, err
	}
	err = eachOf(ctx, s, drives, func(d drive) {
		add(bmc.Disk{
			Name: firstOf(string(d.Name), string(d.ID)), SizeBytes: int64(d.CapacityBytes),
			Serial: string(d.SerialNumber), Model: string(d.Model), Media: d.media(),
		}, d.Status.v)
	})
	if err != nil || len(disks) > 0 {
		return disks, err
	}
	err = each(ctx, s, sys.SimpleStorage, func(st simpleStorage) {
		for _, d := range st.Devices.v {
			add(bmc.Disk{Name: string(d.Name), SizeBytes: int64(d.CapacityBytes), Model: string(d.Model)}, d.Status.v)
		}
	})
	return disks, err
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
// and bridges repeat that of their card.
func (s *session) nics(ctx context.Context, sys system) ([]bmc.NIC, error) {
	var nics []bmc.NIC
	seen := map[string]bool{}
	err := each(ctx, s, sys.EthernetInterfaces, func(e ethernetInterface) {
		mac := macOf(string(e.MACAddress))
		if mac == "" {
			mac = macOf(string(e.PermanentMACAddress))
		}
		if mac == "" || seen[mac] || e.Status.v.absent() {
			return
		}
		seen[mac] = true
		nics = append(nics, bmc.NIC{
			Name: string(e.ID), MAC: mac, Enabled: e.enabled(),
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

// macOf is an Ethernet address in lower case with colons, "" for anything else.
func macOf(s string) string {
	hw, err := net.ParseMAC(s)
	if err != nil || len(hw) != 6 || strings.Trim(hw.String(), "0:") == "" {
		return ""
	}
	return hw.String()
}

// health is the rolled-up health, else the system's own, in bmc's words.
func health(s status) bmc.Health {
	told := firstOf(string(s.HealthRollup), string(s.Health))
	switch schemas.Health(told) {
	case schemas.OKHealth, schemas.WarningHealth, schemas.CriticalHealth:
		return bmc.Health(strings.ToLower(told))
	}
	return ""
}

package ipa

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temper.dev/temper/internal/agent"
)

// managers are the hardware managers and their versions.
var managers = map[string]string{"generic_hardware_manager": "1.2"}

const managerName = "GenericHardwareManager"

func (a *Agent) inventory() *agent.Inventory {
	s := a.s
	cpu := s.CPUs[0]
	out := &agent.Inventory{
		CPU: agent.CPU{
			ModelName: agent.Text(cpu.Model), Frequency: agent.Text(fmt.Sprintf("%d.0000", cpu.MHz)),
			Count: agent.Number(len(s.CPUs) * cpu.Threads), Architecture: "x86_64", Flags: []string{"fpu", "vmx", "sse2", "aes", "avx2"},
			SocketCount: agent.Number(len(s.CPUs)),
		},
		// The kernel reserves a part of the memory.
		Memory:     agent.Memory{Total: agent.Number(s.MemoryMiB() << 20 / 64 * 63), PhysicalMB: agent.Number(s.MemoryMiB())},
		Boot:       agent.BootInfo{Mode: "uefi"},
		BMCAddress: "127.0.0.1", BMCV6Address: "::/0", BMCMAC: agent.Text(s.BMCMAC),
		SystemVendor: agent.SystemVendor{
			ProductName: agent.Text(s.Model), SerialNumber: agent.Text(s.Serial), Manufacturer: agent.Text(s.Manufacturer),
			Firmware: agent.Firmware{Vendor: agent.Text(s.Manufacturer), Version: agent.Text(s.FirmwareVersion("BIOS")), BuildDate: "01/01/2026"},
		},
		Hostname: agent.Text(s.Name),
	}
	if a.s.BootOverride().Mode == "Legacy" {
		out.Boot.Mode = "bios"
	}
	for i, n := range s.NICs {
		out.Interfaces = append(out.Interfaces, agent.Interface{
			Name: agent.Text(n.Name), MAC: agent.Text(n.MAC), IPv4: "127.0.0.1", HasCarrier: true, Vendor: "0x8086", Product: "0x1592",
			SpeedMbps: agent.Number(n.Mbps), PCIAddress: agent.Text(fmt.Sprintf("0000:17:00.%d", i)), Driver: "ice",
		})
	}
	for i, d := range s.Drives {
		out.Disks = append(out.Disks, agent.Disk{
			Name: agent.Text(d.Name), Model: agent.Text(d.Model), Size: agent.Number(d.Bytes), WWN: agent.Text(d.WWN),
			Serial: agent.Text(d.Serial), Vendor: "SIM", HCTL: agent.Text(fmt.Sprintf("%d:0:0:0", i)),
			ByPath: agent.Text(fmt.Sprintf("/dev/disk/by-path/pci-0000:65:00.0-scsi-%d:0:0:0", i)), LogicalSectors: 512, PhysicalSectors: 4096,
		})
	}
	return out
}

// inspection is the inventory with what the default collector adds.
func (a *Agent) inspection() agent.Inspection {
	inventory := a.inventory()
	plugin := map[string]json.RawMessage{}
	for k, v := range map[string]any{
		"root_disk": inventory.Disks[0], "boot_interface": nil,
		"configuration": map[string]any{
			"collectors": []string{"default", "logs"},
			"managers":   []any{map[string]string{"name": "generic_hardware_manager", "version": managers["generic_hardware_manager"]}},
		},
		"logs": a.logs(),
	} {
		plugin[k], _ = json.Marshal(v) // plain values encode
	}
	return agent.Inspection{Inventory: inventory, Plugin: plugin}
}

// logf adds a line to the agent's own log, which collect_system_logs returns.
func (a *Agent) logf(format string, args ...any) {
	line := time.Now().UTC().Format(time.RFC3339Nano) + " " + fmt.Sprintf(format, args...)
	a.log.Debug("agent: " + fmt.Sprintf(format, args...))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.journal = append(a.journal, line); len(a.journal) > 500 {
		a.journal = a.journal[1:]
	}
}

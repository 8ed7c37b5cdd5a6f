package activities

import (
	"context"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const gib = 1 << 30

// inspectHardware reads the inventory from the BMC. Properties and ports are
// Ironic's: cpus, memory_mb, local_gb (of the first disk), cpu_arch.
func inspectHardware(ctx context.Context, t *task, _ *node.Step) (outcome, error) {
	if t.isFake("inspect") {
		return over, fakeStep(ctx, t, "inspect")
	}
	s, err := t.bmc(ctx)
	if err != nil {
		return 0, err
	}
	inv, err := s.Inspect(ctx)
	if err != nil {
		return 0, err
	}
	if p, err := s.Power(ctx); err == nil {
		t.saw(p)
	}
	return over, t.Records.SaveInspection(ctx, t.op.ID, t.claim, fromBMC(inv))
}

func fromBMC(inv bmc.Inventory) node.Inspection {
	props := map[string]any{}
	put := func(key string, v int64) {
		if v > 0 {
			props[key] = strconv.FormatInt(v, 10)
		}
	}
	put("cpus", int64(inv.CPUs))
	put("memory_mb", inv.MemoryMiB)
	if len(inv.Disks) > 0 {
		put("local_gb", inv.Disks[0].SizeBytes/gib)
	}
	for key, v := range map[string]string{"cpu_arch": inv.Architecture, "vendor": strings.TrimSpace(inv.Manufacturer)} {
		if v != "" {
			props[key] = v
		}
	}
	out := node.Inspection{Properties: props, BootMode: string(inv.BootMode), Inventory: inventoryOf(inv)}
	for _, nic := range inv.NICs {
		out.Ports = append(out.Ports, node.Port{Address: strings.ToLower(nic.MAC), PXEEnabled: true})
	}
	return out
}

// inventoryOf is the BMC's inventory in the shape of the agent's, which is what
// clients of /v1/nodes/X/inventory read.
func inventoryOf(inv bmc.Inventory) map[string]any {
	disks, nics := []map[string]any{}, []map[string]any{}
	for _, d := range inv.Disks {
		disks = append(disks, map[string]any{
			"name": d.Name, "size": d.SizeBytes, "serial": d.Serial, "model": d.Model, "rotational": d.Media == "hdd",
		})
	}
	for _, n := range inv.NICs {
		nics = append(nics, map[string]any{"name": n.Name, "mac_address": n.MAC, "has_carrier": n.LinkUp})
	}
	return map[string]any{
		"cpu":           map[string]any{"count": inv.CPUs, "model_name": inv.CPUModel, "architecture": inv.Architecture},
		"memory":        map[string]any{"physical_mb": inv.MemoryMiB},
		"disks":         disks,
		"interfaces":    nics,
		"boot":          map[string]any{"current_boot_mode": string(inv.BootMode)},
		"system_vendor": map[string]any{"manufacturer": inv.Manufacturer, "product_name": inv.Model, "serial_number": inv.Serial},
	}
}

// collectInventory reads what the agent sent to /v1/continue_inspection. What it
// could not find fails the inspection (Ironic's hook ramdisk-error).
func collectInventory(ctx context.Context, t *task, _ *node.Step) (outcome, error) {
	raw, plugin, err := t.Records.Inventory(ctx, t.node.UUID)
	if err != nil {
		return 0, err
	}
	if told, ok := plugin["error"].(string); ok && told != "" {
		return 0, fault.New(fault.Refused, "the agent of node %s could not inspect it: %s", t.node.UUID, agent.Words(told))
	}
	t.at(ctx, chaos.Looked, "inventory")
	found, err := fromAgent(raw)
	if err != nil {
		return 0, fault.New(fault.Invalid, "inventory of node %s: %w", t.node.UUID, err)
	}
	return over, t.Records.SaveInspection(ctx, t.op.ID, t.claim, found)
}

package conductor

import (
	"context"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// inspectHardware reads the inventory from the BMC. Properties and ports are
// Ironic's: cpus, memory_mb, local_gb (localGB), cpu_arch.
func inspectHardware(ctx context.Context, t *task, _ *node.Step) (outcome, error) {
	s, err := t.inspector(ctx)
	if err != nil {
		return 0, err
	}
	inv, err := s.Inspect(ctx)
	if err != nil {
		return 0, err
	}
	_, _, _ = t.currentPower(ctx) // a node without it has been inspected all the same
	return done, t.saveInspection(ctx, inspectionOfBMC(inv))
}

func inspectionOfBMC(inv bmc.Inventory) node.Inspection {
	props := map[string]any{}
	put := func(key string, v int64) {
		if v > 0 {
			props[key] = strconv.FormatInt(v, 10)
		}
	}
	put("cpus", int64(inv.CPUs))
	put("memory_mb", inv.MemoryMiB)
	var sizes []int64
	for _, d := range inv.Disks {
		sizes = append(sizes, d.SizeBytes)
	}
	props["local_gb"] = strconv.FormatInt(localGB(sizes), 10)
	for key, v := range map[string]string{"cpu_arch": inv.Architecture, "vendor": strings.TrimSpace(inv.Manufacturer)} {
		if v != "" {
			props[key] = v
		}
	}
	out := node.Inspection{Properties: props, BootMode: string(inv.BootMode), Inventory: inventoryOf(inv)}
	for _, nic := range inv.NICs {
		if nic.Enabled { // as Ironic does: servers don't boot from disabled interfaces
			out.Ports = append(out.Ports, node.Port{Address: strings.ToLower(nic.MAC), PXEEnabled: true})
		}
	}
	return out
}

// inventoryOf returns the BMC's inventory in the format of the agent's, which clients of
// /v1/nodes/X/inventory expect.
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

// inventoryTurns bounds how many inventories this process decodes at once: a decoded
// inventory takes many times its size.
var inventoryTurns = semaphore.NewWeighted(2)

// collectInventory reads what the agent sent to /v1/continue_inspection. What it
// could not find fails the inspection (Ironic's hook ramdisk-error).
func collectInventory(ctx context.Context, t *task, _ *node.Step) (outcome, error) {
	found, err := t.readInventory(ctx)
	if err != nil {
		return 0, err
	}
	return done, t.saveInspection(ctx, found)
}

func (t *task) readInventory(ctx context.Context) (node.Inspection, error) {
	if err := inventoryTurns.Acquire(ctx, 1); err != nil {
		return node.Inspection{}, err
	}
	defer inventoryTurns.Release(1)
	raw, plugin, err := t.Store.Inventory(ctx, t.node.UUID)
	if err != nil {
		return node.Inspection{}, err
	}
	if told, ok := plugin["error"].(string); ok && told != "" {
		return node.Inspection{}, fault.Coded(fault.InspectionFailed, "%s (the agent could not inspect the server)", agent.OneLine(told))
	}
	found, err := inspectionOfAgent(raw)
	if err != nil {
		return node.Inspection{}, fault.CodedAs(fault.Invalid, fault.InspectionFailed, "inventory: %w", err)
	}
	return found, nil
}

func (t *task) saveInspection(ctx context.Context, found node.Inspection) error {
	leftOut, err := t.Store.SaveInspection(ctx, t.op.ID, t.claim, found)
	if err != nil || leftOut == 0 {
		return err
	}
	t.log.Warn("inspection made no port for some MACs that it found: they belong to another node, or are too many", zap.Int("macs", leftOut))
	if t.Observe.LeftOut != nil {
		t.Observe.LeftOut(leftOut)
	}
	return nil
}

package conductor

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// inspectHardware reads the inventory from the BMC. Properties are Ironic's: cpus, memory_mb, local_gb (localGB),
// cpu_arch, capabilities.
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
	capabilities, _ := t.node.Properties["capabilities"].(string)
	if err := t.refreshReadings(ctx); err != nil {
		return 0, err
	}
	found := inspectionOfBMC(inv, capabilities)
	if len(inv.PCIDevices) > 0 && !slices.Contains(inv.Incomplete, bmc.PartPCI) { // many BMCs list none
		var ids []string
		for _, d := range inv.PCIDevices {
			ids = append(ids, d.VendorID+":"+d.DeviceID)
		}
		has, ok := found.Properties["capabilities"].(string)
		if !ok {
			has = capabilities
		}
		if counted := countPCI(has, t.Settings.PCIAliases, ids); counted != has {
			found.Properties["capabilities"] = counted
		}
	}
	return done, t.saveInspection(ctx, found)
}

// inspectionOfBMC returns what an inspection found. capabilities are those that the node has.
func inspectionOfBMC(inv bmc.Inventory, capabilities string) node.Inspection {
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
	if found := capabilitiesOf(inv, capabilities); found != "" {
		props["capabilities"] = found
	}
	return node.Inspection{
		Properties: props, BootMode: string(inv.BootMode), SecureBoot: inv.SecureBoot, Ports: portsOf(inv.NICs),
		Inventory: inventoryOf(inv), PluginData: pluginDataOf(inv),
	}
}

// portsOf returns the ports of the interfaces that the server can boot from. If the BMC does not say it of any, these are the
// enabled ones, as with Ironic.
func portsOf(nics []bmc.NIC) []node.Port {
	told := slices.ContainsFunc(nics, func(n bmc.NIC) bool { return n.Enabled && n.NetworkBoot == bmc.NetworkBootYes })
	var ports []node.Port
	for _, nic := range nics {
		if nic.Enabled && (!told || nic.NetworkBoot == bmc.NetworkBootYes) {
			ports = append(ports, node.Port{Address: strings.ToLower(nic.MAC), PXEEnabled: true, AvailableForDynamicPortgroup: true})
		}
	}
	return ports
}

// capabilitiesOf returns the node's capabilities with those that were found: boot_mode, unless it is there already (Ironic's
// redfish/inspect.py), and secure_boot, if the server can do it (Ironic's ilo/inspect.py). "" = nothing is new.
func capabilitiesOf(inv bmc.Inventory, capabilities string) string {
	list := strings.Split(capabilities, ",")
	if capabilities == "" {
		list = nil
	}
	add := func(name, value string) {
		if !slices.ContainsFunc(list, func(one string) bool { return strings.HasPrefix(strings.TrimSpace(one), name+":") }) {
			list = append(list, name+":"+value)
		}
	}
	if inv.BootMode != bmc.ModeUnknown {
		add("boot_mode", string(inv.BootMode))
	}
	if inv.SecureBoot != nil {
		add("secure_boot", "true")
	}
	if found := strings.Join(list, ","); found != capabilities {
		return found
	}
	return ""
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
	if err := t.refreshReadings(ctx); err != nil {
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
	found, err := inspectionOfAgent(t.node, raw, plugin, t.Settings.PCIAliases)
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

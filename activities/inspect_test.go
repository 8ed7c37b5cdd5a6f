package activities_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// inspected returns the result of an out-of-band inspection that found this inventory.
func inspected(t *testing.T, inv bmc.Inventory) node.Inspection {
	t.Helper()
	b := newBench(t, node.KindInspect, node.Inspecting, bmc.PowerOff, map[string]string{"power": "redfish", "inspect": "redfish"}, plan.Options{})
	b.machine.inventory = inv
	_, err := b.run()
	require.NoError(t, err)
	return b.book.inspected
}

// Ironic: redfish/inspect.py, _detect_local_gb.
func TestLocalGBIsIronics(t *testing.T) {
	t.Parallel()
	const gib = int64(1) << 30
	for name, c := range map[string]struct {
		sizes []int64
		want  string
	}{
		"the smallest, less one":               {[]int64{960197124096, 480103981056}, "446"},
		"one of less than 4 GiB counts not":    {[]int64{2 * gib, 100 * gib}, "99"},
		"one of 4 GiB does":                    {[]int64{4 * gib, 100 * gib}, "3"},
		"one that is not a whole number of it": {[]int64{10*gib + 5}, "9"},
		"none is large enough":                 {[]int64{2048, gib}, "0"},
		"there is none":                        {nil, "0"},
	} {
		var disks []bmc.Disk
		for _, size := range c.sizes {
			disks = append(disks, bmc.Disk{SizeBytes: size})
		}
		require.Equal(t, c.want, inspected(t, bmc.Inventory{Disks: disks}).Properties["local_gb"], name)
	}
}

func TestOnlyEnabledInterfacesBecomePorts(t *testing.T) {
	t.Parallel()
	found := inspected(t, bmc.Inventory{NICs: []bmc.NIC{
		{Name: "1", MAC: "52:54:00:aa:bb:01", Enabled: true}, {Name: "2", MAC: "52:54:00:aa:bb:02"},
	}})
	require.Equal(t, []node.Port{{Address: "52:54:00:aa:bb:01", PXEEnabled: true, AvailableForDynamicPortgroup: true}}, found.Ports)
	require.Len(t, found.Inventory["interfaces"], 2, "the inventory tells of both")
}

func TestIfItIsToldOnlyInterfacesThatCanBootBecomePorts(t *testing.T) {
	t.Parallel()
	nics := []bmc.NIC{
		{Name: "1", MAC: "52:54:00:aa:bb:01", Enabled: true, NetworkBoot: bmc.NetworkBootNo},
		{Name: "2", MAC: "52:54:00:aa:bb:02", Enabled: true, NetworkBoot: bmc.NetworkBootYes},
		{Name: "3", MAC: "52:54:00:aa:bb:03", NetworkBoot: bmc.NetworkBootYes},
	}
	require.Equal(t, []node.Port{{Address: "52:54:00:aa:bb:02", PXEEnabled: true, AvailableForDynamicPortgroup: true}}, inspected(t, bmc.Inventory{NICs: nics}).Ports)
	nics[1].NetworkBoot = bmc.NetworkBootNo
	require.Len(t, inspected(t, bmc.Inventory{NICs: nics}).Ports, 2, "no enabled interface can boot: a server without ports would not be found by its agent")
}

// Ironic: redfish/inspect.py and ilo/inspect.py.
func TestInspectionFindsCapabilities(t *testing.T) {
	t.Parallel()
	off := false
	found := inspected(t, bmc.Inventory{BootMode: bmc.ModeUEFI, SecureBoot: &off})
	require.Equal(t, "boot_mode:uefi,secure_boot:true", found.Properties["capabilities"])
	require.Equal(t, &off, found.SecureBoot)
	require.NotContains(t, inspected(t, bmc.Inventory{}).Properties, "capabilities")

	b := newBench(t, node.KindInspect, node.Inspecting, bmc.PowerOff, map[string]string{"power": "redfish", "inspect": "redfish"}, plan.Options{})
	b.change(func(n *node.Node) { n.Properties = map[string]any{"capabilities": "boot_mode:bios, cpu_vt:true"} })
	b.machine.inventory = bmc.Inventory{BootMode: bmc.ModeUEFI, SecureBoot: &off}
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, "boot_mode:bios, cpu_vt:true,secure_boot:true", b.book.inspected.Properties["capabilities"], "a person's choice stays")
}

// The format is that of Ironic's agent and of its hook parse-lldp.
func TestAnInventoryHasTheFormatOfTheAgents(t *testing.T) {
	t.Parallel()
	found := inspected(t, bmc.Inventory{
		CPUs: 64, CPUModel: "Xeon", Architecture: "x86_64", MemoryMiB: 65536, Serial: "S", AssetTag: "A", BIOSVersion: "2.1",
		Processors: []bmc.Processor{{Socket: "CPU1", MHz: 2900}}, DIMMs: []bmc.DIMM{{Slot: "A1", MiB: 65536}},
		NICs:       []bmc.NIC{{Name: "eno1", MAC: "52:54:00:aa:bb:01", Mbps: 25000, LLDP: &bmc.LLDP{ChassisID: "c", PortID: "p", SystemName: "leaf"}}},
		PCIDevices: []bmc.PCIDevice{{VendorID: "8086", DeviceID: "1592", Class: "020000", Revision: "02"}},
		TPM:        &bmc.TPM{Version: "TPM2_0"}, Firmware: []bmc.Firmware{{Name: "BIOS", Version: "2.1"}}, Incomplete: []bmc.Part{bmc.PartGPUs},
	})
	b, err := json.Marshal(found.Inventory)
	require.NoError(t, err)
	var got agent.Inventory
	require.NoError(t, json.Unmarshal(b, &got))
	require.Equal(t, agent.CPU{ModelName: "Xeon", Frequency: "2900.0000", Count: 64, Architecture: "x86_64", SocketCount: 1}, got.CPU)
	require.EqualValues(t, 65536, got.Memory.PhysicalMB)
	require.EqualValues(t, "2.1", got.SystemVendor.Firmware.Version)
	require.EqualValues(t, 25000, got.Interfaces[0].SpeedMbps)
	require.Contains(t, string(b), `"product_id":"1592"`)
	require.Contains(t, string(b), `"incomplete_parts":["gpus"]`)
	require.Contains(t, string(b), `"gpus":[]`)
	require.Equal(t, map[string]any{"parsed_lldp": map[string]any{
		"eno1": map[string]any{"switch_chassis_id": "c", "switch_port_id": "p", "switch_system_name": "leaf"},
	}}, found.PluginData)
}

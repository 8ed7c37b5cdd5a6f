package inventory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/inventory"
	"go.temper.dev/temper/internal/jsonvalue"
)

// of decodes an inventory, as the database returns it.
func of(t *testing.T, text string) map[string]any {
	t.Helper()
	var inv map[string]any
	require.NoError(t, jsonvalue.Unmarshal([]byte(text), &inv))
	return inv
}

const machine = `{
	"system_vendor": {"manufacturer": "Dell Inc.", "product_name": "R660", "serial_number": "ABC", "firmware": {"version": "2.1"}},
	"cpu": {"count": 64, "model_name": "Xeon"}, "processors": [{"socket": "CPU1", "model_name": "Xeon", "cores": 32}],
	"memory": {"physical_mb": 98304, "modules": [
		{"slot": "A1", "size_mb": 32768, "type": "DDR5", "serial": "M1"}, {"slot": "A2", "size_mb": 32768, "type": "DDR5", "serial": "M2"},
		{"slot": "A10", "size_mb": 32768, "type": "DDR5", "serial": "M10"}]},
	"disks": [{"name": "Bay 0", "size": 960197124096, "serial": "D1", "model": "PM9A3"}],
	"interfaces": [{"name": "eno1", "mac_address": "52:54:00:00:00:01", "has_carrier": true}],
	"gpus": [], "pci_devices": [{"name": "NIC", "vendor_id": "8086", "product_id": "1592"}, {"name": "NIC", "vendor_id": "8086", "product_id": "1592"}],
	"firmware": [{"name": "BMC", "version": "7.0"}], "tpm": {"version": "TPM2_0", "firmware": "7.2"},
	"boot": {"current_boot_mode": "uefi", "secure_boot": false}}`

func changed(t *testing.T, change func(map[string]any)) inventory.Changes {
	t.Helper()
	inv := of(t, machine)
	change(inv)
	return inventory.Compare(inventory.Read(of(t, machine)), inventory.Read(inv))
}

func TestWhatChangedIsTold(t *testing.T) {
	for want, change := range map[string]func(map[string]any){
		"": func(map[string]any) {},
		"memory A2 gone (32 GiB DDR5 serial M2)": func(inv map[string]any) {
			m := inv["memory"].(map[string]any)
			m["modules"] = slices.Delete(m["modules"].([]any), 1, 2)
		},
		"memory A1 changed from 32 GiB DDR5 serial M1 to 32 GiB DDR5 serial M9": func(inv map[string]any) {
			inv["memory"].(map[string]any)["modules"].([]any)[0].(map[string]any)["serial"] = "M9"
		},
		"disk D2 added (1.92 TB PM9A3); disk D1 gone (960 GB PM9A3)": func(inv map[string]any) {
			inv["disks"] = []any{map[string]any{"name": "Bay 0", "size": json.Number("1920383410176"), "serial": "D2", "model": "PM9A3"}}
		},
		"BIOS changed from 2.1 to 2.2; firmware BMC changed from 7.0 to 7.1": func(inv map[string]any) {
			inv["system_vendor"].(map[string]any)["firmware"] = map[string]any{"version": "2.2"}
			inv["firmware"] = []any{map[string]any{"name": "BMC", "version": "7.1"}}
		},
		"secure boot changed from disabled to enabled": func(inv map[string]any) { inv["boot"].(map[string]any)["secure_boot"] = true },
		"gpu GPU1 added (H100 serial G)": func(inv map[string]any) {
			inv["gpus"] = []any{map[string]any{"name": "GPU1", "model": "H100", "serial": "G"}}
		},
		"pci device NIC #2 gone (8086:1592)": func(inv map[string]any) { inv["pci_devices"] = inv["pci_devices"].([]any)[:1] },
	} {
		require.Equal(t, want, changed(t, change).String())
	}
	require.Empty(t, changed(t, func(inv map[string]any) {
		inv["interfaces"].([]any)[0].(map[string]any)["has_carrier"] = false
		slices.Reverse(inv["memory"].(map[string]any)["modules"].([]any))
	}).List, "the order, and a cable that was pulled, are no change of the hardware")
}

// Kinds that one of the inventories does not tell whole are not compared: an agent tells no memory modules, and a BMC may refuse them.
func TestWhatIsNotToldIsNotGone(t *testing.T) {
	require.Empty(t, changed(t, func(inv map[string]any) {
		delete(inv["memory"].(map[string]any), "modules")
		delete(inv, "firmware")
		delete(inv, "tpm")
		inv["pci_devices"], inv["incomplete_parts"] = []any{}, []any{"pci_devices"}
	}).List)
	require.Empty(t, changed(t, func(inv map[string]any) { clear(inv) }).List)
	require.Empty(t, inventory.Compare(inventory.Read(nil), inventory.Read(of(t, machine))).List)
}

// An agent calls an interface otherwise than the BMC, rounds the memory, and writes addresses in lower case. That is no other hardware.
func TestAnotherSourceHasOtherWordsForTheSameParts(t *testing.T) {
	const agent = `{
		"system_vendor": {"manufacturer": "Dell Inc.", "product_name": "PowerEdge R660 (SKU=1)", "serial_number": "ABC"},
		"cpu": {"count": 64, "model_name": "Intel(R) Xeon(R)"}, "memory": {"physical_mb": 98300},
		"disks": [{"name": "/dev/sda", "size": 960197124096, "serial": "D1", "model": "PM9A3 960G"}],
		"interfaces": [{"name": "eno1", "mac_address": "52:54:00:00:00:0a"}], "boot": {"current_boot_mode": "uefi"}}`
	bmc := of(t, machine)
	bmc["interfaces"] = []any{map[string]any{"name": "NIC.1", "mac_address": "52:54:00:00:00:0A"}}
	require.Empty(t, inventory.Compare(inventory.Read(bmc), inventory.Read(of(t, agent))).List)
	require.Empty(t, inventory.Compare(inventory.Read(of(t, agent)), inventory.Read(bmc)).List)

	other := of(t, agent)
	other["interfaces"] = []any{map[string]any{"name": "eno1", "mac_address": "52:54:00:00:00:0b"}}
	other["system_vendor"].(map[string]any)["serial_number"] = "XYZ"
	require.Equal(t, "serial number changed from ABC to XYZ; interface 52:54:00:00:00:0b added (eno1); interface 52:54:00:00:00:0a gone (NIC.1)",
		inventory.Compare(inventory.Read(bmc), inventory.Read(other)).String())
	renamed := of(t, agent)
	renamed["interfaces"] = []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0a"}}
	require.Equal(t, "interface 52:54:00:00:00:0a changed from eno1 to eth0", inventory.Compare(inventory.Read(of(t, agent)), inventory.Read(renamed)).String())
}

func TestAnInventoryOfOtherTypesHasNoParts(t *testing.T) {
	for _, odd := range []any{nil, 7.0, "x", true, []any{nil, 7.0, []any{}}, map[string]any{"x": map[string]any{}}} {
		inv := of(t, machine)
		for name := range inv {
			inv[name] = odd
		}
		require.Empty(t, inventory.Read(inv).Parts)
	}
}

func TestChangesAreBounded(t *testing.T) {
	many := func(serial string) map[string]any {
		var disks []any
		for i := range 2 * inventory.MaxParts {
			disks = append(disks, map[string]any{"serial": fmt.Sprint(serial, i), "model": "X"})
		}
		return map[string]any{"disks": disks}
	}
	all := inventory.Read(many("a"))
	require.Len(t, all.Parts, inventory.MaxParts)
	require.Empty(t, inventory.Compare(all, inventory.Read(many("b"))).List, "neither is whole")
	few := many("a")
	few["disks"] = few["disks"].([]any)[:200]
	changes := inventory.Compare(inventory.Read(map[string]any{"disks": []any{}}), inventory.Read(few))
	require.Len(t, changes.List, inventory.MaxChanges)
	require.Equal(t, 150, changes.More)
	require.Contains(t, changes.String(), "; 190 more")
}

func TestFactsAreEqualOnEqualServers(t *testing.T) {
	here, other := of(t, machine), of(t, machine)
	other["system_vendor"].(map[string]any)["serial_number"] = "XYZ"
	for _, m := range other["memory"].(map[string]any)["modules"].([]any) {
		m.(map[string]any)["serial"] = "other"
	}
	other["disks"].([]any)[0].(map[string]any)["serial"] = "D9"
	other["interfaces"].([]any)[0].(map[string]any)["mac_address"] = "52:54:00:00:00:02"
	facts := inventory.Read(here).Facts()
	require.Equal(t, facts, inventory.Read(other).Facts())
	require.Equal(t, map[string]string{
		"model": "Dell Inc. R660", "BIOS": "2.1", "processors": "64 Xeon", "memory": "96 GiB", "TPM": "TPM2_0 firmware 7.2", "boot mode": "uefi",
		"secure boot": "disabled", "processor sockets": "1 × Xeon 32 cores", "memory modules": "3 × 32 GiB DDR5", "disks": "1 × 960 GB PM9A3",
		"interfaces": "1", "GPUs": "none", "PCI devices": "2 × 8086:1592", "firmware BMC": "7.0",
	}, facts)
}

func TestADifferenceNeedsAMajority(t *testing.T) {
	facts := map[string]string{"memory modules": "15 × 32 GiB", "BIOS": "2.1", "disks": "none"}
	require.Equal(t, []inventory.Difference{{Fact: "memory modules", Here: "15 × 32 GiB", Usual: "16 × 32 GiB", Servers: 9, Of: 10}},
		inventory.Differences(facts, []inventory.Value{
			{"memory modules", "16 × 32 GiB", 9, 10}, {"BIOS", "2.2", 5, 10}, {"disks", "1 × 1 TB", 1, 1}, {"GPUs", "8 × H100", 9, 9},
		}))
}

// Names that are equal as numbers are not equal as names: each name of a kind occurs once.
func TestPartsOfOneNameAreNumberedAlsoBesideNamesThatLookAlike(t *testing.T) {
	parts := inventory.Read(of(t, `{"pci_devices": [{"name": "slot1", "model": "A"}, {"name": "slot01", "model": "B"}, {"name": "slot1", "model": "C"}]}`)).Parts
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"slot01", "slot1", "slot1 #2"}, names)
}

// What an agent sends is shown in terminals.
func TestPartsAreOneLineEachAndPrintable(t *testing.T) {
	parts := inventory.Read(of(t, `{"disks": [{"serial": "D\u001b[31m1", "model": "a\n\tb\u0000\u202e"}], "system_vendor": {"product_name": "R\r660"}}`)).Parts
	require.Equal(t, []inventory.Part{{Kind: inventory.System, Name: "model", Is: "R 660"}, {Kind: inventory.Disk, Name: "D[31m1", Is: "a b"}}, parts)
}

package redfish_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func inspect(t *testing.T, f *fixture) (bmc.Inventory, error) {
	t.Helper()
	return talk(t, newDriver(t, quick()), f.info(nil)).Inspect(t.Context())
}

func TestInspectionReadsWhatTheBMCTells(t *testing.T) {
	inv, err := inspect(t, newFixture(t))
	require.NoError(t, err)
	require.Equal(t, bmc.Inventory{
		CPUs: 32, CPUModel: "Xeon", Architecture: "x86_64", MemoryMiB: 96 * 1024,
		Disks: []bmc.Disk{
			{Name: "Disk 1", SizeBytes: 480103981056, Serial: "S1", Model: "PM883", Media: "ssd"},
			{Name: "Disk 2", SizeBytes: 960197124096, Serial: "S2", Model: "P4510", Media: "nvme"},
		},
		NICs: []bmc.NIC{
			{Name: "NIC.1", MAC: "52:54:00:aa:bb:01", Enabled: true, LinkUp: true},
			{Name: "NIC.2", MAC: "52:54:00:aa:bb:02"},
		},
		Manufacturer: "Contoso", Model: "3500", Serial: "437XR1138R2",
		SystemUUID: "38947555-7742-3448-3784-823347823834", BootMode: bmc.ModeUEFI,
	}, inv)
}

func TestInspectionToleratesWhatBMCsGetWrong(t *testing.T) {
	for name, c := range map[string]struct {
		set   map[string]any
		check func(*testing.T, bmc.Inventory)
	}{
		"numbers that are strings": {map[string]any{
			"system:ProcessorSummary": map[string]any{"LogicalProcessorCount": "48"},
			"system:MemorySummary":    map[string]any{"TotalSystemMemoryGiB": "62.5"},
			sysPath + "/Processors/1": map[string]any{"TotalCores": "4", "Model": 7},
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Equal(t, 48, inv.CPUs)
			require.EqualValues(t, 64000, inv.MemoryMiB)
		}},
		"no summary, and cores that are strings": {map[string]any{
			"system:ProcessorSummary": nil,
			sysPath + "/Processors/1": map[string]any{"TotalCores": "4", "ProcessorArchitecture": "ARM"},
			sysPath + "/Processors/2": map[string]any{"TotalCores": 4, "ProcessorType": "CPU"},
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Equal(t, 8, inv.CPUs)
			require.Equal(t, "aarch64", inv.Architecture)
		}},
		"a graphics card is no CPU": {map[string]any{
			"system:ProcessorSummary": map[string]any{},
			sysPath + "/Processors/1": map[string]any{"ProcessorType": "GPU", "TotalThreads": 5000},
		}, func(t *testing.T, inv bmc.Inventory) { require.Equal(t, 16, inv.CPUs) }},
		"summaries of another type": {map[string]any{
			"system:ProcessorSummary": "two", "system:MemorySummary": []any{1}, "system:Boot": 7, "system:Status": "fine",
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Equal(t, 32, inv.CPUs, "from the processors' threads")
			require.Zero(t, inv.MemoryMiB)
			require.Equal(t, bmc.ModeUnknown, inv.BootMode)
		}},
		"one broken member": {map[string]any{
			sysPath + "/Storage/1/Drives/1":   json.RawMessage(`{"CapacityBytes": 1`),
			sysPath + "/EthernetInterfaces/1": json.RawMessage(`[]`),
			sysPath + "/Processors/1":         json.RawMessage(`"x"`),
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Len(t, inv.Disks, 1)
			require.Len(t, inv.NICs, 1)
			require.Equal(t, "x86_64", inv.Architecture)
		}},
		"links that lead nowhere": {map[string]any{
			"system:Processors": nil, "system:Storage": link(sysPath + "/Nowhere"), "system:EthernetInterfaces": "x",
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Empty(t, inv.Disks)
			require.Empty(t, inv.NICs)
			require.Equal(t, 32, inv.CPUs)
		}},
		"members that are nulls": {map[string]any{
			sysPath + "/EthernetInterfaces": map[string]any{"Members": []any{nil, map[string]any{}, link(sysPath + "/EthernetInterfaces/2")}},
		}, func(t *testing.T, inv bmc.Inventory) { require.Len(t, inv.NICs, 1) }},
		"addresses that are none, twice, or zero": {map[string]any{
			sysPath + "/EthernetInterfaces/1": map[string]any{"MACAddress": "00:00:00:00:00:00"},
			sysPath + "/EthernetInterfaces/2": map[string]any{"MACAddress": "", "PermanentMACAddress": "52:54:00:AA:BB:03"},
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Len(t, inv.NICs, 1)
			require.Equal(t, "52:54:00:aa:bb:03", inv.NICs[0].MAC)
		}},
		"the same address on two interfaces": {map[string]any{
			sysPath + "/EthernetInterfaces/2": map[string]any{"Id": "VLAN", "MACAddress": "52:54:00:AA:BB:01"},
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Len(t, inv.NICs, 1)
			require.Equal(t, "NIC.1", inv.NICs[0].Name)
		}},
		"empty bays and sockets": {map[string]any{
			sysPath + "/Storage/1/Drives/1": map[string]any{"CapacityBytes": 5, "Status": map[string]any{"State": "Absent"}},
			sysPath + "/Storage/1/Drives/2": map[string]any{"CapacityBytes": nil},
		}, func(t *testing.T, inv bmc.Inventory) { require.Empty(t, inv.Disks) }},
		"a virtual CD is no disk": {map[string]any{
			sysPath + "/Storage/1/Drives/1": map[string]any{"Name": "Virtual Media", "CapacityBytes": 2048},
			sysPath + "/Storage/1/Drives/2": map[string]any{"Name": "AMI Virtual CDROM0", "CapacityBytes": 900 << 20},
		}, func(t *testing.T, inv bmc.Inventory) { require.Empty(t, inv.Disks) }},
		"interfaces that lead to the BMC": {map[string]any{
			sysPath + "/EthernetInterfaces": map[string]any{"Members": []any{
				link(sysPath + "/EthernetInterfaces/ToManager"), link(sysPath + "/EthernetInterfaces/usb0"),
				link(sysPath + "/EthernetInterfaces/usb1"), link(sysPath + "/EthernetInterfaces/1"),
			}},
			sysPath + "/EthernetInterfaces/ToManager": map[string]any{"Id": "ToManager", "MACAddress": "B0:3A:F2:B6:05:9F", "Status": map[string]any{"State": "Enabled"}},
			sysPath + "/EthernetInterfaces/usb0": map[string]any{
				"Id": "usb0", "MACAddress": "B0:3A:F2:B6:05:9E", "Links": map[string]any{"HostInterface": link("/redfish/v1/Managers/1/HostInterfaces/1")},
			},
			sysPath + "/EthernetInterfaces/usb1": map[string]any{"Id": "7", "Name": "Host Ethernet Interface", "MACAddress": "B0:3A:F2:B6:05:9D"},
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Len(t, inv.NICs, 1)
			require.Equal(t, "52:54:00:aa:bb:01", inv.NICs[0].MAC)
		}},
		"a model that only the summary tells": {map[string]any{
			sysPath + "/Processors/1": map[string]any{"ProcessorType": "CPU", "TotalCores": 8},
			sysPath + "/Processors/2": map[string]any{"ProcessorType": "CPU", "TotalCores": 8},
		}, func(t *testing.T, inv bmc.Inventory) { require.Equal(t, "Intel Xeon", inv.CPUModel) }},
		"simple storage alone": {map[string]any{
			"system:Storage": nil, "system:SimpleStorage": link(sysPath + "/Simple"),
			sysPath + "/Simple": map[string]any{"Members": []any{link(sysPath + "/Simple/1")}},
			sysPath + "/Simple/1": map[string]any{"Devices": []any{
				map[string]any{"Name": "SATA Bay 1", "Model": "3000GT8", "CapacityBytes": 8000000000000},
				map[string]any{"Name": "SATA Bay 2", "Status": map[string]any{"State": "Absent"}},
			}},
		}, func(t *testing.T, inv bmc.Inventory) {
			require.Equal(t, []bmc.Disk{{Name: "SATA Bay 1", Model: "3000GT8", SizeBytes: 8000000000000}}, inv.Disks)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for path, doc := range c.set {
				f.set(path, doc)
			}
			inv, err := inspect(t, f)
			require.NoError(t, err)
			require.Equal(t, "Contoso", inv.Manufacturer)
			c.check(t, inv)
		})
	}
}

func TestInspectionOfABMCThatStopsAnsweringFails(t *testing.T) {
	f := newFixture(t)
	f.times(9, http.MethodGet, sysPath+"/EthernetInterfaces/2", cut)
	_, err := inspect(t, f)
	requireFault(t, err, fault.Unreachable)
}

func TestACollectionIsBoundedAndPaged(t *testing.T) {
	f := newFixture(t)
	page := func(next string, from, to int) map[string]any {
		var members []any
		for i := from; i < to; i++ {
			path := sysPath + "/EthernetInterfaces/" + string(rune('a'+i/26)) + string(rune('a'+i%26))
			members = append(members, link(path))
			f.set(path, map[string]any{"MACAddress": "52:54:00:00:0" + string("0123456789abcdef"[i/16]) + ":0" + string("0123456789abcdef"[i%16])})
		}
		return map[string]any{"Members": members, "Members@odata.nextLink": next}
	}
	f.set(sysPath+"/EthernetInterfaces", page(sysPath+"/EthernetInterfaces/more", 0, 50))
	f.set(sysPath+"/EthernetInterfaces/more", page(sysPath+"/EthernetInterfaces/more", 50, 100)) // a page that links to itself
	inv, err := inspect(t, f)
	require.NoError(t, err)
	require.Len(t, inv.NICs, 64)

	f.set(sysPath+"/EthernetInterfaces", map[string]any{"Members": []any{}, "Members@odata.nextLink": sysPath + "/EthernetInterfaces"})
	inv, err = inspect(t, f)
	require.NoError(t, err)
	require.Empty(t, inv.NICs)
}

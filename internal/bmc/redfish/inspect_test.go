package redfish_test

import (
	"encoding/json"
	"fmt"
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
	t.Parallel()
	inv, err := inspect(t, newFixture(t))
	require.NoError(t, err)
	require.Equal(t, bmc.Inventory{
		CPUs: 32, CPUModel: "Xeon", Architecture: "x86_64", MemoryMiB: 96 * 1024,
		Processors: []bmc.Processor{
			{Socket: "CPU 1", Model: "Xeon", Cores: 8, Threads: 16}, {Socket: "CPU 2", Model: "Xeon", Cores: 8, Threads: 16},
		},
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
	t.Parallel()
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
	t.Parallel()
	f := newFixture(t)
	f.times(9, http.MethodGet, sysPath+"/EthernetInterfaces/2", cut)
	_, err := inspect(t, f)
	requireFault(t, err, fault.Unreachable)
}

func TestACollectionIsBoundedAndPaged(t *testing.T) {
	t.Parallel()
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

// dimms lists n memory modules of 32 GiB.
func dimms(f *fixture, n int) {
	var members []any
	for i := range n {
		path := fmt.Sprintf("%s/Memory/%d", sysPath, i+1)
		members = append(members, link(path))
		f.set(path, map[string]any{"Id": fmt.Sprint(i + 1), "CapacityMiB": 32 << 10, "SerialNumber": fmt.Sprintf("M%d", i+1)})
	}
	f.set("system:Memory", link(sysPath+"/Memory"))
	f.set(sysPath+"/Memory", map[string]any{"Members": members})
}

func TestAnOptionalPartThatIsRefusedIsNotedAsUnread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		dimms  int
		unread []bmc.Part
	}{
		"it is away":    {http.StatusServiceUnavailable, 3, []bmc.Part{bmc.PartMemory}},
		"an error":      {http.StatusInternalServerError, 3, []bmc.Part{bmc.PartMemory}},
		"not allowed":   {http.StatusForbidden, 3, []bmc.Part{bmc.PartMemory}},
		"it is missing": {http.StatusNotFound, 3, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			dimms(f, 4)
			f.on(http.MethodGet, "/Memory/2", func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(c.status)
				return true
			})
			inv, err := inspect(t, f)
			require.NoError(t, err)
			require.Len(t, inv.DIMMs, c.dimms)
			require.Equal(t, c.unread, inv.Incomplete)
		})
	}
}

func TestAnOptionalPartWithTooManyElementsIsNotWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dimms(f, 200)
	inv, err := inspect(t, f)
	require.NoError(t, err)
	require.Len(t, inv.DIMMs, 128)
	require.Equal(t, []bmc.Part{bmc.PartMemory}, inv.Incomplete)
}

// Chassis that each list many devices would use up the requests of the inspection, which must not fail because of them.
func TestOptionalPartsLeaveRoomForTheRest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dimms(f, 120)
	var chassis []any
	for i := range 60 {
		path := fmt.Sprintf("/redfish/v1/Chassis/%d", i)
		chassis = append(chassis, link(path))
		f.set(path, map[string]any{"NetworkAdapters": link(path + "/NetworkAdapters"), "PCIeDevices": link(path + "/PCIeDevices")})
		for _, part := range []string{"NetworkAdapters", "PCIeDevices"} {
			var members []any
			for n := range 8 {
				at := fmt.Sprintf("%s/%s/%d", path, part, n)
				members = append(members, link(at))
				f.set(at, map[string]any{"Id": fmt.Sprint(n), "PCIeFunctions": link(at + "/PCIeFunctions")})
			}
			f.set(path+"/"+part, map[string]any{"Members": members})
		}
	}
	f.set("system:Links", map[string]any{"Chassis": chassis})
	inv, err := inspect(t, f)
	require.NoError(t, err)
	require.Len(t, inv.DIMMs, 120)
	require.Subset(t, inv.Incomplete, []bmc.Part{bmc.PartPCI})
	require.Less(t, len(f.seen()), 600)
}

func TestInspectionToleratesWhatBMCsGetWrongOfOptionalParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dimms(f, 2)
	for path, doc := range map[string]any{
		sysPath + "/Memory/1":   map[string]any{"Id": 1, "DeviceLocator": []any{1}, "CapacityMiB": "32768", "OperatingSpeedMhz": nil, "SerialNumber": 7},
		sysPath + "/Memory/2":   map[string]any{"CapacityMiB": 32768, "Status": map[string]any{"State": "Absent"}},
		"system:TrustedModules": []any{nil, map[string]any{"InterfaceType": nil}, map[string]any{"InterfaceType": "TPM2_0", "Status": "ok"}},
		"system:SecureBoot":     link(sysPath + "/SecureBoot"),
		sysPath + "/SecureBoot": map[string]any{"SecureBootCurrentBoot": nil, "SecureBootEnable": true},
		"system:PCIeDevices":    []any{nil, link(sysPath + "/PCI/1"), link(sysPath + "/PCI/2")},
		sysPath + "/PCI/1":      map[string]any{"Id": 1, "Name": nil, "Links": map[string]any{"PCIeFunctions": []any{link(sysPath + "/PCI/1/F")}}},
		sysPath + "/PCI/1/F":    map[string]any{"VendorId": "0x10DE", "DeviceId": 9008, "ClassCode": "0x0302000000", "RevisionId": "A1"},
		sysPath + "/PCI/2":      json.RawMessage(`[1]`),
	} {
		f.set(path, doc)
	}
	inv, err := inspect(t, f)
	require.NoError(t, err)
	require.Equal(t, []bmc.DIMM{{Slot: "1", MiB: 32768, Serial: "7"}}, inv.DIMMs)
	require.Equal(t, &bmc.TPM{Version: "TPM2_0", Enabled: true}, inv.TPM)
	require.True(t, *inv.SecureBoot)
	require.Equal(t, []bmc.PCIDevice{{Name: "1", VendorID: "10de", DeviceID: "9008", Revision: "a1"}}, inv.PCIDevices)
	require.Equal(t, []bmc.Part{bmc.PartPCI}, inv.Incomplete)
}

// If the system lists no Ethernet interfaces, the functions of its network adapters are the interfaces.
func TestNetworkAdaptersStandInForEthernetInterfaces(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const adapters = "/redfish/v1/Chassis/1/NetworkAdapters"
	for path, doc := range map[string]any{
		"system:EthernetInterfaces": nil,
		"system:Links":              map[string]any{"Chassis": []any{link("/redfish/v1/Chassis/1")}},
		"/redfish/v1/Chassis/1":     map[string]any{"NetworkAdapters": link(adapters)},
		adapters:                    map[string]any{"Members": []any{link(adapters + "/1")}},
		adapters + "/1":             map[string]any{"NetworkDeviceFunctions": link(adapters + "/1/Functions")},
		adapters + "/1/Functions":   map[string]any{"Members": []any{link(adapters + "/1/Functions/1"), link(adapters + "/1/Functions/2")}},
		adapters + "/1/Functions/1": map[string]any{"BootMode": "PXE", "Ethernet": map[string]any{"MACAddress": "52:54:00:AA:BB:09"}},
		adapters + "/1/Functions/2": map[string]any{"BootMode": "Disabled", "Ethernet": map[string]any{"PermanentMACAddress": "52:54:00:AA:BB:0A"}, "DeviceEnabled": false},
	} {
		f.set(path, doc)
	}
	inv, err := inspect(t, f)
	require.NoError(t, err)
	require.Equal(t, []bmc.NIC{
		{Name: "52:54:00:aa:bb:09", MAC: "52:54:00:aa:bb:09", Enabled: true, NetworkBoot: bmc.NetworkBootYes},
		{Name: "52:54:00:aa:bb:0a", MAC: "52:54:00:aa:bb:0a", NetworkBoot: bmc.NetworkBootNo},
	}, inv.NICs)
}

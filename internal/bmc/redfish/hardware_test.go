package redfish_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
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
		CPUs: 32, CPUModel: "Intel Xeon", Architecture: "x86_64", MemoryMiB: 96 * 1024,
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
	f.set(sysPath+"/EthernetInterfaces/more", page(sysPath+"/EthernetInterfaces/more", 50, 100)) // a ring
	inv, err := inspect(t, f)
	require.NoError(t, err)
	require.Len(t, inv.NICs, 64)

	f.set(sysPath+"/EthernetInterfaces", map[string]any{"Members": []any{}, "Members@odata.nextLink": sysPath + "/EthernetInterfaces"})
	inv, err = inspect(t, f)
	require.NoError(t, err)
	require.Empty(t, inv.NICs)
}

func TestHealth(t *testing.T) {
	for name, c := range map[string]struct {
		status any
		want   bmc.Health
	}{
		"the roll-up counts":            {map[string]any{"Health": "OK", "HealthRollup": "Critical"}, "critical"},
		"its own where nothing is more": {map[string]any{"Health": "OK"}, "ok"},
		"nothing is unknown":            {map[string]any{}, ""},
		"a strange word is unknown":     {map[string]any{"Health": "Fine"}, ""},
		"another type is unknown":       {7, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set("system:Status", c.status)
			h, err := talk(t, newDriver(t, quick()), f.info(nil)).Health(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, h)
		})
	}
}

func TestSeveralSystemsHaveToBeChosenFrom(t *testing.T) {
	f := newFixture(t)
	f.set("/redfish/v1/Systems", map[string]any{"Members": []any{link(sysPath), link("/redfish/v1/Systems/2")}})
	d := newDriver(t, quick())
	_, err := talk(t, d, f.info(nil)).Power(t.Context())
	requireFault(t, err, fault.Invalid, "redfish_system_id", sysPath, "/redfish/v1/Systems/2")
	_, err = talk(t, d, f.info(map[string]any{"redfish_system_id": sysPath})).Power(t.Context())
	require.NoError(t, err)

	f.set("/redfish/v1/Systems", map[string]any{"Members": []any{}})
	_, err = talk(t, d, f.info(nil)).Power(t.Context())
	requireFault(t, err, fault.Refused, "no system")
}

func TestResetsThatTheSystemCanNotDoAreNotSent(t *testing.T) {
	reset := func(extra map[string]any) map[string]any {
		action := map[string]any{"target": sysPath + "/Actions/ComputerSystem.Reset"}
		for k, v := range extra {
			action[k] = v
		}
		return map[string]any{"#ComputerSystem.Reset": action}
	}
	const allowed, about = "ResetType@Redfish.AllowableValues", "@Redfish.ActionInfo"
	for name, c := range map[string]struct {
		actions any
		sent    string // "" = refused
	}{
		"a system that says it can":           {reset(map[string]any{allowed: []string{"On"}}), "Reset On"},
		"a system that says nothing":          {reset(nil), "Reset On"},
		"a system that can only force it":     {reset(map[string]any{allowed: []string{"ForceOn", "ForceOff"}}), "Reset ForceOn"},
		"a system that can't":                 {reset(map[string]any{allowed: []string{"PushPowerButton"}}), ""},
		"a system without Reset":              {map[string]any{}, ""},
		"a system whose actions are mistyped": {"none", ""},
		"a system that says it elsewhere":     {reset(map[string]any{about: "/redfish/v1/ResetInfo"}), ""},
		"a system that says it nowhere":       {reset(map[string]any{about: "/redfish/v1/Nowhere"}), "Reset On"},
		"a system whose list is mistyped":     {reset(map[string]any{allowed: "On"}), "Reset On"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set("system:Actions", c.actions)
			f.set("/redfish/v1/ResetInfo", map[string]any{"Parameters": []any{map[string]any{"Name": "ResetType", "AllowableValues": []string{"ForceOff"}}}})
			err := talk(t, newDriver(t, quick()), f.info(nil)).RequestPower(t.Context(), bmc.RequestOn)
			if c.sent == "" {
				requireFault(t, err, fault.Refused, "the system ")
				require.Empty(t, f.changed())
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{c.sent}, f.changed())
		})
	}
}

// patches records what is written to the system.
func patches(f *fixture) *[]string {
	var bodies []string
	f.on(http.MethodPatch, sysPath, func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.Header.Get("If-Match")+" "+string(body))
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		return false
	})
	return &bodies
}

func TestWhatABootOverrideWrites(t *testing.T) {
	for name, c := range map[string]struct {
		want bmc.Boot
		boot map[string]any // replaces the system's
		body string
	}{
		"once":             {bmc.Boot{Device: bmc.DevicePXE}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Pxe"`},
		"for good":         {bmc.Boot{Device: bmc.DeviceDisk, Persistent: true}, nil, `"BootSourceOverrideEnabled":"Continuous","BootSourceOverrideTarget":"Hdd"`},
		"none":             {bmc.Boot{}, nil, `"BootSourceOverrideEnabled":"Disabled"`},
		"another mode":     {bmc.Boot{Device: bmc.DeviceBIOS, Mode: bmc.ModeBIOS}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"Legacy","BootSourceOverrideTarget":"BiosSetup"`},
		"the mode it has":  {bmc.Boot{Device: bmc.DevicePXE, Mode: bmc.ModeUEFI}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Pxe"`},
		"a CD by its name": {bmc.Boot{Device: bmc.DeviceCDROM}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Cd"`},
		"a CD by Supermicro's name": {
			bmc.Boot{Device: bmc.DeviceCDROM}, map[string]any{"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"Pxe", "UsbCd"}},
			`"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"UsbCd"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if c.boot != nil {
				f.set("system:Boot", c.boot)
			}
			bodies := patches(f)
			require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).SetBoot(t.Context(), c.want))
			require.Equal(t, []string{`W/"0" {"Boot":{` + c.body + `}}`}, *bodies)
		})
	}
}

func TestReadingABootOverride(t *testing.T) {
	for name, c := range map[string]struct {
		boot any
		want bmc.Boot
		err  bool
	}{
		"disabled is none, whatever the target": {map[string]any{"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "Pxe"}, bmc.Boot{}, false},
		"no target is none":                     {map[string]any{"BootSourceOverrideEnabled": "Continuous", "BootSourceOverrideTarget": "None"}, bmc.Boot{}, false},
		"nulls are none":                        {map[string]any{"BootSourceOverrideEnabled": nil, "BootSourceOverrideTarget": nil, "BootSourceOverrideMode": nil}, bmc.Boot{}, false},
		"nothing is none":                       {nil, bmc.Boot{}, false},
		"somebody else's keeps its word":        {map[string]any{"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiShell", "BootSourceOverrideMode": "Legacy"}, bmc.Boot{Device: "uefishell", Mode: bmc.ModeBIOS}, false},
		"another type is told":                  {"Pxe", bmc.Boot{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set("system:Boot", c.boot)
			have, err := talk(t, newDriver(t, quick()), f.info(nil)).Boot(t.Context())
			if c.err {
				requireFault(t, err, fault.Unreachable, "Boot", sysPath)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, have)
		})
	}
}

func TestADeviceThatTheSystemCanNotBootFromIsNotSent(t *testing.T) {
	f := newFixture(t)
	f.set("system:Boot", map[string]any{"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None", "Hdd"}})
	s := talk(t, newDriver(t, quick()), f.info(nil))
	requireFault(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}), fault.Refused, "pxe", "Hdd")
	requireFault(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceSafe}), fault.Invalid, "safe")
	require.Zero(t, f.count("PATCH"))
	devices, err := s.BootDevices(t.Context())
	require.NoError(t, err)
	require.Equal(t, []bmc.Device{bmc.DeviceDisk}, devices)
}

func TestAnETagThatChangedIsReadAgainOnce(t *testing.T) {
	refuse := answer(http.StatusPreconditionFailed)
	for name, c := range map[string]struct {
		fault   func(f *fixture)
		kind    fault.Kind
		patches []string // the If-Match of each
	}{
		"somebody changed it": {func(f *fixture) {
			f.once(http.MethodPatch, sysPath, func(w http.ResponseWriter, r *http.Request) {
				f.mu.Lock()
				f.etag = 7
				f.mu.Unlock()
				refuse(w, r)
			})
		}, -1, []string{`W/"0"`, `W/"7"`}},
		"somebody changes it again and again": {func(f *fixture) {
			f.on(http.MethodPatch, sysPath, func(w http.ResponseWriter, r *http.Request) bool {
				f.mu.Lock()
				f.etag++
				f.mu.Unlock()
				refuse(w, r)
				return true
			})
		}, fault.Busy, []string{`W/"0"`, `W/"1"`}},
		"a BMC that refuses its own": {func(f *fixture) {
			f.on(http.MethodPatch, sysPath, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("If-Match") == "" {
					return false
				}
				refuse(w, r)
				return true
			})
		}, -1, []string{`W/"0"`, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			bodies := patches(f)
			c.fault(f)
			err := talk(t, newDriver(t, quick()), f.info(nil)).SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE})
			if c.kind >= 0 {
				requireFault(t, err, c.kind, "at the same time")
			} else {
				require.NoError(t, err)
			}
			var conditions []string
			for _, b := range *bodies {
				conditions = append(conditions, strings.TrimSpace(b[:strings.Index(b, "{")]))
			}
			require.Equal(t, c.patches, conditions)
		})
	}
}

func TestABootOverrideThatOnlyTheSettingsTake(t *testing.T) {
	f := newFixture(t)
	const settings = sysPath + "/Settings"
	f.set("system:@Redfish.Settings", map[string]any{"SettingsObject": link(settings)})
	f.set(settings, map[string]any{"@odata.etag": `"s1"`})
	f.times(9, http.MethodPatch, sysPath, answer(400))
	var condition, body string
	f.on(http.MethodPatch, settings, func(w http.ResponseWriter, r *http.Request) bool {
		text, _ := io.ReadAll(r.Body)
		condition, body = r.Header.Get("If-Match"), string(text)
		w.WriteHeader(http.StatusOK)
		return true
	})
	require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}))
	require.Equal(t, `"s1"`, condition)
	require.Contains(t, body, "Pxe")
}

const image = "http://192.0.2.1/a.iso"

func TestWhereTheVirtualCDIs(t *testing.T) {
	members := func(paths ...string) map[string]any {
		var list []any
		for _, p := range paths {
			list = append(list, link(p))
		}
		return map[string]any{"Members": list}
	}
	for name, c := range map[string]struct {
		set  map[string]any
		kind fault.Kind // -1 = found
	}{
		"under the manager in charge": {nil, -1},
		"under the system": {map[string]any{
			"system:VirtualMedia": link(sysPath + "/VirtualMedia"), sysPath + "/VirtualMedia": members(cdPath), "/redfish/v1/Managers/1": nil,
		}, -1},
		"under the only manager":               {map[string]any{"system:Links": nil}, -1},
		"behind one that is broken":            {map[string]any{"/redfish/v1/Managers/1/VirtualMedia/Floppy": json.RawMessage(`[`)}, -1},
		"behind a system whose list is broken": {map[string]any{"system:VirtualMedia": link("/redfish/v1/Nowhere")}, -1},
		"behind a manager that is broken":      {map[string]any{"system:Links": map[string]any{"ManagedBy": []any{link("/redfish/v1/Managers/0"), link("/redfish/v1/Managers/1")}}}, -1},
		"nowhere":                              {map[string]any{"/redfish/v1/Managers/1/VirtualMedia": members("/redfish/v1/Managers/1/VirtualMedia/Floppy")}, fault.Refused},
		"nowhere, and one that might be is broken": {map[string]any{
			"/redfish/v1/Managers/1/VirtualMedia":        members("/redfish/v1/Managers/1/VirtualMedia/Floppy"),
			"/redfish/v1/Managers/1/VirtualMedia/Floppy": json.RawMessage(`[`),
		}, fault.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for path, doc := range c.set {
				f.set(path, doc)
			}
			s := talk(t, newDriver(t, quick()), f.info(nil))
			err := s.InsertMedia(t.Context(), image)
			if c.kind >= 0 {
				requireFault(t, err, c.kind)
				return
			}
			require.NoError(t, err)
			m, err := s.Media(t.Context())
			require.NoError(t, err)
			require.Equal(t, bmc.Media{Inserted: true, Image: image}, m)
		})
	}
}

func TestWhatIsInTheDrive(t *testing.T) {
	for name, c := range map[string]struct {
		told string
		want bmc.Media
	}{
		"an image that is in":                      {`{"MediaTypes":["CD"],"Inserted":true,"Image":"http://x/y"}`, bmc.Media{Inserted: true, Image: "http://x/y"}},
		"an image that is out counts for nothing":  {`{"MediaTypes":["CD"],"Inserted":false,"Image":"http://x/y"}`, bmc.Media{}},
		"a medium that is not ours has no image":   {`{"MediaTypes":["DVD"],"Inserted":true,"Image":null}`, bmc.Media{Inserted: true}},
		"where nothing is told the image counts":   {`{"MediaTypes":["CD"],"Image":"http://x/y"}`, bmc.Media{Inserted: true, Image: "http://x/y"}},
		"where a word is told the image counts":    {`{"MediaTypes":["CD"],"Inserted":"yes","Image":""}`, bmc.Media{}},
		"a drive without types is known by its id": {`{"Id":"CD1","Inserted":true,"Image":"http://x/y"}`, bmc.Media{Inserted: true, Image: "http://x/y"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.times(9, http.MethodGet, cdPath, raw(c.told))
			m, err := talk(t, newDriver(t, quick()), f.info(nil)).Media(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, m)
		})
	}
}

func TestABMCThatWantsTheProtocolIsToldIt(t *testing.T) {
	f := newFixture(t)
	var bodies []string
	f.on(http.MethodPost, "InsertMedia", func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if !strings.Contains(string(body), "TransferProtocolType") {
			message(w, 400, "Base.1.8.ActionParameterMissing", "The action InsertMedia requires the parameter TransferProtocolType to be present in the request body.")
			return true
		}
		w.WriteHeader(http.StatusNoContent)
		return true
	})
	require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).InsertMedia(t.Context(), image))
	require.Equal(t, []string{
		`{"Image":"http://192.0.2.1/a.iso","Inserted":true,"WriteProtected":true}`,
		`{"Image":"http://192.0.2.1/a.iso","Inserted":true,"TransferMethod":"Stream","TransferProtocolType":"HTTP","WriteProtected":true}`,
	}, bodies)
}

func TestAMediumStillBeingEjectedIsBusy(t *testing.T) {
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	require.NoError(t, s.InsertMedia(t.Context(), image))
	f.times(9, http.MethodPost, "EjectMedia", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	requireFault(t, s.InsertMedia(t.Context(), image+"2"), fault.Busy, "still being ejected")
}

func TestAnImagesSecretsAreNotTold(t *testing.T) {
	f := newFixture(t)
	f.times(9, http.MethodPost, "InsertMedia", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		message(w, 400, "Base.1.8.X", "Can't insert "+string(body))
	})
	s := talk(t, newDriver(t, quick()), f.info(nil))
	for _, secret := range []string{"http://joe:hunter2@192.0.2.1/a.iso", "http://192.0.2.1/a.iso?signature=hunter2"} {
		err := s.InsertMedia(t.Context(), secret)
		requireFault(t, err, fault.Refused, "192.0.2.1")
		require.NotContains(t, err.Error(), "hunter2")
	}
	requireFault(t, s.InsertMedia(t.Context(), "a.iso"), fault.Invalid)
}

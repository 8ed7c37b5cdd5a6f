package recording_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/recording"
)

func sample(t *testing.T) *recording.Recording {
	r := recording.New()
	r.System, r.Vendor, r.Model, r.Firmware = "/redfish/v1/Systems/1", "Dell", "PowerEdge R660", "6.10.80.0"
	require.NoError(t, jsonvalue.Unmarshal([]byte(`{
		"/redfish/v1": {"@odata.id": "/redfish/v1/", "Vendor": "Dell", "UUID": "4C4C4544-0042-3510-8052-B4C04F4D4E33"},
		"/redfish/v1/Systems/1": {"SerialNumber": "CNFCP0038K00AB", "SKU": "7XQ2ZB3", "Model": "PowerEdge R660", "AssetTag": "", "HostName": "db7.corp.example",
			"UUID": "4c4c4544-0042-3510-8052-b4c04f4d4e33", "BiosVersion": "2.1.3.4", "Oem": {"Dell": {"Note": "7XQ2ZB3 at db7.corp.example"}}},
		"/redfish/v1/Systems/1/EthernetInterfaces/B0:26:28:AA:BB:CC": {"MACAddress": "B0:26:28:AA:BB:CC", "PermanentMACAddress": "b0-26-28-aa-bb-cc", "Bare": "b02628aabbcc", "Odd": "00:00:00:00:00:00"},
		"/redfish/v1/Managers/1": {"FirmwareVersion": "6.10.80.0", "Address": "10.1.2.3", "Gateway": "10.1.2.1", "Any": "0.0.0.0", "V6": "fd12::7:1", "Time": "12:30:45",
			"Password": "calvin", "SerialNumber": "1", "Id": "1", "UserName": "operator7", "By": "operator7", "Long": "00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00:11:22:33"}
	}`), &r.Resources))
	r.Refused["/redfish/v1/Chassis/7XQ2ZB3"] = 404
	r.Allow["/redfish/v1/Systems/1"] = "GET, PATCH"
	return r
}

func TestWhatIdentifiesAMachineIsMasked(t *testing.T) {
	r := sample(t)
	r.Mask("bmc7.corp.example")
	var text bytes.Buffer
	require.NoError(t, r.Write(&text))
	for _, secret := range []string{
		"CNFCP0038K00AB", "7XQ2ZB3", "4c4c4544", "4C4C4544", "B0:26", "b0-26", "10.1.2.", "fd12", "calvin", "operator7", "db7.corp", "44:55:66",
	} {
		require.NotContains(t, text.String(), secret)
	}
	sys := r.Resources["/redfish/v1/Systems/1"]
	require.Equal(t, sys["UUID"], r.Resources["/redfish/v1"]["UUID"], "the same value has the same replacement, whatever its case")
	require.Equal(t, "PowerEdge R660", sys["Model"])
	require.Equal(t, "2.1.3.4", sys["BiosVersion"], "a version is no address")
	require.Empty(t, sys["AssetTag"])
	note, _ := sys["Oem"].(map[string]any)["Dell"].(map[string]any)["Note"].(string)
	require.Contains(t, note, sys["SKU"])
	manager := r.Resources["/redfish/v1/Managers/1"]
	require.Equal(t, "1", manager["Id"], "a short serial number is replaced in its property only")
	require.NotEqual(t, "1", manager["SerialNumber"])
	require.Equal(t, manager["UserName"], manager["By"])
	require.Equal(t, "0.0.0.0", manager["Any"])
	require.Equal(t, "12:30:45", manager["Time"])
	require.NotEqual(t, manager["Address"], manager["Gateway"])
	long, _ := manager["Long"].(string)
	require.Len(t, strings.Split(long, ":"), 20, "a MAC of 20 bytes stays one")
	nic := r.Resources["/redfish/v1/Systems/1/EthernetInterfaces/02:00:00:00:00:02"]
	require.Equal(t, "02:00:00:00:00:02", nic["MACAddress"])
	require.Equal(t, "02-00-00-00-00-02", nic["PermanentMACAddress"])
	require.Equal(t, "020000000002", nic["Bare"])
}

func TestAttributesOfDellsManagersAreMasked(t *testing.T) {
	r := recording.New()
	r.System = recording.Root
	require.NoError(t, jsonvalue.Unmarshal([]byte(`{"/redfish/v1": {"AssetTag": 4711, "Attributes": {
		"Users.2.UserName": "jane.doe", "Users.2.SHA1v3Key": "0a1b2c3d", "Users.2.IPMIKey": "4e5f6071", "Users.2.Privilege": 511, "SNMP.1.AgentCommunity": "xyzzy",
		"NIC.1.DNSRacName": "idrac-r7", "NIC.1.DNSDomainName": "corp.example", "NTPConfigGroup.1.NTP1": "time.corp.example", "SysLog.1.Server1": "log.corp.example",
		"LDAP.1.BindDN": "cn=temper,dc=corp", "ServerTopology.1.RackName": "row-17", "ServerBoot.1.FirstBootDevice": "VCD-DVD"}}}`), &r.Resources))
	r.Mask()
	var text bytes.Buffer
	require.NoError(t, r.Write(&text))
	for _, secret := range []string{"4711", "jane", "0a1b2c3d", "4e5f6071", "xyzzy", "idrac-r7", "corp", "row-17"} {
		require.NotContains(t, text.String(), secret)
	}
	attributes, _ := r.Resources[recording.Root]["Attributes"].(map[string]any)
	require.Equal(t, "VCD-DVD", attributes["ServerBoot.1.FirstBootDevice"])
	require.Equal(t, json.Number("511"), attributes["Users.2.Privilege"])
}

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	r := sample(t)
	var text bytes.Buffer
	require.NoError(t, r.Write(&text))
	again, err := recording.Read(&text)
	require.NoError(t, err)
	require.Equal(t, r, again)
}

func TestWhatIsNoRecordingIsRefused(t *testing.T) {
	for text, why := range map[string]string{
		"":                                     "no recording",
		"[]":                                   "no recording",
		"{}":                                   "its format",
		`{"format": "temper-bmc-recording/1"}`: "no resource /redfish/v1",
		`{"format": "temper-bmc-recording/1", "resources": {"/redfish/v1": {}}}`:                                                                   "its system",
		`{"format": "temper-bmc-recording/1", "system": "/redfish/v1", "resources": {"/redfish/v1": {}, "/redfish/v1/../../etc": {}}}`:             "no path of a resource",
		`{"format": "temper-bmc-recording/1", "system": "/redfish/v1", "resources": {"/redfish/v1": {}, "/redfish/v1/{id}": {}}}`:                  "no path of a resource",
		`{"format": "temper-bmc-recording/1", "system": "/redfish/v1", "resources": {"/redfish/v1": {}, "/redfish/v1/a": 1}}`:                      "no recording",
		`{"format": "temper-bmc-recording/1", "system": "/redfish/v1", "resources": {"/redfish/v1": {}, "http://other.example/redfish/v1/a": {}}}`: "no path of a resource",
	} {
		_, err := recording.Read(strings.NewReader(text))
		require.ErrorContains(t, err, why, text)
	}
}

func FuzzMask(f *testing.F) {
	f.Add(`{"SerialNumber": "ABCDE", "x": ["ABCDE"], "Password": "p"}`)
	f.Add(`{"MACAddress": "aa:bb:cc:dd:ee:ff", "a": "::1", "b": "::ffff:1.2.3.4", "c": {"UserName": null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r := recording.New()
		var body map[string]any
		if jsonvalue.Unmarshal([]byte(text), &body) != nil || body == nil {
			t.Skip()
		}
		r.System, r.Resources[recording.Root] = recording.Root, body
		serial, _ := body["SerialNumber"].(string)
		r.Mask()
		b, err := json.Marshal(r.Resources)
		require.NoError(t, err)
		if len(serial) > 8 && strings.Trim(serial, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			require.NotContains(t, string(b), serial)
		}
	})
}

// BMCs show the name of the host as the name of the system.
func TestNamesOfServersAreMasked(t *testing.T) {
	named := func(name string) (system, chassis any) {
		r := recording.New()
		r.System = "/redfish/v1/Systems/1"
		r.Resources[recording.Root] = recording.Resource{"Name": "Root Service"}
		r.Resources[r.System] = recording.Resource{"Name": name}
		r.Resources["/redfish/v1/Chassis/1"] = recording.Resource{"Name": "Chassis of " + name, "Location": ""}
		r.Mask()
		return r.Resources[r.System]["Name"], r.Resources["/redfish/v1/Chassis/1"]["Name"]
	}
	for _, name := range []string{"db7-prod", "sim-0001", "payroll"} {
		system, chassis := named(name)
		require.Equal(t, "host-1", system)
		require.Equal(t, "Chassis of host-1", chassis)
	}
	system, _ := named("db7")
	require.Equal(t, "host-1", system, "a short one is masked as a name")
	for _, name := range []string{"System", "Computer System 1", "HGX_Baseboard_0", "Self", "HPE Server", ""} {
		system, _ := named(name)
		require.Equal(t, name, system)
	}
}

// What is written can be read again: a recording that is too large when it is indented is written without, and one that is too large
// in any case is refused at once.
func TestTheBoundOfARecordingIsTheSameForBothWays(t *testing.T) {
	with := func(v any) *recording.Recording {
		r := recording.New()
		r.System = recording.Root
		r.Resources[recording.Root] = recording.Resource{"Odd": v}
		return r
	}
	var deep any = slices.Repeat([]any{1.0}, 50_000)
	for range 2_000 {
		deep = []any{deep}
	}
	var text bytes.Buffer
	require.NoError(t, with(deep).Write(&text))
	require.Less(t, text.Len(), 1<<20)
	_, err := recording.Read(&text)
	require.NoError(t, err)
	text.Reset()
	require.ErrorContains(t, with(slices.Repeat([]any{strings.Repeat("x", 1<<20)}, 65)).Write(&text), "more than 64 MiB")
	require.Zero(t, text.Len())
}

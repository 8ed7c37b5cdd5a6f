package redfish_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

// Which machine gets which treatment shows in what is written.
func TestWhichBMCsHaveAQuirk(t *testing.T) {
	t.Parallel()
	const cd = `"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Cd"`
	for name, c := range map[string]struct {
		root    map[string]any
		system  map[string]any
		manager map[string]any
		want    string // of the boot override for a virtual CD
	}{
		"nobody":                     {nil, nil, nil, cd},
		"Supermicro by its system":   {nil, map[string]any{"Manufacturer": "Supermicro", "Model": "SYS-1029P"}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"UEFI","BootSourceOverrideTarget":"UsbCd"`},
		"Supermicro by its root":     {map[string]any{"Vendor": "Supermicro"}, map[string]any{"Manufacturer": ""}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"UEFI","BootSourceOverrideTarget":"UsbCd"`},
		"Supermicro that wants Cd":   {nil, map[string]any{"Manufacturer": "Supermicro", "Model": "ars-111gl-nhr"}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"UEFI","BootSourceOverrideTarget":"Cd"`},
		"iDRAC 9 that is new":        {map[string]any{"Vendor": "Dell"}, nil, map[string]any{"Model": "14G Monolithic", "FirmwareVersion": "6.00.30.00"}, cd},
		"iDRAC 8":                    {map[string]any{"Vendor": "Dell"}, nil, map[string]any{"Model": "13G Monolithic", "FirmwareVersion": "2.86.86.86"}, cd},
		"iDRAC without a version":    {map[string]any{"Vendor": "Dell"}, nil, map[string]any{"Model": "14G Monolithic"}, cd},
		"iDRAC 9 without attributes": {map[string]any{"Vendor": "Dell"}, nil, map[string]any{"Model": "14G Monolithic", "FirmwareVersion": "5.10.50.00"}, cd},
		"iDRAC 10 without settings":  {map[string]any{"Vendor": "Dell"}, nil, map[string]any{"Model": "17G Monolithic", "FirmwareVersion": "1.20.50.50"}, cd},
		"a vendor of another type":   {map[string]any{"Vendor": []any{1}}, map[string]any{"Manufacturer": map[string]any{}}, nil, cd},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			change := func(path string, fields map[string]any) {
				doc := f.docs[path].(map[string]any)
				for k, v := range fields {
					doc[k] = v
				}
			}
			change("/redfish/v1/", c.root)
			change("/redfish/v1/Managers/1", c.manager)
			for k, v := range c.system {
				f.set("system:"+k, v)
			}
			f.boot["BootSourceOverrideTarget@Redfish.AllowableValues"] = []string{"None", "Pxe", "Hdd", "Cd", "UsbCd"}
			bodies := patches(f)
			require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceCDROM}))
			require.Equal(t, []string{`W/"0" {"Boot":{` + c.want + `}}`}, *bodies)
		})
	}
}

func TestReadingThePowerStateAsksNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.docs["/redfish/v1/"].(map[string]any)["Vendor"] = "Dell"
	s := talk(t, newDriver(t, quick()), f.info(map[string]any{"redfish_system_id": sysPath}))
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"GET /redfish/v1/", "POST /redfish/v1/SessionService/Sessions", "GET " + sysPath}, f.seen())

	for range 3 {
		_, err = s.Boot(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, 1, f.count("GET /redfish/v1/Managers/1"), "the manager is read once")
}

// The BMC accepts On and shows the server on, and it never begins to boot.
func TestAPersonaTellsWhetherTheServerBeginsToBoot(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{Personas: []string{"dgx"}})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	switched := func(r bmc.PowerRequest, want bmc.Power, progress ...string) {
		t.Helper()
		require.NoError(t, s.RequestPower(t.Context(), r))
		require.Eventually(t, func() bool {
			p, err := s.Power(t.Context())
			return err == nil && p == want && slices.Contains(progress, s.BootProgress())
		}, 20*time.Second, 10*time.Millisecond)
	}
	require.Empty(t, s.BootProgress(), "nothing was read")
	setFaults(t, rack, `{"kind": "no_boot", "count": 1}`)
	switched(bmc.RequestOn, bmc.PowerOn, bmc.NotBooting)
	switched(bmc.RequestForceOff, bmc.PowerOff, bmc.NotBooting)
	switched(bmc.RequestOn, bmc.PowerOn, "SystemHardwareInitializationComplete", "OSRunning")
}

func TestNotNowIsBusy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		id     string
		kind   fault.Kind
	}{
		"iLO in POST":                   {400, "iLO.2.37.UnableToModifyDuringSystemPOST", fault.Busy},
		"iLO right after a reset":       {400, "iLO.2.14.InvalidOperationForSystemState", fault.Busy},
		"iDRAC 10 right after Off":      {409, "Base.1.18.ActionParameterValueConflict", fault.Busy},
		"iDRAC without its data":        {503, "IDRAC.2.8.SYS518", fault.Busy},
		"a resource in transition":      {400, "Base.1.8.ResourceInStandby", fault.Busy},
		"a value that is never allowed": {400, "Base.1.18.ActionParameterValueConflict", fault.Refused},
		"a plain no":                    {409, "Base.1.8.ActionNotSupported", fault.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.once(http.MethodPost, "ComputerSystem.Reset", func(w http.ResponseWriter, _ *http.Request) { message(w, c.status, c.id, "") })
			err := talk(t, newDriver(t, quick()), f.info(nil)).RequestPower(t.Context(), bmc.RequestOn)
			requireFault(t, err, c.kind)
		})
	}
}

func TestAFullTableOfSessionsLeavesBasicAuthentication(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status   int
		id, text string
		denied   bool
	}{
		"the registry's message": {503, "Base.1.8.SessionLimitExceeded", "", false},
		"Dell's message":         {503, "IDRAC.2.1.RAC0218", "", false},
		"words":                  {400, "Vendor.1.0.X", "The maximum number of user sessions is reached.", false},
		"a wrong password":       {401, "Vendor.1.0.X", "Too many failed sessions.", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.times(9, http.MethodPost, "/Sessions", func(w http.ResponseWriter, _ *http.Request) { message(w, c.status, c.id, c.text) })
			_, err := talk(t, newDriver(t, quick()), f.info(nil)).Power(t.Context())
			if c.denied {
				requireFault(t, err, fault.Denied)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestTheSessionsOfAPersonaRunOut(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{Personas: []string{"idrac9"}})
	server := listed(t, rack)
	for range 8 {
		body := strings.NewReader(`{"UserName":"` + server.Username + `","Password":"` + server.Password + `"}`)
		resp, err := http.Post(server.Address+"/redfish/v1/SessionService/Sessions", "application/json", body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusCreated, resp.StatusCode)
	}
	_, err := talk(t, newDriver(t, quick()), server.info()).Power(t.Context())
	require.NoError(t, err)
}

// What BMCs say to such an image is seldom about the reason.
func TestARefusedImageComesWithALikelyReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.times(9, http.MethodPost, "InsertMedia", func(w http.ResponseWriter, _ *http.Request) {
		message(w, 400, "Base.1.8.GeneralError", "A general error has occurred.")
	})
	s := talk(t, newDriver(t, quick()), f.info(nil))
	requireFault(t, s.InsertMedia(t.Context(), "https://192.0.2.1/a.iso"), fault.Refused, "a likely reason", "https", "CA that the BMC trusts")
	requireFault(t, s.InsertMedia(t.Context(), "http://192.0.2.1/a.iso?signature=hunter2-hunter2"), fault.Refused, "a likely reason", "without ? and &")
	err := s.InsertMedia(t.Context(), image)
	requireFault(t, err, fault.Refused)
	require.NotContains(t, err.Error(), "likely")
}

func TestWhatARefusalOfAnImageAsksForIsAdded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id, text string
		args     string
		want     string // the second request
	}{
		"an account, in words":  {"Base.1.8.GeneralError", "The action requires the parameter UserName to be present.", ``, `{"Image":"http://192.0.2.1/a.iso","Password":"none","UserName":"none"}`},
		"the account, by args":  {"Base.1.8.ActionParameterMissing", "", `"InsertMedia","Password"`, `{"Image":"http://192.0.2.1/a.iso","Password":"none","UserName":"none"}`},
		"the protocol, by args": {"Base.1.8.ActionParameterMissing", "", `"InsertMedia","TransferProtocolType"`, `{"Image":"http://192.0.2.1/a.iso","TransferMethod":"Stream","TransferProtocolType":"HTTP"}`},
		"something":             {"Base.1.8.ActionParameterMissing", "", ``, `{"Image":"http://192.0.2.1/a.iso","TransferMethod":"Stream","TransferProtocolType":"HTTP"}`},
		"what is the default":   {"Base.1.8.ActionParameterMissing", "", `"InsertMedia","Inserted"`, `{"Image":"http://192.0.2.1/a.iso","Inserted":true,"WriteProtected":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			var bodies []string
			f.on(http.MethodPost, "InsertMedia", func(w http.ResponseWriter, r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				if bodies = append(bodies, string(body)); len(bodies) == 1 {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"error":{"code":"`+c.id+`","message":"`+c.text+`","@Message.ExtendedInfo":[{"MessageId":"`+c.id+`","MessageArgs":[`+c.args+`]}]}}`)
					return true
				}
				w.WriteHeader(http.StatusNoContent)
				return true
			})
			require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).InsertMedia(t.Context(), image))
			require.Equal(t, []string{`{"Image":"http://192.0.2.1/a.iso"}`, c.want}, bodies)
		})
	}
}

// Without the manager's firmware nobody knows how this BMC wants its changes.
func TestAManagerThatCanNotBeReadNowIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.docs["/redfish/v1/"].(map[string]any)["Vendor"] = "Dell"
	f.once(http.MethodGet, "/redfish/v1/Managers/1", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	s := talk(t, newDriver(t, quick()), f.info(nil))
	requireFault(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}), fault.Unreachable, "/redfish/v1/Managers/1")
	require.Empty(t, f.changed())
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}))

	f = newFixture(t)
	f.docs["/redfish/v1/"].(map[string]any)["Vendor"] = "Dell"
	delete(f.docs, "/redfish/v1/Managers/1")
	require.NoError(t, talk(t, newDriver(t, quick()), f.info(nil)).SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}), "a manager that is not there says nothing")
}

package sim_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

func TestEverythingABMCLinksToIsThereAndSaysWhatItIs(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1, Seed: 1}))
	b := s.bmc("sim-0001")
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		path, fragment, _ := strings.Cut(path, "#")
		if fragment != "" || seen[path] || strings.Contains(path, "/Actions/") {
			return
		}
		seen[path] = true
		a := b.do(http.MethodGet, path, nil)
		require.Equal(t, http.StatusOK, a.status, path)
		require.Equal(t, path, a.at("@odata.id"), path)
		require.NotEmpty(t, a.at("@odata.type"), path)
		require.NotEmpty(t, a.at("Name"), path)
		require.Equal(t, a.header.Get("ETag"), a.at("@odata.etag"), path)
		for _, l := range links(a.json) {
			visit(l)
		}
	}
	visit("/redfish/v1")
	for _, want := range []string{
		system, system + "/Bios", system + "/Bios/Settings", system + "/Processors/1", system + "/Memory/1",
		system + "/EthernetInterfaces/2", system + "/Storage/1/Drives/2", system + "/Storage/1/Volumes",
		"/redfish/v1/Managers/BMC/VirtualMedia/Cd", "/redfish/v1/Chassis/1", "/redfish/v1/TaskService/Tasks",
		"/redfish/v1/SessionService/Sessions",
	} {
		require.True(t, seen[want], want)
	}
}

func links(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "@odata.id" {
				out = append(out, s)
			}
			out = append(out, links(e)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, links(e)...)
		}
	}
	return out
}

func TestOnlyTheRootIsOpen(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	good := b.pass
	for name, c := range map[string]struct {
		user, pass, token, path string
		want                    int
	}{
		"the root needs nothing":                    {path: "/redfish/v1/", want: 200},
		"the version object needs nothing":          {path: "/redfish", want: 200},
		"the system needs somebody":                 {path: system, want: 401},
		"a wrong password is refused":               {user: "admin", pass: "x", path: system, want: 401},
		"a made-up token is refused":                {token: "x", path: system, want: 401},
		"name and password do":                      {user: "admin", pass: good, path: system, want: 200},
		"a resource that is not there is not found": {user: "admin", pass: good, path: system + "/Nothing", want: 404},
		"queries of the protocol are refused":       {user: "admin", pass: good, path: system + "?$expand=.", want: 501},
		"a slash at the end makes no difference":    {user: "admin", pass: good, path: system + "/", want: 200},
	} {
		t.Run(name, func(t *testing.T) {
			b.user, b.pass, b.token = c.user, c.pass, c.token
			a := b.do(http.MethodGet, c.path, nil)
			require.Equal(t, c.want, a.status)
			if c.want >= 400 {
				require.Contains(t, a.at("error", "code"), "Base.1.")
			}
		})
	}
	require.Equal(t, 1, s.server("sim-0001").BadLogins)
}

func TestASessionLivesUntilItIsDeletedOrUnused(t *testing.T) {
	t.Parallel()
	cfg := quick(sim.Config{Servers: 1, MaxSessions: 2})
	cfg.SessionTimeout = 300 * time.Millisecond
	s := start(t, cfg)
	b := s.bmc("sim-0001")
	user, pass := b.user, b.pass
	const path = "/redfish/v1/SessionService/Sessions"
	login := func() answer {
		b.token, b.user = "", ""
		return b.do(http.MethodPost, path, obj{"UserName": user, "Password": pass})
	}
	one := login()
	require.Equal(t, http.StatusCreated, one.status)
	require.Equal(t, one.header.Get("Location"), one.at("@odata.id"))
	b.token = one.header.Get("X-Auth-Token")
	require.Equal(t, http.StatusOK, b.do(http.MethodGet, system, nil).status)

	require.Equal(t, http.StatusCreated, login().status)
	full := login()
	require.Equal(t, http.StatusServiceUnavailable, full.status)
	require.Contains(t, full.at("error", "code"), "SessionLimitExceeded")

	b.token = one.header.Get("X-Auth-Token")
	require.Equal(t, http.StatusNoContent, b.do(http.MethodDelete, one.header.Get("Location"), nil).status)
	require.Equal(t, http.StatusUnauthorized, b.do(http.MethodGet, system, nil).status)

	again := login()
	require.Equal(t, http.StatusCreated, again.status)
	require.Eventually(t, func() bool { return s.server("sim-0001").Sessions == 0 }, soon, tick)
	b.token = again.header.Get("X-Auth-Token")
	require.Equal(t, http.StatusUnauthorized, b.do(http.MethodGet, system, nil).status)

	wrong, err := b.try(http.MethodPost, path, obj{"UserName": user, "Password": "wrong"})
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, wrong.status)
}

func TestAChangeNeedsTheRightETagWhereItNamesOne(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	old := b.do(http.MethodGet, system, nil).header.Get("ETag")
	patch := func(tag string) int {
		return b.do(http.MethodPatch, system, obj{"IndicatorLED": "Lit"}, "If-Match", tag).status
	}
	require.Equal(t, http.StatusOK, patch(old))
	require.Equal(t, http.StatusPreconditionFailed, patch(old), "the resource is another one now")
	require.Equal(t, http.StatusOK, patch("*"))
	now := b.do(http.MethodGet, system, nil)
	require.Equal(t, "Lit", now.at("IndicatorLED"))
	require.Equal(t, http.StatusOK, patch("W/"+now.header.Get("ETag")), "weak comparison")
	require.Equal(t, http.StatusNotModified, b.do(http.MethodGet, system, nil, "If-None-Match", now.header.Get("ETag")).status)
}

func TestRefusedChangesChangeNothing(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	before := b.do(http.MethodGet, system, nil).header.Get("ETag")
	for name, c := range map[string]struct {
		method, path string
		body         any
		status       int
		message      string
	}{
		"an unknown boot target":       {"PATCH", system, obj{"Boot": obj{"BootSourceOverrideTarget": "Tape"}}, 400, "PropertyValueNotInList"},
		"a boot target of wrong type":  {"PATCH", system, obj{"Boot": obj{"BootSourceOverrideTarget": 1}}, 400, "PropertyValueTypeError"},
		"half good, half bad":          {"PATCH", system, obj{"IndicatorLED": "Lit", "Boot": obj{"X": 1}}, 400, "PropertyUnknown"},
		"a property that is read only": {"PATCH", system, obj{"PowerState": "On"}, 400, "PropertyNotWritable"},
		"a property nobody knows":      {"PATCH", system, obj{"Colour": "red"}, 400, "PropertyUnknown"},
		"an unknown reset type":        {"POST", system + "/Actions/ComputerSystem.Reset", obj{"ResetType": "Kick"}, 400, "ActionParameterValueNotInList"},
		"a reset without a type":       {"POST", system + "/Actions/ComputerSystem.Reset", obj{}, 400, "ActionParameterMissing"},
		"a restart of what is off":     {"POST", system + "/Actions/ComputerSystem.Reset", obj{"ResetType": "ForceRestart"}, 409, "ActionNotSupported"},
		"an unknown BIOS attribute":    {"PATCH", system + "/Bios/Settings", obj{"Attributes": obj{"X": 1}}, 400, "PropertyUnknown"},
		"a BIOS attribute's type":      {"PATCH", system + "/Bios/Settings", obj{"Attributes": obj{"QuietBoot": "yes"}}, 400, "PropertyValueTypeError"},
		"a method that is not there":   {"DELETE", system, nil, 405, "OperationNotAllowed"},
		"no JSON":                      {"PATCH", system, json.RawMessage(`"x"`), 400, "MalformedJSON"},
		"media by no URL":              {"POST", cd + "/Actions/VirtualMedia.InsertMedia", obj{"Image": "nfs:/x"}, 400, "ActionParameterValueTypeError"},
		"media that is not there": {
			"POST", cd + "/Actions/VirtualMedia.InsertMedia",
			obj{"Image": s.rack.URL() + "/images/none"},
			400,
			"CouldNotEstablishConnection",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := b.do(c.method, c.path, c.body)
			require.Equal(t, c.status, a.status, "%s", a.raw)
			require.Contains(t, a.at("error", "code"), c.message)
		})
	}
	require.Equal(t, before, b.do(http.MethodGet, system, nil).header.Get("ETag"))
}

// The DMTF's Redfish Service Validator allows only hexadecimal digits in a DurableName of the format NAA.
func TestADurableNameIsDigitsAlone(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	for _, drive := range []string{"1", "2"} {
		a := b.do(http.MethodGet, system+"/Storage/1/Drives/"+drive, nil)
		require.Equal(t, "NAA", a.at("Identifiers", 0, "DurableNameFormat"))
		require.Regexp(t, "^[0-9A-F]{16}$", a.at("Identifiers", 0, "DurableName"))
	}
}

func TestWhatIsShownAsASettingCanBeSet(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	const chassis, service = "/redfish/v1/Chassis/1", "/redfish/v1/SessionService"
	require.Equal(t, "Lit", b.do(http.MethodPatch, chassis, obj{"IndicatorLED": "Lit"}).at("IndicatorLED"))
	require.Equal(t, "Lit", b.do(http.MethodGet, system, nil).at("IndicatorLED"), "it is one light")
	require.EqualValues(t, 600, b.do(http.MethodPatch, service, obj{"SessionTimeout": 600}).at("SessionTimeout"))
	require.EqualValues(t, 600, b.do(http.MethodGet, service, nil).at("SessionTimeout"))
	for name, c := range map[string]struct {
		path    string
		body    obj
		message string
	}{
		"a light of another colour":       {chassis, obj{"IndicatorLED": "Red"}, "PropertyValueNotInList"},
		"what a chassis does not let set": {chassis, obj{"SerialNumber": "1"}, "PropertyNotWritable"},
		"what no chassis has":             {chassis, obj{"Colour": "red"}, "PropertyUnknown"},
		"a session without end":           {service, obj{"SessionTimeout": 86401}, "PropertyValueOutOfRange"},
		"half a second":                   {service, obj{"SessionTimeout": 30.5}, "PropertyValueTypeError"},
		"where sessions are":              {service, obj{"Sessions": 1}, "PropertyNotWritable"},
	} {
		a := b.do(http.MethodPatch, c.path, c.body)
		require.Equal(t, http.StatusBadRequest, a.status, name)
		require.Contains(t, a.at("error", "code"), c.message, name)
	}
}

func TestMediaIsReallyRead(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1, MediaLimit: 1 << 20}))
	b := s.bmc("sim-0001")
	var reads int
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads++
		switch r.URL.Path {
		case "/large":
			_, _ = w.Write(make([]byte, 1<<20+1))
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("x"))
		}
	}))
	defer files.Close()
	for _, path := range []string{"/large", "/broken", "/empty"} {
		require.Equal(t, http.StatusBadRequest, b.insert(files.URL+path).status, path)
	}
	require.Equal(t, 3, reads)

	iso := s.rack.URL() + "/images/deploy.iso"
	require.Equal(t, http.StatusNoContent, b.insert(iso).status)
	a := b.do(http.MethodGet, cd, nil)
	require.Equal(t, true, a.at("Inserted"))
	require.Equal(t, iso, a.at("Image"))
	require.Equal(t, s.rack.ImageSHA256("deploy.iso"), *s.server("sim-0001").MediaSHA256)
	require.Equal(t, http.StatusConflict, b.insert(iso).status, "one CD at a time")

	for range 2 {
		require.Equal(t, http.StatusNoContent, b.do(http.MethodPost, cd+"/Actions/VirtualMedia.EjectMedia", obj{}).status)
	}
	require.Nil(t, s.server("sim-0001").Media)
}

func TestBIOSSettingsWaitForTheNextBoot(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	bios := func(path string) any { return b.do(http.MethodGet, system+path, nil).at("Attributes", "ProcTurboMode") }
	a := b.do(http.MethodPatch, system+"/Bios/Settings", obj{"Attributes": obj{"ProcTurboMode": "Disabled"}})
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "Enabled", bios("/Bios"))
	require.Equal(t, "Disabled", bios("/Bios/Settings"))
	b.reset("On")
	b.become("On")
	require.Equal(t, "Disabled", bios("/Bios"))
	b.do(http.MethodPost, system+"/Bios/Actions/Bios.ResetBios", obj{})
	b.reset("ForceRestart")
	require.Equal(t, "Enabled", bios("/Bios"))
}

func TestVolumesAreMadeOfFreeDrives(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1, DiskBytes: 1 << 30}))
	b := s.bmc("sim-0001")
	const volumes = system + "/Storage/1/Volumes"
	drives := []any{obj{"@odata.id": system + "/Storage/1/Drives/1"}, obj{"@odata.id": system + "/Storage/1/Drives/2"}}
	mirror := obj{"Name": "root", "RAIDType": "RAID1", "Links": obj{"Drives": drives}}
	a := b.do(http.MethodPost, volumes, mirror)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.raw)
	require.EqualValues(t, 1<<30, a.at("CapacityBytes"))
	require.Equal(t, http.StatusBadRequest, b.do(http.MethodPost, volumes, mirror).status, "the drives are taken")
	where := a.header.Get("Location")
	require.Equal(t, "root", b.do(http.MethodGet, where, nil).at("Name"))
	require.Equal(t, http.StatusNoContent, b.do(http.MethodDelete, where, nil).status)
	require.Equal(t, http.StatusNotFound, b.do(http.MethodGet, where, nil).status)
}

func TestActionsBecomeTasksWhereSoSet(t *testing.T) {
	t.Parallel()
	cfg := quick(sim.Config{Servers: 1})
	cfg.TaskDelay = 100 * time.Millisecond
	s := start(t, cfg)
	b := s.bmc("sim-0001")
	a := b.insert(s.rack.URL() + "/images/deploy.iso")
	require.Equal(t, http.StatusAccepted, a.status)
	monitor := a.header.Get("Location")
	require.Equal(t, monitor, a.at("TaskMonitor"))
	first := b.do(http.MethodGet, monitor, nil)
	require.Equal(t, http.StatusAccepted, first.status)
	require.NotEmpty(t, first.header.Get("Retry-After"))
	require.Equal(t, "Running", first.at("TaskState"))
	require.Eventually(t, func() bool { return b.do(http.MethodGet, monitor, nil).status == http.StatusNoContent }, soon, tick)
	id, _ := a.at("@odata.id").(string)
	require.Equal(t, "Completed", b.do(http.MethodGet, id, nil).at("TaskState"))
	require.NotNil(t, s.server("sim-0001").Media)

	a = b.insert(s.rack.URL() + "/images/deploy.iso")
	require.Equal(t, http.StatusAccepted, a.status)
	monitor = a.header.Get("Location")
	require.Eventually(t, func() bool { return b.do(http.MethodGet, monitor, nil).status == http.StatusConflict }, soon, tick)
	id, _ = a.at("@odata.id").(string)
	require.Equal(t, "Exception", b.do(http.MethodGet, id, nil).at("TaskState"))

	require.Equal(t, http.StatusAccepted, b.reset("On").status)
	b.become("On")
}

func TestABMCThatRestartsForgetsItsSessionsAndNothingElse(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	b.reset("On")
	b.become("On")
	login := b.do(http.MethodPost, "/redfish/v1/SessionService/Sessions", obj{"UserName": b.user, "Password": b.pass})
	require.Equal(t, http.StatusCreated, login.status)
	require.Equal(t, http.StatusNoContent,
		b.do(http.MethodPost, "/redfish/v1/Managers/BMC/Actions/Manager.Reset", obj{"ResetType": "ForceRestart"}).status)
	away := b.do(http.MethodGet, "/redfish/v1", nil)
	require.Equal(t, http.StatusServiceUnavailable, away.status)
	require.NotEmpty(t, away.header.Get("Retry-After"))
	b.become("On")
	b.token = login.header.Get("X-Auth-Token")
	require.Equal(t, http.StatusUnauthorized, b.do(http.MethodGet, system, nil).status)
}

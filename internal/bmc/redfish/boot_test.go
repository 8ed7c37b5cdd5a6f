package redfish_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

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
	t.Parallel()
	for name, c := range map[string]struct {
		want bmc.Boot
		boot map[string]any // replaces the system's Boot
		body string
	}{
		"once":             {bmc.Boot{Device: bmc.DevicePXE}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Pxe"`},
		"for good":         {bmc.Boot{Device: bmc.DeviceDisk, Persistent: true}, nil, `"BootSourceOverrideEnabled":"Continuous","BootSourceOverrideTarget":"Hdd"`},
		"none":             {bmc.Boot{}, nil, `"BootSourceOverrideEnabled":"Disabled"`},
		"another mode":     {bmc.Boot{Device: bmc.DeviceBIOS, Mode: bmc.ModeBIOS}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"Legacy","BootSourceOverrideTarget":"BiosSetup"`},
		"the mode it has":  {bmc.Boot{Device: bmc.DevicePXE, Mode: bmc.ModeUEFI}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Pxe"`},
		"a CD by its name": {bmc.Boot{Device: bmc.DeviceCDROM}, nil, `"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Cd"`},
		"a CD by Supermicro's name": {
			bmc.Boot{Device: bmc.DeviceCDROM},
			map[string]any{"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"Pxe", "UsbCd"}},
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
	t.Parallel()
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
	t.Parallel()
	f := newFixture(t)
	f.set("system:Boot", map[string]any{"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None", "Hdd"}})
	s := talk(t, newDriver(t, quick()), f.info(nil))
	requireFault(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}), fault.Refused, "pxe", "Hdd")
	requireFault(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceSafe}), fault.Invalid, "safe")
	require.Zero(t, f.count("PATCH"))
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceDisk}))
}

func TestAnETagThatChangedIsReadAgainOnce(t *testing.T) {
	t.Parallel()
	refuse := answer(http.StatusPreconditionFailed)
	for name, c := range map[string]struct {
		fault   func(f *fixture)
		kind    fault.Kind
		patches []string // the If-Match header of each PATCH
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
	t.Parallel()
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

// sushy-tools (emulator/main.py, system_resource) always shows Continuous, ignores BootSourceOverrideEnabled in a
// PATCH, and refuses a PATCH that has neither a target nor a mode.
func TestABMCThatRefusesToBeWithoutAnOverrideBootsFromDisk(t *testing.T) {
	t.Parallel()
	words := `Missing the BootSourceOverrideTarget and/or BootSourceOverrideMode element`
	sushy := func(f *fixture, also int) *[]string {
		var bodies []string
		f.on(http.MethodPatch, sysPath, func(w http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			if !strings.Contains(string(body), "Target") || len(bodies) <= also {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, words)
				return true
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			return false
		})
		return &bodies
	}
	f := newFixture(t)
	f.boot["BootSourceOverrideTarget@Redfish.AllowableValues"] = []string{"Pxe", "Cd", "Hdd"}
	bodies := sushy(f, 0)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{}))
	require.Equal(t, []string{
		`{"Boot":{"BootSourceOverrideEnabled":"Disabled"}}`,
		`{"Boot":{"BootSourceOverrideEnabled":"Continuous","BootSourceOverrideTarget":"Hdd"}}`,
	}, *bodies)
	have, err := s.Boot(t.Context())
	require.NoError(t, err)
	require.True(t, have.Cleared())

	f = newFixture(t)
	sushy(f, 4) // each wish in its short form and in full
	err = talk(t, newDriver(t, quick()), f.info(nil)).SetBoot(t.Context(), bmc.Boot{})
	requireFault(t, err, fault.Refused, words, "setting it to the disk instead failed")

	f = newFixture(t)
	f.times(9, http.MethodPatch, sysPath, answer(503))
	err = talk(t, newDriver(t, quick()), f.info(nil)).SetBoot(t.Context(), bmc.Boot{})
	requireFault(t, err, fault.Unreachable)
	require.Equal(t, 1, f.count("PATCH"), "only a plain no is answered with another wish")
}

// The BMC of ansible-collections/community.general#11542, whose vendor is not told.
func TestABMCThatWantsTheWholeOverrideGetsIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.on(http.MethodPatch, sysPath, func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "Mode") || !strings.Contains(string(body), "Target") {
			message(w, 400, "Base.1.12.PropertyMissing", "The property BootSourceOverrideMode is a required property and must be included in the request.")
			return true
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		return false
	})
	s := talk(t, newDriver(t, quick()), f.info(nil))
	for _, want := range []bmc.Boot{{Device: bmc.DevicePXE}, {}} {
		require.NoError(t, s.SetBoot(t.Context(), want))
		have, err := s.Boot(t.Context())
		require.NoError(t, err)
		require.True(t, have.Fulfils(want), "%s", have)
		require.Equal(t, bmc.ModeUEFI, have.Mode)
	}
}

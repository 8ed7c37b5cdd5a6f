package redfish_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

func TestBIOSSettingsAreWrittenForTheNextBoot(t *testing.T) {
	t.Parallel()
	for _, persona := range []string{"generic", "idrac9", "ilo5"} {
		t.Run(persona, func(t *testing.T) {
			t.Parallel()
			rack := startRack(t, sim.Config{Personas: []string{persona}})
			s := talk(t, newDriver(t, quick()), listed(t, rack).info())
			before, err := s.BIOS(t.Context())
			require.NoError(t, err)
			require.Equal(t, "Enabled", before.Values["ProcTurboMode"])
			require.Equal(t, json.Number("1"), before.Values["NumaNodesPerSocket"])
			require.Equal(t, true, before.Values["QuietBoot"])
			require.Empty(t, before.Pending)

			want := map[string]any{"ProcTurboMode": "Disabled", "NumaNodesPerSocket": json.Number("2"), "QuietBoot": false}
			require.NoError(t, s.SetBIOS(t.Context(), want))
			next, err := s.BIOS(t.Context())
			require.NoError(t, err)
			require.Equal(t, before.Values, next.Values)
			require.Equal(t, want, next.Pending)

			applied := func() bool {
				b, err := s.BIOS(t.Context())
				require.NoError(t, err)
				return b.Values["ProcTurboMode"] == "Disabled" && b.Values["QuietBoot"] == false && len(b.Pending) == 0
			}
			require.False(t, applied())
			require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
			require.Eventually(t, applied, 10*time.Second, time.Millisecond)

			require.NoError(t, s.ResetBIOS(t.Context()))
			next, err = s.BIOS(t.Context())
			require.NoError(t, err)
			require.Equal(t, map[string]any{"ProcTurboMode": "Enabled", "NumaNodesPerSocket": json.Number("1"), "QuietBoot": true}, next.Pending)
		})
	}
}

func TestARefusedBIOSSettingIsNamed(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	for wrong, value := range map[string]any{"Nonsense": "x", "SysProfile": "Fast", "NumaNodesPerSocket": json.Number("9"), "SystemModelName": "mine"} {
		err := s.SetBIOS(t.Context(), map[string]any{"ProcTurboMode": "Disabled", wrong: value})
		requireFault(t, err, fault.Refused, "BIOS setting "+wrong+": 400")
		require.Equal(t, fault.BIOSSettingRefused, fault.CodeOf(err))
	}
	b, err := s.BIOS(t.Context())
	require.NoError(t, err)
	require.Empty(t, b.Pending)
}

func TestARegistryTellsWhatBIOSSettingsCanBe(t *testing.T) {
	t.Parallel()
	s := talk(t, newDriver(t, quick()), listed(t, startRack(t, sim.Config{})).info())
	b, err := s.BIOS(t.Context())
	require.NoError(t, err)
	all, err := s.BIOSRegistry(t.Context(), b.Registry)
	require.NoError(t, err)
	require.Len(t, all, len(b.Values))
	profile, numa, tag := all["SysProfile"], all["NumaNodesPerSocket"], all["SystemModelName"]
	require.Equal(t, "Enumeration", *profile.Type)
	require.Equal(t, []string{"PerfPerWatt", "PerfOptimized", "DenseCfgOptimized", "Custom"}, profile.Allowed)
	require.Equal(t, []int64{1, 4}, []int64{*numa.LowerBound, *numa.UpperBound})
	require.Nil(t, profile.LowerBound)
	require.True(t, *tag.ReadOnly)
	all, err = s.BIOSRegistry(t.Context(), "AnotherRegistry.v1_0_0")
	require.NoError(t, err)
	require.Empty(t, all)
}

// BMCs without a settings resource take the settings in Bios itself, and passwords appear in no error.
func TestBIOSSettingsOfBMCsThatDifferFromTheStandard(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const at = "/redfish/v1/Systems/1/Bios"
	f.on(http.MethodGet, "/redfish/v1/Systems/1", func(w http.ResponseWriter, _ *http.Request) bool {
		sys := f.system()
		sys["Bios"] = link(at)
		reply(w, sys)
		return true
	})
	f.set(at, map[string]any{"Attributes": map[string]any{
		"A": "x", "B": json.Number("1.5"), "C": nil, "D": []int{1}, "": "y", "E@odata.type": "z", "SetupPassword": nil,
	}})
	s := talk(t, newDriver(t, quick()), f.info(nil))
	b, err := s.BIOS(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]any{"A": "x", "B": json.Number("1.5"), "C": nil, "D": nil, "SetupPassword": nil}, b.Values)
	require.Empty(t, b.Pending)
	f.on(http.MethodPatch, at, func(w http.ResponseWriter, _ *http.Request) bool {
		message(w, http.StatusBadRequest, "PropertyValueFormatError", "The value 'hunter2' for SetupPassword is weak")
		return true
	})
	err = s.SetBIOS(t.Context(), map[string]any{"A": "y", "SetupPassword": "hunter2"})
	requireFault(t, err, fault.Refused, "BIOS setting SetupPassword: 400")
	require.NotContains(t, err.Error(), "hunter2")
	require.Equal(t, 1, f.count("PATCH "+at))
	requireFault(t, s.ResetBIOS(t.Context()), fault.Refused, "can't reset the BIOS settings")

	s = talk(t, newDriver(t, quick()), newFixture(t).info(nil))
	_, err = s.BIOS(t.Context())
	requireFault(t, err, fault.Refused, "no BIOS settings")
}

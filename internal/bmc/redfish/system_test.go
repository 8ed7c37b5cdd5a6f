package redfish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func TestSeveralSystemsHaveToBeChosenFrom(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

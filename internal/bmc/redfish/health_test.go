package redfish_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/sim"
	simredfish "go.temper.dev/temper/internal/sim/redfish"
)

// values returns the values of the readings of a quantity.
func values(h bmc.Health, q bmc.Quantity) (out []float64) {
	for _, r := range h.Readings {
		if r.Quantity == q {
			out = append(out, r.Value)
		}
	}
	return out
}

func TestTheHealthOfEveryPersonaIsRead(t *testing.T) {
	t.Parallel()
	for _, p := range simredfish.Personas() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			rack := startRack(t, sim.Config{Personas: []string{p.Name}})
			s := talk(t, newDriver(t, quick()), listed(t, rack).info())
			health := func(faults string) bmc.Health {
				setFaults(t, rack, faults)
				h, err := s.Health(t.Context())
				require.NoError(t, err)
				return h
			}
			well := health(``)
			require.Equal(t, node.HealthOK, well.Status)
			require.Empty(t, well.Reasons)
			require.Equal(t, node.HealthOK, well.Parts[node.ComponentFan])
			require.Equal(t, node.HealthOK, well.Parts[node.ComponentPowerSupply])
			require.Equal(t, node.HealthOK, well.Parts[node.ComponentTemperature])
			require.Equal(t, []float64{14}, values(well, bmc.PowerDraw))
			require.Equal(t, []float64{22}, values(well, bmc.Temperature), "a server that is off tells only its inlet's")
			require.Len(t, values(well, bmc.FanSpeed), 4)

			fan := health(`{"kind": "failed_fan"}`)
			require.Equal(t, node.HealthCritical, fan.Status)
			require.Len(t, fan.Reasons, 1)
			require.Equal(t, node.ComponentFan, fan.Reasons[0].Kind)
			require.Equal(t, "Fan 1", fan.Reasons[0].Name)

			lie := health(`{"kind": "failed_fan"}, {"kind": "hidden_health"}`)
			require.Equal(t, fan.Reasons, lie.Reasons, "a system that calls itself healthy is not believed against its parts")

			drive := health(`{"kind": "failed_drive"}`)
			require.Equal(t, node.HealthCritical, drive.Status)
			require.Len(t, drive.Reasons, 1)
			require.Equal(t, node.ComponentStorage, drive.Reasons[0].Kind)
			require.Equal(t, "Drive 1", drive.Reasons[0].Name)

			require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
			require.Eventually(t, func() bool {
				p, err := s.Power(t.Context())
				return err == nil && p == bmc.PowerOn
			}, 10*time.Second, 5*time.Millisecond)
			hot := health(`{"kind": "overheated"}`)
			require.Equal(t, node.HealthCritical, hot.Status)
			require.Len(t, hot.Reasons, 1)
			require.Equal(t, "CPU1 Temp", hot.Reasons[0].Name)
			require.Contains(t, hot.Readings, bmc.Reading{Quantity: bmc.Temperature, Place: bmc.PlaceProcessor, Value: 98})
		})
	}
}

// Chassis of a fixture that has the parts of an older service.
const (
	chassisPath = "/redfish/v1/Chassis/1"
	thermalPath = chassisPath + "/Thermal"
)

func TestHealthToleratesWhatBMCsGetWrong(t *testing.T) {
	t.Parallel()
	ok := map[string]any{"State": "Enabled", "Health": "OK", "HealthRollup": "OK"}
	for name, c := range map[string]struct {
		status  any // of the system
		thermal any
		want    node.HealthStatus
		reasons []node.HealthReason
	}{
		"nothing at all":                {nil, nil, node.HealthUnknown, nil},
		"health that is null":           {map[string]any{"State": "Enabled", "Health": nil}, nil, node.HealthUnknown, nil},
		"a status that is a string":     {"OK", nil, node.HealthUnknown, nil},
		"a health of no known word":     {map[string]any{"Health": "Superb"}, nil, node.HealthUnknown, nil},
		"words in capitals":             {map[string]any{"Health": "WARNING"}, nil, node.HealthWarning, []node.HealthReason{{Kind: "system", Severity: "warning", Message: "the BMC says that its health is warning"}}},
		"thermal that is a list":        {ok, json.RawMessage(`[]`), node.HealthOK, nil},
		"thermal that is cut off":       {ok, json.RawMessage(`{"Fans": [`), node.HealthOK, nil},
		"a fan that is absent and sick": {ok, map[string]any{"Fans": []any{map[string]any{"Name": "F1", "Status": map[string]any{"State": "Absent", "Health": "Critical"}}}}, node.HealthOK, nil},
		"temperatures that are strings, or hotter than the BMC's own limit": {
			ok, map[string]any{"Temperatures": []any{
				7,
				map[string]any{"Name": "CPU", "ReadingCelsius": "96", "UpperThresholdCritical": 90, "Status": map[string]any{"Health": "OK"}},
				map[string]any{"Name": "PCH", "ReadingCelsius": 60, "UpperThresholdCritical": 0, "Status": map[string]any{"Health": "OK"}},
			}}, node.HealthCritical, []node.HealthReason{{Kind: "temperature", Name: "CPU", Severity: "critical", Message: "it is at or above its critical threshold of 90 °C"}},
		},
		"the BMC's own words": {
			map[string]any{"Health": "Critical", "Conditions": []any{3, map[string]any{"Severity": "Critical", "Message": "PSU redundancy is lost.\n"}}},
			nil,
			node.HealthCritical,
			[]node.HealthReason{{Kind: "system", Severity: "critical", Message: "PSU redundancy is lost."}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set("system:Status", c.status)
			f.set("system:Links", map[string]any{"Chassis": []any{link(chassisPath)}})
			f.set(chassisPath, map[string]any{"Id": "1", "Thermal": link(thermalPath), "Power": link(chassisPath + "/Nowhere")})
			f.set(thermalPath, c.thermal)
			h, err := talk(t, newDriver(t, quick()), f.info(nil)).Health(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, h.Status)
			require.ElementsMatch(t, c.reasons, h.Reasons)
		})
	}
}

func TestTheHealthOfABMCThatStopsAnsweringIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set("system:Links", map[string]any{"Chassis": []any{link(chassisPath)}})
	f.on("GET", chassisPath, func(w http.ResponseWriter, r *http.Request) bool { silent(w, r); return true })
	_, err := talk(t, newDriver(t, quick()), f.info(nil)).Health(t.Context())
	require.Equal(t, fault.Unreachable, fault.KindOf(err))
}

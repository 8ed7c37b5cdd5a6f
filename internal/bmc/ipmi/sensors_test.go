package ipmi_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// simulated is a sensor of OpenIPMI's simulator.
type simulated struct {
	number, kind, class uint8
	record              func(id uint16) []byte
	lines               string // what it measures; %d is its number
}

// threshold is a sensor with thresholds: 10, 5 and 2 below, 80, 90 and 100 above. One count of what it measures is factor units.
func threshold(number uint8, kind types.SensorType, name string, entity types.EntityID, unit types.SensorUnitType, factor int16, value int) simulated {
	full := types.SDRFull{
		GeneratorID: types.GeneratorBMC, SensorNumber: types.SensorNumber(number), SensorEntityID: entity, SensorEntityInstance: 1,
		SensorType: kind, SensorEventReadingType: types.EventReadingTypeThreshold, SensorUnit: types.SensorUnit{BaseUnit: unit},
		ReadingFactors: types.ReadingFactors{M: factor}, IDStringTypeLength: types.TypeLength(0xc0 | len(name)), IDStringBytes: []byte(name),
	}
	return simulated{
		number: number, kind: uint8(kind), class: 1, record: full.Pack,
		lines: fmt.Sprintf("sensor_set_threshold 0x20 0 %%[1]d readable 111111 100 90 80 2 5 10\nsensor_set_value 0x20 0 %%[1]d %d 0\n", value),
	}
}

// discrete is a sensor that is in some states.
func discrete(number uint8, kind types.SensorType, class types.EventReadingType, name string, states ...int) simulated {
	compact := types.SDRCompact{
		GeneratorID: types.GeneratorBMC, SensorNumber: types.SensorNumber(number), SensorEntityID: 10, SensorEntityInstance: 1,
		SensorType: kind, SensorEventReadingType: class, SensorUnit: types.SensorUnit{AnalogDataFormat: types.SensorAnalogUnitFormat_NotAnalog},
		IDStringTypeLength: types.TypeLength(0xc0 | len(name)), IDStringBytes: []byte(name),
	}
	var lines strings.Builder
	for _, s := range states {
		fmt.Fprintf(&lines, "sensor_set_bit 0x20 0 %%[1]d %d 1 0\n", s)
	}
	return simulated{number: number, kind: uint8(kind), class: uint8(class), record: compact.Pack, lines: lines.String()}
}

// emulated are the lines of sim.emu for sensors.
func emulated(all ...simulated) string {
	var out strings.Builder
	for i, s := range all {
		fmt.Fprintf(&out, "sensor_add 0x20 0 %d %#x %#x\n", s.number, s.kind, s.class)
		fmt.Fprintf(&out, "sensor_set_event_support 0x20 0 %d disable scanning none%s\n", s.number, strings.Repeat(" 000000000000000", 4))
		if s.lines != "" {
			fmt.Fprintf(&out, s.lines, s.number)
		}
		out.WriteString("main_sdr_add 0x20")
		for _, b := range s.record(uint16(i + 1)) {
			fmt.Fprintf(&out, " %#x", b)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestTheSensorsTellTheHealth(t *testing.T) {
	t.Parallel()
	o := startOpenIPMIWith(t, emulated(
		threshold(0x30, types.SensorTypeTemperature, "CPU1 Temp", 3, types.SensorUnitType_DegreesC, 1, 85),
		threshold(0x31, types.SensorTypeTemperature, "Inlet Temp", 37, types.SensorUnitType_DegreesC, 1, 24),
		threshold(0x32, types.SensorTypeFan, "FAN1", 29, types.SensorUnitType_RPM, 100, 4),
		threshold(0x33, types.SensorTypeFan, "FAN2", 29, types.SensorUnitType_RPM, 100, 42),
		discrete(0x40, types.SensorTypePowerSupply, types.EventReadingTypeSensorSpecific, "PS1 Status", 0),
		discrete(0x41, types.SensorTypePowerSupply, types.EventReadingTypeSensorSpecific, "PS2 Status", 0, 1),
		discrete(0x42, types.SensorTypePowerUnit, 0x0b, "PS Redundancy", 1),
		discrete(0x43, types.SensorTypeButtonSwitch, types.EventReadingTypeSensorSpecific, "Button", 0),
	))
	s := open(t, newDriver(t, quick()), o.info(nil))
	for range 2 { // the second time the records are known
		h, err := s.Health(t.Context())
		require.NoError(t, err)
		require.Equal(t, node.HealthCritical, h.Status)
		require.ElementsMatch(t, []node.HealthReason{
			{Kind: node.ComponentFan, Name: "FAN1", Severity: node.HealthCritical, Message: "400 RPM, at or below the lower critical threshold"},
			{Kind: node.ComponentPowerSupply, Name: "PS2 Status", Severity: node.HealthCritical, Message: "Power Supply Failure detected"},
			{Kind: node.ComponentTemperature, Name: "CPU1 Temp", Severity: node.HealthWarning, Message: "85 degrees C, at or above the upper non-critical threshold"},
			{Kind: node.ComponentPowerSupply, Name: "PS Redundancy", Severity: node.HealthWarning, Message: "Redundancy Lost"},
		}, h.Reasons)
		require.Equal(t, []bmc.Reading{
			{Quantity: bmc.Temperature, Place: bmc.PlaceProcessor, Value: 85},
			{Quantity: bmc.Temperature, Place: bmc.PlaceIntake, Value: 24},
			{Quantity: bmc.FanSpeed, Value: 400},
			{Quantity: bmc.FanSpeed, Value: 4200},
		}, h.Readings)
	}
	require.Equal(t, map[string]string{
		"CPU1 Temp": "85 degrees C nc", "Inlet Temp": "24 degrees C ok", "FAN1": "400 RPM cr", "FAN2": "4200 RPM ok",
	}, ipmitoolSDR(t, o), "an independent client reads the same")
}

// ipmitoolSDR returns what ipmitool says of each sensor that measures something: the value, and nc, cr or ok.
func ipmitoolSDR(t *testing.T, o *openIPMI) map[string]string {
	t.Helper()
	out, err := exec.Command(tool(t, "ipmitool", "ipmitool"), "-I", "lanplus", "-H", "127.0.0.1", "-p", fmt.Sprint(o.port), "-U", "admin", "-P", "secret", "-C", "3",
		"sdr", "list", "full").CombinedOutput()
	require.NoError(t, err, "%s", out)
	told := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(line, "|"); len(f) == 3 {
			told[strings.TrimSpace(f[0])] = strings.TrimSpace(f[1]) + " " + strings.TrimSpace(f[2])
		}
	}
	return told
}

func TestABMCWithoutSensorsTellsItsChassis(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t)
	h, err := open(t, newDriver(t, quick()), o.info(nil)).Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, node.HealthOK, h.Status)
	require.Empty(t, h.Readings)
}

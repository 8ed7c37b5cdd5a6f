package ipmi

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	sensorcmd "github.com/bougou/go-ipmi/pkg/command/sensor"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// sensorComponents has the kind of component whose health a kind of sensor tells (IPMI 2.0, table 42-3). Other sensors, such as those of
// buttons and of the firmware's progress, are not read.
var sensorComponents = map[types.SensorType]node.ComponentKind{
	types.SensorTypeTemperature:               node.ComponentTemperature,
	types.SensorTypeVoltage:                   node.ComponentSystem,
	types.SensorTypeCurrent:                   node.ComponentSystem,
	types.SensorTypeFan:                       node.ComponentFan,
	types.SensorTypePhysicalSecurity:          node.ComponentChassis,
	types.SensorTypeProcessor:                 node.ComponentProcessor,
	types.SensorTypePowerSupply:               node.ComponentPowerSupply,
	types.SensorTypePowerUnit:                 node.ComponentPowerSupply,
	types.SensorTypeCollingDevice:             node.ComponentFan,
	types.SensorTypeOtherUnitsbased:           node.ComponentSystem,
	types.SensorTypeMemory:                    node.ComponentMemory,
	types.SensorTypeDriveSlot:                 node.ComponentStorage,
	types.SensorTypeManagementSubsystemHealth: node.ComponentManager,
	types.SensorTypeBattery:                   node.ComponentSystem,
}

// tellSensors adds to h what the sensors say. Sensors that are off, have no reading now or are refused are left out.
func (s *session) tellSensors(ctx context.Context, h *bmc.Health) error {
	all, err := s.sensors(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		kind, known := sensorComponents[one.kind]
		if !known {
			continue
		}
		var r sensorcmd.GetSensorReadingResponse
		err := s.read(ctx, &sensorcmd.GetSensorReadingRequest{SensorNumber: one.number}, &r)
		var no *refusal
		switch {
		case errors.As(err, &no):
			continue
		case err != nil:
			return err
		case r.SensorScanningDisabled, r.ReadingUnavailable:
			continue
		}
		status, message := one.judge(r)
		h.Tell(kind, one.name, status, message)
		if m, ok := one.measured(r.Reading); ok {
			h.Readings = append(h.Readings, m)
		}
	}
	return nil
}

// judge returns what a reading says of the health, and in words what is wrong.
func (s sensor) judge(r sensorcmd.GetSensorReadingResponse) (status node.HealthStatus, message string) {
	if !s.class.IsThreshold() {
		return s.judgeStates(r.ActiveStates.TrueEvents())
	}
	status, bound := node.HealthOK, ""
	switch {
	case r.Above_UNR:
		status, bound = node.HealthCritical, "at or above the upper non-recoverable threshold"
	case r.Below_LNR:
		status, bound = node.HealthCritical, "at or below the lower non-recoverable threshold"
	case r.Above_UCR:
		status, bound = node.HealthCritical, "at or above the upper critical threshold"
	case r.Below_LCR:
		status, bound = node.HealthCritical, "at or below the lower critical threshold"
	case r.Above_UNC:
		status, bound = node.HealthWarning, "at or above the upper non-critical threshold"
	case r.Below_LNC:
		status, bound = node.HealthWarning, "at or below the lower non-critical threshold"
	default:
		return status, ""
	}
	if value, ok := s.value(r.Reading); ok {
		bound = strconv.FormatFloat(value, 'f', -1, 64) + " " + s.full.SensorUnit.String() + ", " + bound
	}
	return status, bound
}

// judgeStates judges the states that a discrete sensor is in.
func (s sensor) judgeStates(states []uint8) (worst node.HealthStatus, message string) {
	worst = node.HealthOK
	for _, state := range states {
		severity := s.severity(state)
		if !severity.WorseThan(worst) {
			continue
		}
		worst, message = severity, fmt.Sprintf("it is in state %d", state)
		if e := s.class.EventForOffset(s.kind, state); e != nil && e.EventName != "" {
			message = e.EventName
		}
	}
	return worst, message
}

// severity returns how bad a state of a discrete sensor is.
func (s sensor) severity(state uint8) node.HealthStatus {
	if s.class == types.EventReadingTypeSensorSpecific {
		return specificStates[s.kind][state]
	}
	return genericStates[s.class][state]
}

// value returns what a sensor measures, in its unit; ok is false if it measures nothing or in a way that the record does not
// describe.
func (s sensor) value(raw uint8) (v float64, ok bool) {
	if s.full == nil || !s.class.IsThreshold() || !s.full.SensorUnit.IsAnalog() || s.full.LinearizationFunc.IsNonLinear() {
		return 0, false
	}
	v = s.full.ConvertReading(raw)
	return v, v > -100 && v < 1e6 // what a sensor in a server can have; not for infinity and NaN
}

// measured returns the reading for the metrics; ok is false if there is none for what the sensor measures.
func (s sensor) measured(raw uint8) (r bmc.Reading, ok bool) {
	if r.Value, ok = s.value(raw); !ok {
		return r, false
	}
	unit := s.full.SensorUnit
	switch {
	case unit.ModifierRelation != types.SensorModifierRelation_None:
		return r, false
	case s.kind == types.SensorTypeTemperature && unit.BaseUnit == types.SensorUnitType_DegreesC:
		r.Quantity, r.Place = bmc.Temperature, s.place()
	case s.kind == types.SensorTypeFan && unit.BaseUnit == types.SensorUnitType_RPM:
		r.Quantity = bmc.FanSpeed
	case s.kind == types.SensorTypeFan && unit.Percentage:
		r.Quantity = bmc.FanPercent
	default:
		return r, false
	}
	return r, true
}

// places has the place of the sensors of each entity (IPMI 2.0, table 43-13).
var places = map[types.EntityID]bmc.Place{
	3: bmc.PlaceProcessor, 4: bmc.PlaceStorage, 8: bmc.PlaceMemory, 10: bmc.PlacePowerSupply, 19: bmc.PlacePowerSupply, 26: bmc.PlaceStorage,
	32: bmc.PlaceMemory, 37: bmc.PlaceIntake, 55: bmc.PlaceIntake, 64: bmc.PlaceIntake, 65: bmc.PlaceProcessor,
}

// place returns where a sensor is.
func (s sensor) place() bmc.Place {
	if p, known := places[s.entity]; known {
		return p
	}
	return bmc.PlaceOther
}

package redfish

import (
	"context"
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// reading is the value of a sensor. BMCs send null for a sensor that is not there or has no power. It is a pointer and no
// looseNumber, because 0 degrees and negative ones are values.
type reading struct{ loose[*float64] }

// value returns the value; ok is false if there is none, or none that a sensor in a server can have.
func (r reading) value() (v float64, ok bool) {
	if r.v == nil || *r.v < -100 || *r.v > 1e6 {
		return 0, false
	}
	return *r.v, true
}

// UnmarshalJSON never fails. It also reads a number that is sent as a string.
func (r *reading) UnmarshalJSON(b []byte) error {
	_ = r.loose.UnmarshalJSON([]byte(strings.Trim(string(b), `"`)))
	return nil
}

type healthyChassis struct {
	healthyPart
	// Thermal and Power are the resources of older services, Subsystems those of newer ones. Some have both.
	Thermal, Power, ThermalSubsystem, PowerSubsystem, EnvironmentMetrics, Sensors link
}

type thermal struct {
	Temperatures looseList[struct {
		healthyPart
		ReadingCelsius         reading
		PhysicalContext        looseString
		UpperThresholdCritical reading
	}]
	Fans looseList[fan]
}

type fan struct {
	healthyPart
	FanName      looseString // before version 1.1 of Thermal
	Reading      reading
	ReadingUnits looseString
	SpeedPercent loose[struct{ Reading, SpeedRPM reading }] // of ThermalSubsystem
}

type power struct {
	PowerControl  looseList[struct{ PowerConsumedWatts reading }]
	PowerSupplies looseList[healthyPart]
}

type sensor struct {
	healthyPart
	Reading         reading
	ReadingType     looseString
	PhysicalContext looseString
}

// chassisHealth reads the chassis and their sensors. Older resources come first where a chassis has both, because they are
// one request for all sensors.
func (s *session) chassisHealth(ctx context.Context, paths []string, h *bmc.Health) error {
	for _, path := range paths[:min(len(paths), maxHealthChassis)] {
		var c healthyChassis
		if _, err := s.read(ctx, path, &c); err != nil {
			if skippable(err) {
				continue
			}
			return err
		}
		tell(h, node.ComponentChassis, c.name(), c.Status.v, c.Status.v.own())
		if err := s.thermalHealth(ctx, c, h); err != nil {
			return err
		}
		if err := s.powerHealth(ctx, c, h); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) thermalHealth(ctx context.Context, c healthyChassis, h *bmc.Health) error {
	if c.Thermal != "" {
		return eachOf(ctx, s, []string{string(c.Thermal)}, func(t thermal) {
			for _, one := range t.Temperatures {
				told := one.Status.v
				tellTemperature(h, one.name(), told, one.ReadingCelsius, one.PhysicalContext, one.UpperThresholdCritical)
			}
			for _, f := range t.Fans {
				tellFan(h, f)
			}
		})
	}
	var sub struct{ Fans, ThermalMetrics link }
	if err := s.readOptional(ctx, c.ThermalSubsystem, &sub); err != nil {
		return err
	}
	if err := each(ctx, s, sub.Fans, func(f fan) { tellFan(h, f) }); err != nil {
		return err
	}
	return s.sensorHealth(ctx, c, h)
}

func (s *session) powerHealth(ctx context.Context, c healthyChassis, h *bmc.Health) error {
	supply := func(p healthyPart) { tell(h, node.ComponentPowerSupply, p.name(), p.Status.v, p.Status.v.whole()) }
	if c.Power != "" {
		return eachOf(ctx, s, []string{string(c.Power)}, func(p power) {
			for _, one := range p.PowerSupplies {
				supply(one)
			}
			for _, control := range p.PowerControl[:min(len(p.PowerControl), 1)] { // further ones are parts of the first
				measure(h, bmc.PowerDraw, "", control.PowerConsumedWatts)
			}
		})
	}
	var sub struct{ PowerSupplies link }
	if err := s.readOptional(ctx, c.PowerSubsystem, &sub); err != nil {
		return err
	}
	if err := each(ctx, s, sub.PowerSupplies, supply); err != nil {
		return err
	}
	var environment struct {
		PowerWatts loose[struct{ Reading reading }]
	}
	err := s.readOptional(ctx, c.EnvironmentMetrics, &environment)
	measure(h, bmc.PowerDraw, "", environment.PowerWatts.v.Reading)
	return err
}

// sensorHealth reads the temperatures of a chassis that has no Thermal: each sensor is a resource. ThermalMetrics would be
// one request, but has no health.
func (s *session) sensorHealth(ctx context.Context, c healthyChassis, h *bmc.Health) error {
	return each(ctx, s, c.Sensors, func(one sensor) {
		if one.ReadingType == "Temperature" {
			tellTemperature(h, one.name(), one.Status.v, one.Reading, one.PhysicalContext, reading{})
		}
	})
}

// readOptional reads a resource that may be missing or unreadable. If path is "", it reads nothing.
func (s *session) readOptional(ctx context.Context, path link, into any) error {
	if path == "" {
		return nil
	}
	if _, err := s.read(ctx, string(path), into); err != nil && !skippable(err) {
		return err
	}
	return nil
}

func tellFan(h *bmc.Health, f fan) {
	tell(h, node.ComponentFan, firstNonBlank(f.FanName.stored(), f.name()), f.Status.v, f.Status.v.whole())
	if f.Status.v.absent() {
		return
	}
	switch {
	case f.SpeedPercent.v.SpeedRPM.v != nil:
		measure(h, bmc.FanSpeed, "", f.SpeedPercent.v.SpeedRPM)
	case f.SpeedPercent.v.Reading.v != nil:
		measure(h, bmc.FanPercent, "", f.SpeedPercent.v.Reading)
	case strings.EqualFold(string(f.ReadingUnits), "Percent"):
		measure(h, bmc.FanPercent, "", f.Reading)
	default:
		measure(h, bmc.FanSpeed, "", f.Reading)
	}
}

// tellTemperature adds a temperature. A BMC that reads more than its own critical threshold and calls that OK is not
// believed; a threshold of 0 is none.
func tellTemperature(h *bmc.Health, name string, told healthStatus, celsius reading, place looseString, critical reading) {
	if told.absent() {
		return
	}
	measure(h, bmc.Temperature, placeOf(place, name), celsius)
	is := told.whole()
	if v, ok := celsius.value(); ok {
		if limit, known := critical.value(); known && limit > 0 && v >= limit {
			h.Tell(node.ComponentTemperature, name, node.HealthCritical, fmt.Sprintf("it is at or above its critical threshold of %g °C", limit))
			return
		}
	}
	tell(h, node.ComponentTemperature, name, told, is)
}

func measure(h *bmc.Health, q bmc.Quantity, place bmc.Place, r reading) {
	if v, ok := r.value(); ok && len(h.Readings) < maxElements {
		h.Readings = append(h.Readings, bmc.Reading{Quantity: q, Place: place, Value: v})
	}
}

// placeWords has, for each place, the beginnings of Redfish's physical contexts in lower case, and words of sensors'
// names, for BMCs that give no context. The first that fits is the place.
var placeWords = []struct {
	place bmc.Place
	words []string
}{
	{bmc.PlaceIntake, []string{"intake", "inlet", "ambient"}},
	{bmc.PlaceExhaust, []string{"exhaust", "outlet"}},
	{bmc.PlaceAccelerator, []string{"accelerator", "gpu"}},
	{bmc.PlaceMemory, []string{"memory", "dimm"}},
	{bmc.PlaceProcessor, []string{"cpu", "processor"}},
	{bmc.PlacePowerSupply, []string{"powersupply", "psu", "power supply"}},
	{bmc.PlaceStorage, []string{"storage", "drive", "disk", "nvme", "hdd", "ssd"}},
	{bmc.PlaceNetwork, []string{"network", "nic"}},
}

func placeOf(context looseString, name string) bmc.Place {
	for _, text := range []string{strings.ToLower(string(context)), strings.ToLower(name)} {
		for _, p := range placeWords {
			for _, w := range p.words {
				if strings.Contains(text, w) {
					return p.place
				}
			}
		}
	}
	return bmc.PlaceOther
}

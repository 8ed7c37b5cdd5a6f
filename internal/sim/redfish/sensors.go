package redfish

import (
	"strconv"

	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// sensorModel says which resources show the sensors of a chassis.
type sensorModel int

const (
	bothModels sensorModel = iota
	oldModel               // Thermal and Power, deprecated since 2020.4 of the schemas
	newModel               // ThermalSubsystem, PowerSubsystem, EnvironmentMetrics and Sensors
)

// part says where a persona's model is known from.
func (s sensorModel) part() Part {
	return Part{[]string{
		"sensors in Thermal and Power, and also in ThermalSubsystem, PowerSubsystem and Sensors", "sensors in Thermal and Power", "sensors in ThermalSubsystem, PowerSubsystem and Sensors",
	}[s], Guessed, ""}
}

const supplyCount = 2

// contexts are where the temperatures of a server are measured, as Redfish says it.
var contexts = []string{"Intake", "CPU", "Exhaust"}

// sick is a Status whose health is health.
func sick(health string) m { return m{"State": "Enabled", "Health": health} }

// partHealth returns Critical while the server has the fault, else OK. A server that is off does not get hot.
func (c *call) partHealth(fault faults.Type) string {
	if !c.s.Faults.Active(fault) || fault == faults.Overheated && c.s.PowerState() != machine.On {
		return "OK"
	}
	return "Critical"
}

// rollup is the health of the system with all parts. A BMC that hides what its parts say calls everything OK.
func (c *call) rollup() string {
	for _, f := range []faults.Type{faults.FailedFan, faults.Overheated, faults.FailedDrive} {
		if c.partHealth(f) != "OK" && !c.s.Faults.Active(faults.HiddenHealth) {
			return "Critical"
		}
	}
	return "OK"
}

// celsius returns what the sensor of temperature i reads, nil if nothing.
func (c *call) celsius(i int) any {
	if v, ok := c.s.Celsius(i); ok {
		return v
	}
	return nil
}

func (c *call) sensorHealth(i int) string {
	if i == machine.CPUSensor {
		return c.partHealth(faults.Overheated)
	}
	return "OK"
}

func (c *call) fanHealth(i int) string {
	if c.s.FanFailed(i) {
		return "Critical"
	}
	return "OK"
}

// watts returns what the server draws.
func (c *call) watts() float64 {
	if c.s.PowerState() != machine.On {
		return 14
	}
	return 220 + 60*float64(len(c.s.CPUs))
}

// sensorRoutes has the sensors of the chassis in the resources of the model, and shows their health in the system.
func sensorRoutes(r map[string]resource, model sensorModel) {
	links := m{}
	if model != newModel {
		links["Thermal"], links["Power"] = ref(chassis+"/Thermal"), ref(chassis+"/Power")
		r[chassis+"/Thermal"], r[chassis+"/Power"] = resource{get: getThermal}, resource{get: getPower}
	}
	if model != oldModel {
		for _, name := range []string{"ThermalSubsystem", "PowerSubsystem", "EnvironmentMetrics", "Sensors"} {
			links[name] = ref(chassis + "/" + name)
		}
		newSensorRoutes(r)
	}
	r[chassis] = r[chassis].edited(func(_ *call, body m) {
		for name, link := range links {
			body[name] = link
		}
	})
	r[system] = r[system].edited(func(c *call, body m) {
		body["Status"] = m{"State": body["Status"].(m)["State"], "Health": "OK", "HealthRollup": c.rollup()}
	})
	r[controller+"/Drives/{n}"] = r[controller+"/Drives/{n}"].edited(func(c *call, body m) {
		if body["Id"] == "1" {
			body["Status"] = sick(c.partHealth(faults.FailedDrive))
		}
	})
}

func getThermal(c *call) (m, error) {
	var temperatures, fans []any
	for i, one := range machine.Temperatures {
		temperatures = append(temperatures, m{
			"@odata.id": chassis + "/Thermal#/Temperatures/" + strconv.Itoa(i), "MemberId": one.ID, "Name": one.Name, "ReadingCelsius": c.celsius(i),
			"PhysicalContext": contexts[i], "UpperThresholdCritical": one.Critical, "Status": sick(c.sensorHealth(i)),
		})
	}
	// A socket without a processor is listed, too, as real BMCs do.
	temperatures = append(temperatures, m{
		"@odata.id": chassis + "/Thermal#/Temperatures/9", "MemberId": "CPU9", "Name": "CPU9 Temp", "ReadingCelsius": nil, "PhysicalContext": "CPU",
		"Status": m{"State": "Absent"},
	})
	for i := range machine.FanCount {
		fans = append(fans, m{
			"@odata.id": chassis + "/Thermal#/Fans/" + strconv.Itoa(i), "MemberId": strconv.Itoa(i + 1), "Name": fanName(i),
			"Reading": c.s.RPM(i), "ReadingUnits": "RPM", "Status": sick(c.fanHealth(i)),
		})
	}
	return m{
		"@odata.type": "#Thermal.v1_7_1.Thermal", "@odata.id": chassis + "/Thermal", "Id": "Thermal", "Name": "Thermal",
		"Temperatures": temperatures, "Fans": fans,
	}, nil
}

func getPower(c *call) (m, error) {
	var supplies []any
	for i := range supplyCount {
		supplies = append(supplies, m{
			"@odata.id": chassis + "/Power#/PowerSupplies/" + strconv.Itoa(i), "MemberId": strconv.Itoa(i + 1), "Name": supplyName(i),
			"PowerCapacityWatts": 1400, "Status": sick("OK"),
		})
	}
	return m{
		"@odata.type": "#Power.v1_7_2.Power", "@odata.id": chassis + "/Power", "Id": "Power", "Name": "Power",
		"PowerControl":  []any{m{"@odata.id": chassis + "/Power#/PowerControl/0", "MemberId": "0", "Name": "System Power Control", "PowerConsumedWatts": c.watts()}},
		"PowerSupplies": supplies,
	}, nil
}

func fanName(i int) string    { return "Fan " + strconv.Itoa(i+1) }
func supplyName(i int) string { return "Power Supply " + strconv.Itoa(i+1) }

func newSensorRoutes(r map[string]resource) {
	const (
		thermal  = chassis + "/ThermalSubsystem"
		supplies = chassis + "/PowerSubsystem"
		all      = chassis + "/Sensors"
	)
	get := func(g func(*call) (m, error)) resource { return resource{get: g} }
	r[thermal] = get(func(*call) (m, error) {
		return m{
			"@odata.type": "#ThermalSubsystem.v1_3_0.ThermalSubsystem", "@odata.id": thermal, "Id": "ThermalSubsystem", "Name": "Thermal Subsystem",
			"Fans": ref(thermal + "/Fans"), "Status": enabled,
		}, nil
	})
	r[thermal+"/Fans"] = get(func(*call) (m, error) { return numbered(thermal+"/Fans", "Fan", "Fans", machine.FanCount), nil })
	r[thermal+"/Fans/{n}"] = get(func(c *call) (m, error) {
		i, err := nth(c, machine.FanCount)
		if err != nil {
			return nil, err
		}
		return m{
			"@odata.type": "#Fan.v1_5_0.Fan", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1), "Name": fanName(i),
			"SpeedPercent": m{"Reading": c.s.RPM(i) / 120, "SpeedRPM": c.s.RPM(i)}, "Status": sick(c.fanHealth(i)),
		}, nil
	})
	r[supplies] = get(func(*call) (m, error) {
		return m{
			"@odata.type": "#PowerSubsystem.v1_1_1.PowerSubsystem", "@odata.id": supplies, "Id": "PowerSubsystem", "Name": "Power Subsystem",
			"PowerSupplies": ref(supplies + "/PowerSupplies"), "Status": enabled,
		}, nil
	})
	r[supplies+"/PowerSupplies"] = get(func(*call) (m, error) {
		return numbered(supplies+"/PowerSupplies", "PowerSupply", "Power Supplies", supplyCount), nil
	})
	r[supplies+"/PowerSupplies/{n}"] = get(func(c *call) (m, error) {
		i, err := nth(c, supplyCount)
		if err != nil {
			return nil, err
		}
		return m{
			"@odata.type": "#PowerSupply.v1_6_0.PowerSupply", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1), "Name": supplyName(i),
			"PowerCapacityWatts": 1400, "Status": sick("OK"),
		}, nil
	})
	r[chassis+"/EnvironmentMetrics"] = get(func(c *call) (m, error) {
		return m{
			"@odata.type": "#EnvironmentMetrics.v1_3_1.EnvironmentMetrics", "@odata.id": c.URL.Path, "Id": "EnvironmentMetrics", "Name": "Environment Metrics",
			"TemperatureCelsius": m{"Reading": c.celsius(0)}, "PowerWatts": m{"Reading": c.watts()},
		}, nil
	})
	r[all] = get(func(*call) (m, error) {
		paths := make([]string, len(machine.Temperatures))
		for i, one := range machine.Temperatures {
			paths[i] = all + "/" + one.ID
		}
		return collection(all, "Sensor", "Sensors", paths...), nil
	})
	for i, one := range machine.Temperatures {
		r[all+"/"+one.ID] = get(func(c *call) (m, error) {
			return m{
				"@odata.type": "#Sensor.v1_8_0.Sensor", "@odata.id": c.URL.Path, "Id": one.ID, "Name": one.Name, "ReadingType": "Temperature", "ReadingUnits": "Cel",
				"Reading": c.celsius(i), "PhysicalContext": contexts[i], "Thresholds": m{"UpperCritical": m{"Reading": one.Critical}}, "Status": sick(c.sensorHealth(i)),
			}, nil
		})
	}
}

package machine

import "go.temper.dev/temper/internal/sim/faults"

// FanCount is the number of fans of a server.
const FanCount = 4

// CPUSensor is the index of the temperature that the fault Overheated raises.
const CPUSensor = 1

// Temperatures are the temperatures of a server that is on, in °C.
var Temperatures = []struct {
	ID, Name          string
	Celsius, Critical float64
}{
	{"Inlet", "Inlet Temp", 22, 47},
	{"CPU1", "CPU1 Temp", 54, 95},
	{"Exhaust", "Exhaust Temp", 37, 80},
}

// Celsius returns what the sensor of temperature i reads; ok is false while it reads nothing. That of the inlet reads also
// while the server is off.
func (s *Server) Celsius(i int) (v float64, ok bool) {
	switch {
	case i > 0 && s.PowerState() != On:
		return 0, false
	case i == CPUSensor && s.Faults.Active(faults.Overheated):
		return Temperatures[i].Critical + 3, true
	}
	return Temperatures[i].Celsius, true
}

// FanFailed reports whether fan i has failed.
func (s *Server) FanFailed(i int) bool { return i == 0 && s.Faults.Active(faults.FailedFan) }

// RPM returns the speed of fan i.
func (s *Server) RPM(i int) float64 {
	if s.FanFailed(i) || s.PowerState() != On {
		return 0
	}
	return 8400
}

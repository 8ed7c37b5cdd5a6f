package bmc

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// HealthReader reads the health and the sensors of a server.
type HealthReader interface {
	// Health reads the health and the sensors. What the BMC does not report is missing, and so is a part that can't be read.
	Health(ctx context.Context) (Health, error)
}

// Health is what a BMC reports about the health and the sensors of a server.
type Health struct {
	Status   node.HealthStatus                        // the worst status of any part
	Reasons  []node.HealthReason                      // what is wrong (node.WorstFirst); Since is not set
	Parts    map[node.ComponentKind]node.HealthStatus // the worst status of each kind of part that the BMC reports
	Readings []Reading                                // of sensors
}

// Reading is what a sensor measures.
type Reading struct {
	Quantity Quantity
	Place    Place // of Temperature only
	Value    float64
}

// Quantity is what a sensor measures, and in which unit.
type Quantity string

// Quantities.
const (
	Temperature Quantity = "temperature" // degrees Celsius
	PowerDraw   Quantity = "power"       // watts that the server draws
	FanSpeed    Quantity = "fan_speed"   // revolutions a minute
	FanPercent  Quantity = "fan_percent" // percent of the highest speed, of fans for which the BMC reports no revolutions
)

// Place is where a temperature is measured.
type Place string

// Places.
const (
	PlaceIntake      Place = "intake"
	PlaceExhaust     Place = "exhaust"
	PlaceProcessor   Place = "processor"
	PlaceMemory      Place = "memory"
	PlaceStorage     Place = "storage"
	PlacePowerSupply Place = "power_supply"
	PlaceNetwork     Place = "network"
	PlaceAccelerator Place = "accelerator"
	PlaceOther       Place = "other"
)

// Places lists the places.
var Places = []Place{
	PlaceIntake, PlaceExhaust, PlaceProcessor, PlaceMemory, PlaceStorage, PlacePowerSupply, PlaceNetwork, PlaceAccelerator, PlaceOther,
}

// Tell adds the status of a part. message says what is wrong, and is used only if the status is warning or critical.
func (h *Health) Tell(kind node.ComponentKind, name string, status node.HealthStatus, message string) {
	if h.Status == "" {
		h.Status = node.HealthUnknown
	}
	if h.Parts == nil {
		h.Parts = map[node.ComponentKind]node.HealthStatus{}
	}
	if worst, ok := h.Parts[kind]; !ok || status.WorseThan(worst) {
		h.Parts[kind] = status
	}
	if status.WorseThan(h.Status) {
		h.Status = status
	}
	if status.Troubled() {
		h.Reasons = append(h.Reasons, node.HealthReason{Kind: kind, Name: name, Severity: status, Message: message})
	}
}

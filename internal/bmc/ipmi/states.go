package ipmi

import (
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/node"
)

// states has how bad each state of a discrete sensor is, by its offset. States that are not listed are no trouble.
type states map[uint8]node.HealthStatus

// genericStates has the states of discrete sensors of generic types (IPMI 2.0, table 42-2).
var genericStates = map[types.EventReadingType]states{
	0x04: {1: node.HealthWarning}, // predictive failure
	0x05: {1: node.HealthWarning}, // limit exceeded
	0x06: {1: node.HealthWarning}, // performance lags
	0x07: { // severity
		1: node.HealthWarning, 2: node.HealthCritical, 3: node.HealthCritical, 4: node.HealthWarning, 5: node.HealthCritical, 6: node.HealthCritical,
	},
	0x0a: {6: node.HealthWarning, 8: node.HealthWarning}, // degraded, install error
	0x0b: { // redundancy
		1: node.HealthWarning, 2: node.HealthWarning, 3: node.HealthWarning, 4: node.HealthWarning, 5: node.HealthCritical, 6: node.HealthWarning,
		7: node.HealthWarning,
	},
}

// specificStates has the states of sensors whose states depend on what they watch (IPMI 2.0, table 42-3).
var specificStates = map[types.SensorType]states{
	types.SensorTypePhysicalSecurity: {0: node.HealthWarning, 1: node.HealthWarning, 2: node.HealthWarning, 3: node.HealthWarning, 6: node.HealthWarning},
	types.SensorTypeProcessor: {
		0: node.HealthCritical, 1: node.HealthCritical, 2: node.HealthCritical, 3: node.HealthCritical, 4: node.HealthCritical, 5: node.HealthCritical,
		6: node.HealthCritical, 10: node.HealthWarning, 11: node.HealthCritical, 12: node.HealthWarning,
	},
	types.SensorTypePowerSupply: {
		1: node.HealthCritical, 2: node.HealthWarning, 3: node.HealthCritical, 4: node.HealthCritical, 5: node.HealthWarning, 6: node.HealthWarning,
	},
	types.SensorTypePowerUnit: {3: node.HealthCritical, 5: node.HealthCritical, 6: node.HealthCritical, 7: node.HealthWarning},
	types.SensorTypeMemory: {
		0: node.HealthWarning, 1: node.HealthCritical, 2: node.HealthCritical, 3: node.HealthCritical, 4: node.HealthWarning, 5: node.HealthWarning,
		7: node.HealthWarning, 9: node.HealthWarning, 10: node.HealthCritical,
	},
	types.SensorTypeDriveSlot: {1: node.HealthCritical, 2: node.HealthWarning, 5: node.HealthCritical, 6: node.HealthCritical},
	types.SensorTypeManagementSubsystemHealth: {
		0: node.HealthWarning, 1: node.HealthWarning, 2: node.HealthWarning, 3: node.HealthWarning, 4: node.HealthWarning, 5: node.HealthWarning,
	},
	types.SensorTypeBattery: {0: node.HealthWarning, 1: node.HealthCritical},
}

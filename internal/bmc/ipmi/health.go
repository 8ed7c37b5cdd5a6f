package ipmi

import (
	"context"

	"github.com/bougou/go-ipmi/pkg/command/chassis"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// Health reads the faults of Get Chassis Status (IPMI 2.0, table 28-3), and each sensor of the BMC that tells the health of a
// part, which is one command each.
func (s *session) Health(ctx context.Context) (bmc.Health, error) {
	var status chassis.GetChassisStatusResponse
	if err := s.read(ctx, &chassis.GetChassisStatusRequest{}, &status); err != nil {
		return bmc.Health{}, s.wrap("read the health", err)
	}
	h := bmc.Health{}
	for _, f := range []struct {
		is      bool
		kind    node.ComponentKind
		worst   node.HealthStatus
		message string
	}{
		{status.CollingFanFault, node.ComponentFan, node.HealthCritical, "a fan or the cooling has failed"},
		{status.DriveFault, node.ComponentStorage, node.HealthCritical, "a drive has failed"},
		{status.PowerFault, node.ComponentPowerSupply, node.HealthCritical, "the main power has failed"},
		{status.PowerOverload, node.ComponentPowerSupply, node.HealthCritical, "the server was switched off because it draws too much power"},
		{status.PowerControlFault, node.ComponentPowerSupply, node.HealthWarning, "the power did not change when the BMC switched it"},
		{status.ChassisIntrusionActive, node.ComponentChassis, node.HealthWarning, "the chassis is open"},
	} {
		is := node.HealthOK
		if f.is {
			is = f.worst
		}
		h.Tell(f.kind, "", is, f.message)
	}
	if err := s.tellSensors(ctx, &h); err != nil {
		return bmc.Health{}, s.wrap("read the sensors", err)
	}
	h.Reasons = node.WorstFirst(h.Reasons)
	return h, nil
}

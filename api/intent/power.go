package intent

import (
	"math"
	"time"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// maxPowerTimeout bounds the timeout of a power request.
const maxPowerTimeout = 24 * time.Hour

// PowerTimeout reads how long the operating system gets; 0 = the setting.
func PowerTimeout(in *format.Object) (time.Duration, error) {
	seconds := in.Integer("timeout")
	switch {
	case in.Err != nil:
		return 0, in.Err
	case seconds == nil:
		return 0, nil
	case *seconds < 1 || *seconds > int64(maxPowerTimeout/time.Second):
		return 0, fault.New(fault.Invalid, "timeout has to be positive integer, at most %d", int64(math.Round(maxPowerTimeout.Seconds())))
	}
	return time.Duration(*seconds) * time.Second, nil
}

// DecidePower opens an operation if the node has none. If its open operation waits, that
// operation is asked to change the power. If it is going to bring the power to target anyway, the request joins it: nothing new is
// started.
func (s *Service) DecidePower(n *node.Node, fl *Fleet, target node.PowerState, timeout time.Duration, by string) (*node.Request, error) {
	d, err := admission.Power(n, target, fl.Reservation(n))
	if err != nil {
		return nil, err
	}
	if err := fl.RequireCovered(n); err != nil {
		return nil, err
	}
	if d.Join && timeout != 0 && timeout != n.Operation.SoftTimeout { // it gives the operating system another time
		return nil, node.Locked(n, fl.Reservation(n))
	}
	if d.Join {
		return &node.Request{Join: true}, nil
	}
	r := &node.Request{Move: d.Move, Apply: d.Apply}
	if d.Steer != "" {
		r.Steer = &node.Steer{Ask: d.Steer, By: by, Reason: string(target), Power: target}
		return r, nil
	}
	if err := s.Drivers.Validate(n.Driver, n.DriverInfo); err != nil {
		return nil, err
	}
	steps, err := plan.Steps(d.Open, n, nil, plan.Options{Power: target})
	if err != nil {
		return nil, err
	}
	r.Open = &node.Operation{Kind: d.Open, Steps: steps, RequestedBy: by, PowerTarget: target, SoftTimeout: timeout}
	return r, nil
}

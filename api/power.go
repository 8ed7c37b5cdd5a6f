package api

import (
	"math"
	"time"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// maxPowerTimeout bounds the timeout of a power request.
const maxPowerTimeout = 24 * time.Hour

// putPower answers PUT /v1/nodes/X/states/power.
func (s *Server) putPower(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, "target", "timeout")
	if err != nil {
		return 0, nil, err
	}
	in.need("target")
	target := node.PowerState(in.text("target"))
	if in.err == nil && (minor(c) < node.PowerMinor(target) || minor(c) < 27 && in.has("timeout")) {
		return 0, nil, tooNew(27)
	}
	timeout, err := powerTimeout(in)
	if err != nil {
		return 0, nil, err
	}
	by := user(c)
	return s.request(c, "", func(n *node.Node, fl *fleet) (*node.Request, error) {
		return s.decidePower(n, fl, target, timeout, by)
	})
}

// powerTimeout reads how long the operating system gets; 0 = the setting.
func powerTimeout(in *object) (time.Duration, error) {
	seconds := in.integer("timeout")
	switch {
	case in.err != nil:
		return 0, in.err
	case seconds == nil:
		return 0, nil
	case *seconds < 1 || *seconds > int64(maxPowerTimeout/time.Second):
		return 0, fault.New(fault.Invalid, "timeout has to be positive integer, at most %d", int64(math.Round(maxPowerTimeout.Seconds())))
	}
	return time.Duration(*seconds) * time.Second, nil
}

// decidePower opens an operation on a free node, and has the open operation of
// a waiting one run the change as a step.
func (s *Server) decidePower(n *node.Node, fl *fleet, target node.PowerState, timeout time.Duration, by string) (*node.Request, error) {
	d, err := admission.Power(n, target, fl.reservation(n))
	if err != nil {
		return nil, err
	}
	if err := fl.covered(n); err != nil {
		return nil, err
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

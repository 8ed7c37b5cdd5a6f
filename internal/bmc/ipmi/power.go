package ipmi

import (
	"context"
	"errors"

	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// Power reads the power state. IPMI has no states in between.
func (s *session) Power(ctx context.Context) (bmc.Power, error) {
	p, err := s.power(ctx)
	return p, s.wrap("read power", err)
}

func (s *session) power(ctx context.Context) (bmc.Power, error) {
	var status chassis.GetChassisStatusResponse
	if err := s.read(ctx, &chassis.GetChassisStatusRequest{}, &status); err != nil {
		return bmc.PowerUnknown, err
	}
	if status.PowerIsOn {
		return bmc.PowerOn, nil
	}
	return bmc.PowerOff, nil
}

// controls has, for each request, the chassis control and the power state in which it is
// fulfilled already.
var controls = map[bmc.PowerRequest]struct {
	control chassis.ChassisControl
	done    bmc.Power
}{
	bmc.RequestOn:       {chassis.ChassisControlPowerUp, bmc.PowerOn},
	bmc.RequestForceOff: {chassis.ChassisControlPowerDown, bmc.PowerOff},
	bmc.RequestSoftOff:  {chassis.ChassisControlSoftShutdown, bmc.PowerOff},
}

// RequestPower sends one Chassis Control. If the BMC refuses it because the server is already in
// the requested state, that is no error.
func (s *session) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	c, ok := controls[r]
	if !ok {
		return s.wrap("request power", fault.New(fault.Invalid, "%.40q is no power request", string(r)))
	}
	err := s.change(bmc.Asking(ctx, r.Name()), &chassis.ChassisControlRequest{ChassisControl: c.control}, false)
	var no *refusal
	if errors.As(err, &no) {
		if p, perr := s.power(ctx); perr == nil && p == c.done {
			return nil
		}
	}
	return s.wrap("request "+string(r), err)
}

// Restart sends one hard reset, or one power cycle if the BMC does not have the former. It reads
// the power first, so that the session is known to work: a BMC does not answer in a session that
// it has forgotten, and the reset can't be sent again.
func (s *session) Restart(ctx context.Context) error {
	if _, err := s.power(ctx); err != nil {
		return s.wrap("send "+bmc.ForceRestart, err)
	}
	ctx = bmc.Asking(ctx, bmc.NameRestart)
	err := s.sendOnce(ctx, &chassis.ChassisControlRequest{ChassisControl: chassis.ChassisControlHardReset})
	var no *refusal
	if errors.As(err, &no) && no.unsupported() {
		err = s.sendOnce(ctx, &chassis.ChassisControlRequest{ChassisControl: chassis.ChassisControlPowerCycle})
	}
	return s.wrap("send "+bmc.ForceRestart, err)
}

// InjectNMI sends one diagnostic interrupt. It reads the power first, as Restart does.
func (s *session) InjectNMI(ctx context.Context) error {
	if _, err := s.power(ctx); err != nil {
		return s.wrap(bmc.NameNMI, err)
	}
	request := &chassis.ChassisControlRequest{ChassisControl: chassis.ChassisControlDiagnosticInterrupt}
	return s.wrap(bmc.NameNMI, s.sendOnce(bmc.Asking(ctx, bmc.NameNMI), request))
}

// sendOnce sends a command at most once. If there is no answer, or the BMC failed while it
// carried it out, the outcome is unknown.
func (s *session) sendOnce(ctx context.Context, request types.Request) error {
	err := s.change(ctx, request, true)
	var (
		gone *noAnswer
		end  *cancelledRequest
		no   *refusal
	)
	if errors.As(err, &gone) && gone.sent || errors.As(err, &end) && end.sent || errors.As(err, &no) && no.failedInside() {
		return fault.New(fault.OutcomeUnknown, "sent, outcome unknown: %w", err)
	}
	return err
}

package redfish

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// Power reads the power state. A state that package bmc does not have (Paused) is unknown.
func (s *session) Power(ctx context.Context) (bmc.Power, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	p, err := s.power(ctx)
	return p, s.wrap("read power", err)
}

func (s *session) power(ctx context.Context) (bmc.Power, error) {
	sys, err := s.readSystem(ctx)
	if err != nil {
		return bmc.PowerUnknown, err
	}
	s.mu.Lock()
	s.booting = printable(string(sys.BootProgress.v.LastState), maxBootProgress)
	s.mu.Unlock()
	if sys.PowerState.bad {
		return bmc.PowerUnknown, malformedAnswer(sys.path, "PowerState is not a string")
	}
	switch p := bmc.Power(sys.PowerState.v); p {
	case bmc.PowerOn, bmc.PowerOff, bmc.PoweringOn, bmc.PoweringOff:
		return p, nil
	}
	return bmc.PowerUnknown, nil
}

// maxBootProgress bounds what is kept of a BootProgress. The longest name of the schema has 40 bytes.
const maxBootProgress = 64

func (s *session) bootProgress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.booting
}

// resets has, for each request, the reset types that fulfil it, best first, and the
// power states in which it is fulfilled already.
var resets = map[bmc.PowerRequest]struct {
	types []schemas.ResetType
	done  []bmc.Power
}{
	bmc.RequestOn:       {[]schemas.ResetType{schemas.OnResetType, schemas.ForceOnResetType}, []bmc.Power{bmc.PowerOn, bmc.PoweringOn}},
	bmc.RequestForceOff: {[]schemas.ResetType{schemas.ForceOffResetType}, []bmc.Power{bmc.PowerOff, bmc.PoweringOff}},
	bmc.RequestSoftOff:  {[]schemas.ResetType{schemas.GracefulShutdownResetType}, []bmc.Power{bmc.PowerOff, bmc.PoweringOff}},
}

// RequestPower sends one Reset. If the BMC refuses it because the server is already in
// the requested state (some answer 4xx, sushy-tools 500), that is no error.
func (s *session) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	ctx = bmc.Asking(ctx, r.Name())
	reset, ok := resets[r]
	if !ok {
		return s.wrap("request power", fault.New(fault.Invalid, "%.40q is no power request", string(r)))
	}
	err := s.reset(ctx, reset.types...)
	var no *refusal
	if errors.As(err, &no) && !fault.Is(err, fault.Denied) {
		if p, perr := s.power(ctx); perr == nil && slices.Contains(reset.done, p) {
			return nil
		}
	}
	return s.wrap("request "+string(r), err)
}

// Restart sends one Reset, at most once.
func (s *session) Restart(ctx context.Context) error {
	return s.wrap("send "+bmc.ForceRestart, s.resetOnce(bmc.Asking(ctx, bmc.NameRestart), schemas.ForceRestartResetType))
}

// InjectNMI sends one Reset, at most once.
func (s *session) InjectNMI(ctx context.Context) error {
	return s.wrap(bmc.NameNMI, s.resetOnce(bmc.Asking(ctx, bmc.NameNMI), schemas.NmiResetType))
}

// resetOnce sends one Reset. If the answer is lost or has a status of 500 or above other
// than 503, the outcome is unknown: the BMC may have done it.
func (s *session) resetOnce(ctx context.Context, t schemas.ResetType) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	err := s.reset(ctx, t)
	var (
		gone *lostAnswer
		end  *cancelledRequest
		no   *refusal
	)
	switch {
	case errors.As(err, &gone) && gone.sent,
		errors.As(err, &end) && end.sent,
		errors.As(err, &no) && no.change && no.status >= 500 && no.status != http.StatusServiceUnavailable:
		err = fault.New(fault.OutcomeUnknown, "sent, outcome unknown: %w", err)
	}
	return err
}

// reset sends the first of the reset types that the system accepts.
func (s *session) reset(ctx context.Context, types ...schemas.ResetType) error {
	sys, err := s.recentSystem(ctx)
	if err != nil {
		return err
	}
	action := sys.Actions.v.Reset
	if action.Target == "" {
		return fault.New(fault.Refused, "%s: the system has no Reset action", sys.path)
	}
	chosen := types[0]
	if allowed := s.allowedResets(ctx, action); len(allowed) > 0 {
		i := slices.IndexFunc(types, func(t schemas.ResetType) bool { return slices.Contains(allowed, t) })
		if i < 0 {
			return fault.New(fault.Refused, "%s: the system can't do %s, only %s", sys.path, types[0], joinWords(allowed))
		}
		chosen = types[i]
	}
	return s.change(ctx, http.MethodPost, action.Target, "", map[string]schemas.ResetType{"ResetType": chosen})
}

// allowedResets returns the reset types that the system accepts, from the action or its
// ActionInfo. It returns none if the system does not say.
func (s *session) allowedResets(ctx context.Context, action resetAction) []schemas.ResetType {
	if len(action.Allowed) > 0 || action.ActionInfoTarget == "" {
		return action.Allowed
	}
	var about actionInfo
	if _, err := s.read(ctx, action.ActionInfoTarget, &about); err != nil {
		return nil // the BMC will refuse what it does not accept
	}
	for _, p := range about.Parameters {
		if p.Name == "ResetType" {
			return p.Allowed
		}
	}
	return nil
}

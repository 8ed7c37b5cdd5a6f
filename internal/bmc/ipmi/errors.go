package ipmi

import (
	"context"
	"errors"
	"fmt"

	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// noAnswer is the error of a command that got no answer.
type noAnswer struct {
	text string
	sent bool // it was sent at least once
}

func (n *noAnswer) Error() string { return n.text }

// and returns the error of a command that got no answer, and then could not be sent again because
// of err. If it changes something, it may still take effect, whatever err is.
func (n *noAnswer) and(ctx context.Context, c call, err error) error {
	if n == nil || !n.sent || c.guard == nil {
		return err
	}
	if stop := cancelled(ctx, true); stop != nil {
		return stop
	}
	return fault.New(fault.Unreachable, "%w", &noAnswer{text: n.text + "; then " + err.Error(), sent: true})
}

// guardError carries the guard's error to session.wrap, which returns it unchanged.
type guardError struct{ err error }

func (g *guardError) Error() string { return g.err.Error() }

// cancelledRequest is the error of a command whose context the caller cancelled.
type cancelledRequest struct {
	cause error
	sent  bool
}

func (e *cancelledRequest) Error() string { return e.cause.Error() }

// cancelled returns a *cancelledRequest if ctx was cancelled, nil if it goes on or its deadline
// has passed.
func cancelled(ctx context.Context, sent bool) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &cancelledRequest{cause: context.Cause(ctx), sent: sent}
	}
	return nil
}

// refusal is an answer with a completion code that is not 0.
type refusal struct {
	command types.Command
	code    types.CompletionCode
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the BMC answers to %s with %#02x (%s)", r.command.Name, uint8(r.code), types.StrCC(r.command, uint8(r.code)))
}

// refusalOf returns the error of an answer to a command that has a completion code, or to the
// Send Message that should have brought it to the controller behind a bridge.
func refusalOf(c call, m message) error {
	if m.answers(c.request.Command()) {
		return (&refusal{command: c.request.Command(), code: m.code}).fault()
	}
	r := &refusal{command: types.CommandSendMessage, code: m.code}
	switch m.code {
	case types.CodeSendMessageLostArbitration, types.CodeSendMessageBusError, types.CodeSendMessageNAKOnWrite, types.CodeDestinationUnavailable:
		return fault.New(fault.Unreachable, "%w; the controller behind the BMC does not answer (%s)", r, propBridging)
	}
	return r.fault()
}

// failedInside reports whether the command may have had an effect although it was not completed.
func (r *refusal) failedInside() bool {
	return r.code == types.CodeProcessTimeout || r.code == types.CodeUnspecifiedError
}

// unsupported reports whether the BMC does not have the command, or not with this parameter.
func (r *refusal) unsupported() bool {
	switch r.code {
	case types.CodeInvalidCommand, types.CodeInvalidCommandForLUN, types.CodeRequestDataFieldInvalid, types.CodeParameterOutOfRange, types.CodeSubFnDisabled:
		return true
	}
	return false
}

// fault returns the error of the refusal by the completion code (IPMI 2.0, table 5-2).
func (r *refusal) fault() error {
	switch r.code {
	case types.CodeNodeBusy, types.CodeCannotProvideResponse, types.CodeCannotExecuteDuplicatedRequest,
		types.CodeCannotProvideResponseSDRRInUpdate, types.CodeCannotProvideResponseFirmwareUpdate, types.CodeCannotProvideResponseBMCInitialize:
		return bmc.Busy(0, "%w", r)
	case types.CodeProcessTimeout, types.CodeUnspecifiedError:
		return fault.New(fault.Unreachable, "%w", r)
	case types.CodeInsufficientPrivilege:
		return fault.New(fault.Refused, "%w; the account needs a higher privilege level, and %s must allow it", r, propPrivLevel)
	}
	return fault.New(fault.Refused, "%w", r)
}

// malformed is the error for an answer that is not what the specification says.
func malformed(c types.Command, err error) error {
	return fault.New(fault.Refused, "the BMC's answer to %s is malformed: %w", c.Name, err)
}

// wrap adds to an error what the session was doing, and at which BMC.
func (s *session) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	var stopped *guardError
	if errors.As(err, &stopped) {
		return stopped.err
	}
	doing += " at " + s.endpoint.info.address()
	kind := fault.KindOf(err)
	var end *cancelledRequest
	if errors.As(err, &end) && kind != fault.OutcomeUnknown {
		return fault.New(fault.KindOf(end.cause), "%w; %s", end.cause, doing)
	}
	if kind == fault.Busy {
		return bmc.Busy(bmc.RetryAfter(err), "%s; %s", err.Error(), doing)
	}
	var silent *noAnswer
	if errors.As(err, &silent) {
		lost := error(fault.NoAnswerError(err.Error()))
		if !silent.sent {
			lost = bmc.NotSent(lost)
		}
		return fault.CodedAs(kind, bmc.CauseOf(err), "%w; %s", lost, doing)
	}
	return fault.CodedAs(kind, bmc.CauseOf(err), "%s; %s", err.Error(), doing)
}

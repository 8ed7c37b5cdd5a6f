package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// The effect of a restart, of an NMI and of a raw command can't be read back, and a repeated request would restart or interrupt the
// server once more. Such a request is recorded on the step before it is sent (sendOnce). An attempt that finds the record does not send it
// again (sentBefore).

// sentBefore returns fault.OutcomeUnknown if an earlier attempt has sent the request, or was about to. what names the request in
// the error.
func sentBefore(step *node.Step, command, what string) error {
	if step.Issued == nil || step.Issued.Command != command {
		return nil
	}
	return fault.New(fault.OutcomeUnknown, "%s was sent at %s, and its outcome is unknown", what, text.Moment(step.Issued.At))
}

// sendOnce waits until no other request may still take effect, records the request and sends it. It waits first, because a conductor
// that dies while it waits has sent nothing. If the BMC has certainly not carried the request out, the record is removed.
func (t *task) sendOnce(ctx context.Context, step *node.Step, request node.Issued, send func(context.Context) error) error {
	if _, err := t.awaitOthers(ctx, request.Command); err != nil {
		return err
	}
	request.At = time.Now().UTC()
	step.Issued = &request
	if err := t.save(ctx); err != nil {
		return err
	}
	err := send(ctx)
	if fault.Is(err, fault.Busy) || fault.Is(err, fault.Refused) || fault.Is(err, fault.Denied) || bmc.IsNotSent(err) {
		step.Issued = nil
	}
	return err
}

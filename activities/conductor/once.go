package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The effect of some requests can't be read back, and each one that takes effect does it once more: a restart, an NMI. Such a
// request is recorded on the step before it is sent (sendOnce). An attempt that finds the record does not send it again
// (sentBefore).

// sentBefore returns fault.OutcomeUnknown if an attempt before has sent the request, or was about to. what names it in a sentence.
func sentBefore(step *node.Step, command, what string) error {
	if step.Issued == nil || step.Issued.Command != command {
		return nil
	}
	return fault.New(fault.OutcomeUnknown, "%s was sent at %s, its outcome is unknown", what, step.Issued.At.Format(time.RFC3339))
}

// sendOnce records the request and sends it. If the BMC has certainly not done it, the record goes. What may still take effect of
// other requests is waited for before that: who is interrupted meanwhile has sent nothing.
func (t *task) sendOnce(ctx context.Context, step *node.Step, command string, send func(context.Context) error) error {
	if _, err := t.awaitOthers(ctx, command); err != nil {
		return err
	}
	step.Issued = &node.Issued{At: time.Now().UTC(), Command: command}
	if err := t.save(ctx); err != nil {
		return err
	}
	err := send(ctx)
	if fault.Is(err, fault.Busy) || fault.Is(err, fault.Refused) || fault.Is(err, fault.Denied) || bmc.IsNotSent(err) {
		step.Issued = nil
	}
	return err
}

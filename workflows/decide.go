package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// DecideUpdate is the update by which a person decides what becomes of a failed step; its
// argument is a Decision. It is refused if the operation waits for none. It is answered when
// the decision is in the row.
const DecideUpdate = "decide"

// decisionPrefix begins the ids of the updates that the API sends. Temporal's UI makes up ids of another form.
const decisionPrefix = "decision-"

// DecisionID is the id of the update with which the API sends the decision with that number: sent again, it is the same update.
func DecisionID(number int, action node.Action) string {
	return fmt.Sprintf("%s%d-%s", decisionPrefix, number, action)
}

// Decision is what somebody decides about the step at which an operation holds.
type Decision struct {
	Action node.Action `json:"action"` // retry, skip or abort
	By     string      `json:"by,omitempty"`
	Reason string      `json:"reason,omitempty"`
}

// byTemporal is named as who decided if the update, sent by Temporal's UI, has no name.
const byTemporal = "somebody in Temporal"

// The bounds of the texts of a decision, in bytes.
const (
	maxBy     = 255
	maxReason = 4 << 10
)

// decideHelp is what Temporal's UI says of the update.
const decideHelp = `Decides about the step at which the operation holds. Input: {"action": "retry", "by": "YOUR NAME", "reason": "WHY"}. ` +
	`retry runs the step again, skip leaves it out where that is possible, abort undoes what is half done and ends the operation. ` +
	`A step named hold waits for no decision: the current details have the command that lets it go on. Request Cancellation ends the operation whatever it does.`

// hold is a step that waits for a decision.
type hold struct {
	orchestrator.Held
	taken    bool          // there is a decision; another one is refused
	decision *Decision     // as the row has it
	stopped  bool          // the time for a decision is stopped
	left     time.Duration // the rest of that time while it is stopped
}

// registerDecide registers the handler of DecideUpdate.
func (o *operation) registerDecide(ctx workflow.Context) error {
	o.decided = workflow.NewBufferedChannel(ctx, 1)
	return workflow.SetUpdateHandlerWithOptions(ctx, DecideUpdate, o.takeUpdate, workflow.UpdateHandlerOptions{
		Validator:   o.checkDecision,
		Description: decideHelp,
	})
}

// checkDecision refuses a decision that is not valid, that the operation does not wait for, or
// that comes after another one.
func (o *operation) checkDecision(d Decision) error {
	switch {
	case !slices.Contains(node.Actions, d.Action):
		return nonRetryable(fault.New(fault.Invalid, "Action %q is not valid, it is one of %v.", text.Cut(string(d.Action)), node.Actions))
	case len(d.By) > maxBy || len(d.Reason) > maxReason:
		return nonRetryable(fault.New(fault.Invalid, "A decision has at most %d bytes in \"by\" and %d in \"reason\".", maxBy, maxReason))
	case o.held == nil || o.held.taken:
		return nonRetryable(node.NoDecision(o.in.Operation))
	case d.Action == node.ActionSkip && o.held.NoSkip != "":
		return nonRetryable(node.CannotSkip(o.held.Step, o.held.NoSkip))
	}
	return nil
}

func nonRetryable(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), fault.KindOf(err).String(), nil)
}

// takeUpdate takes the decision of an update, of the API or of a person in Temporal.
func (o *operation) takeUpdate(ctx workflow.Context, d Decision) error {
	return o.takeDecision(ctx, d, !strings.HasPrefix(workflow.GetCurrentUpdateInfo(ctx).ID, decisionPrefix))
}

// takeDecision writes a decision into the row, even if the operation is being cancelled
// meanwhile, because the decision was accepted. The update is answered after that.
func (o *operation) takeDecision(ctx workflow.Context, d Decision, inTemporal bool) error {
	held := o.held
	if err := o.checkDecision(d); err != nil { // two decisions arrived at the same time
		return err
	}
	held.taken = true
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	o.seq++
	err := workflow.ExecuteLocalActivity(localOptions(ctx, string(d.Action)), operations.Decide, orchestrator.DecideInput{
		Operation: o.in.Operation, Seq: o.seq, Action: d.Action, By: cmp.Or(d.By, byTemporal), Reason: d.Reason,
		InTemporal: inTemporal,
	}).Get(ctx, nil)
	if held.taken = err == nil; held.taken {
		held.decision = &d
	}
	o.decided.SendAsync(true)
	return err
}

// decide decides how the operation continues after a failure. If it is to hold on failure, or
// must (because conductors died of the step), it waits until a person decides, somebody
// requests its end, or the time is over. again means that the steps continue.
func (o *operation) decide(ctx workflow.Context, cause error, must, restart bool) (again bool, out node.Outcome, err error) {
	if !o.settings.Hold && !must || !decidable(cause) {
		return false, outcomeOf(cause), cause
	}
	o.seq++
	h := &hold{}
	why := failureOf(cause)
	err = workflow.ExecuteLocalActivity(localOptions(ctx, "hold"), operations.Hold, orchestrator.HoldInput{
		Operation: o.in.Operation, Seq: o.seq, Error: why.Error, Cause: why.Cause, Wait: o.settings.DecisionWait, Restart: restart,
	}).Get(ctx, &h.Held)
	if err != nil {
		return false, outcomeOf(err), err
	}
	if h.EndAsked {
		return false, node.Cancelled, nil
	}
	o.held, o.failure = h, why.Complete()
	o.progress.Steps, o.progress.Until = h.Steps, &h.Until
	again, out, err = o.awaitDecision(ctx, h, cause)
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	if settled := workflow.Await(quiet, func() bool { return !h.taken || h.decision != nil }); settled != nil {
		err = settled
	}
	o.held, o.progress.Until, o.progress.WaitingFor = nil, nil, ""
	if again {
		o.failure = node.Failure{}
		o.upsertUnlessWell(ctx, "")
	}
	return again, out, err
}

// decidable reports whether retrying or skipping the step could help against the failure.
func decidable(cause error) bool {
	var app *temporal.ApplicationError
	return errors.As(cause, &app) && fault.ClassOfKind(fault.ParseKind(app.Type())) != fault.Never
}

func (o *operation) awaitDecision(ctx workflow.Context, h *hold, cause error) (again bool, out node.Outcome, err error) {
	for {
		var seen orchestrator.HoldState
		err := workflow.ExecuteLocalActivity(localOptions(ctx, "look"), operations.LookHeld, o.in.Operation).Get(ctx, &seen)
		if seen.Until != nil && !h.stopped { // the deadline moved, because the workflow was paused in Temporal
			h.Until = *seen.Until
			o.progress.Until = &h.Until
		}
		if err == nil && seen.Paused != h.stopped && !seen.EndAsked {
			err = o.stopClock(ctx, h, seen.Paused)
		}
		left := readEvery
		if !h.stopped {
			left = h.Until.Sub(workflow.Now(ctx))
		}
		switch {
		case err != nil:
			return false, outcomeOf(err), err
		case h.decision != nil:
			if h.decision.Action == node.ActionAbort {
				return false, node.Cancelled, nil
			}
			return true, "", nil
		case seen.EndAsked:
			return false, node.Cancelled, nil
		case h.taken: // the decision is being written
			left = readEvery
		case seen.Unhold:
			if err := o.takeDecision(ctx, Decision{Action: node.ActionRetry, By: seen.By, Reason: "unhold"}, false); err != nil {
				return false, outcomeOf(err), err
			}
			continue
		case seen.Power:
			return true, "", nil // the steps of the power request run, then the operation holds again
		case left <= 0:
			return false, node.Failed, undecidedError(cause, o)
		}
		if err := o.sleepUntilNews(ctx, min(left, readEvery), h.WaitingFor); err != nil {
			return false, outcomeOf(err), err
		}
	}
}

// stopClock stops the time for a decision while the node is in maintenance, and
// lets it run again.
func (o *operation) stopClock(ctx workflow.Context, h *hold, still bool) error {
	if now := workflow.Now(ctx); still {
		h.left = max(h.Until.Sub(now), 0)
		o.progress.Until = nil
	} else {
		h.Until = now.Add(h.left).UTC()
		o.progress.Until = &h.Until
	}
	h.stopped = still
	return workflow.ExecuteLocalActivity(localOptions(ctx, "stand still"), operations.StandStill,
		orchestrator.StillInput{Operation: o.in.Operation, Until: o.progress.Until}).Get(ctx, &h.WaitingFor)
}

func undecidedError(cause error, o *operation) error {
	kind, why := fault.Internal, failureOf(cause)
	var app *temporal.ApplicationError
	if errors.As(cause, &app) {
		kind = fault.ParseKind(app.Type())
	}
	why.Error = fmt.Sprintf("%s; nobody decided within %s", why.Error, text.Duration(o.settings.DecisionWait))
	return failed(kind, why)
}

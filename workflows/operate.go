package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// operation is one run of an operation's workflow.
type operation struct {
	in         Input
	settings   orchestrator.WorkflowSettings
	seq        int64
	progress   Progress
	rowChanged workflow.ReceiveChannel // of LookSignal
	shown      map[string]any          // search attributes as they were sent
	failure    node.Failure            // why it holds, undoes or has ended; zero = it goes on. Without Error, somebody asked for the end
	undoing    bool                    // no step begins any more
	atHold     bool                    // it waits at a step named hold
	dispatched int64                   // the claim of the activity that runs steps now; 0 = none does
	blocked    node.BlockReason        // why it can't go on while it waits
	// untouched: the node is in maintenance, so the hardware stays as it is, and the undo is
	// owed.
	untouched bool
	held      *hold            // the step that waits for a decision; nil = none
	decided   workflow.Channel // receives when a decision was made
}

// Operate is the workflow of every operation, registered under the type of each kind
// (node.KindSpec.Workflow).
func Operate(ctx workflow.Context, in Input) error { return operate(ctx, in) }

// operate runs an operation: it begins, runs steps and waits in turn, undoes what is half done if
// it does not succeed, and closes the operation. If the row belongs to another run, this run
// ends, unless it replaces that one (hasPredecessor).
func operate(ctx workflow.Context, in Input) error {
	o, err := setup(ctx, in)
	if err != nil {
		return err
	}
	if err = o.begin(ctx); err == nil {
		err = o.runToEnd(ctx)
	}
	if !claimLost(err) || !hasPredecessor(ctx) {
		return err
	}
	took, err := o.adopt(ctx)
	if err != nil || !took {
		return err
	}
	return o.runToEnd(ctx)
}

// runToEnd runs an operation that has begun: steps, undo, close.
func (o *operation) runToEnd(ctx workflow.Context) error {
	in := o.in
	outcome, runErr := o.run(ctx)
	if claimLost(runErr) {
		// The operation was closed by somebody else, or belongs to another run. This run
		// must not write or undo anything.
		return runErr
	}
	if workflow.IsContinueAsNewError(runErr) {
		return runErr // the next run continues
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	o.failure = failureOf(runErr)
	end := orchestrator.EndInput{Operation: in.Operation, Outcome: outcome, Error: o.failure.Error, Cause: o.failure.Cause}
	if outcome != node.Succeeded {
		failure, err := o.undo(ctx, outcome)
		if claimLost(err) {
			return err
		}
		why := failure.Error
		if why != "" && (why == end.Error || fault.SameReach(failure.Cause, end.Cause)) {
			why = node.SameReason
		}
		if why != "" {
			end.Error = cmp.Or(end.Error, byRequest) + node.UndoLeft + why
		}
	}
	return o.close(ctx, end, runErr)
}

// byRequest begins the last error of an operation that somebody has ended, if its undo is owed.
const byRequest = "By request, the operation was aborted"

// rowChangedChannel returns the channel of LookSignal.
func rowChangedChannel(ctx workflow.Context) workflow.ReceiveChannel {
	return workflow.GetSignalChannelWithOptions(ctx, LookSignal, workflow.SignalChannelOptions{
		Description: "Makes the operation read its row in the database now, instead of within minutes. It has no input, and is safe to send.",
	})
}

func setup(ctx workflow.Context, in Input) (*operation, error) {
	o := &operation{in: in, rowChanged: rowChangedChannel(ctx), shown: startedWith(ctx)}
	o.progress = Progress{Kind: in.Kind, Node: in.Node}
	err := workflow.SetQueryHandlerWithOptions(ctx, ProgressQuery,
		func() (Progress, error) { return o.progress, nil },
		workflow.QueryHandlerOptions{Description: "How far the operation is: its steps, who works on it, what it waits for and until when."})
	if err == nil {
		err = o.registerDecide(ctx)
	}
	o.receiveSteps(ctx)
	return o, err
}

// begin records that the operation belongs to this run, before any hardware is touched. It does
// so even if the workflow was cancelled already: only a run that has begun can close the
// operation, and no workflow is started twice.
func (o *operation) begin(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err := workflow.ExecuteLocalActivity(localOptions(ctx, "begin"), operations.Begin, o.in.Operation).Get(ctx, &o.settings)
	if err == nil {
		o.progress.Steps = o.settings.Steps
		o.show(ctx)
	}
	return err
}

// run runs steps and waits until the operation is over.
func (o *operation) run(ctx workflow.Context) (node.Outcome, error) {
	for {
		res, err := o.runSteps(ctx)
		if err == nil && res.Next == conductor.NextFailed {
			err = failed(fault.Refused, node.Failure{Error: res.Error, Cause: res.Cause})
		}
		if stoppedByCancel(ctx, err) {
			return node.Cancelled, nil
		}
		if err != nil {
			again, outcome, err := o.decide(ctx, err, res.Hold, false)
			if again {
				continue
			}
			return outcome, err
		}
		switch res.Next {
		case conductor.NextClose:
			return node.Succeeded, nil
		case conductor.NextAsked:
			return node.Cancelled, nil
		case conductor.NextAgent, conductor.NextHold:
			o.atHold = res.Next == conductor.NextHold
			asked, _, err := o.await(ctx, o.waitForAgent(res))
			o.atHold = false
			if err != nil {
				again, outcome, err := o.decide(ctx, err, false, true)
				if again {
					continue
				}
				return outcome, err
			}
			if asked {
				return node.Cancelled, nil
			}
		case conductor.NextOrphaned:
			return node.Failed, o.orphanedError()
		default:
			return node.Failed, fmt.Errorf("unknown next %q", res.Next)
		}
	}
}

// stoppedByCancel reports whether steps ended with err only because the workflow was cancelled.
// Temporal retries no activity that is to be cancelled: it ends with what its last attempt ended
// with, for example the timeout of a conductor that died, or the error by which a conductor that
// is stopping hands a step over. That is the end that was asked for, not a failure.
func stoppedByCancel(ctx workflow.Context, err error) bool {
	if ctx.Err() == nil || err == nil {
		return false
	}
	var app *temporal.ApplicationError
	return timedOut(err) != enums.TIMEOUT_TYPE_UNSPECIFIED || errors.As(err, &app) && !app.NonRetryable()
}

func outcomeOf(err error) node.Outcome {
	if temporal.IsCanceledError(err) {
		return node.Cancelled
	}
	return node.Failed
}

// inMaintenance is why an undo leaves the hardware as it is.
const inMaintenance = "the node is in maintenance"

// undo has a conductor undo what is half done. It returns why something remains, which is then
// owed. An error means that the operation was closed or belongs to another run.
func (o *operation) undo(ctx workflow.Context, outcome node.Outcome) (node.Failure, error) {
	var plan orchestrator.UndoPlan
	err := workflow.ExecuteLocalActivity(localOptions(ctx, "plan undo"), operations.PlanUndo, o.in.Operation, outcome, o.failure).Get(ctx, &plan)
	o.settings.Group, o.settings.Driver = cmp.Or(plan.Group, o.settings.Group), cmp.Or(plan.Driver, o.settings.Driver)
	o.failure.Cause = cmp.Or(plan.Cause, o.failure.Cause)
	if len(plan.Steps) > 0 {
		o.progress.Steps = plan.Steps
	}
	switch {
	case claimLost(err):
		return node.Failure{}, err
	case err != nil || !plan.Needed:
		return node.Failure{}, nil
	case o.untouched, plan.Paused:
		return node.Failure{Error: inMaintenance}, nil
	case !plan.Covered:
		return node.Failure{Error: fmt.Sprintf("no conductor with driver %s in %s is alive", o.settings.Driver, node.GroupWords(o.settings.Group))}, nil
	}
	o.undoing = true
	o.progress.WaitingFor, o.progress.Until, o.progress.StepWait = "", nil, nil // of the steps
	o.show(ctx)
	o.upsertUnlessWell(ctx, outcome)
	paused, err := o.undoInTime(ctx)
	if paused {
		return node.Failure{Error: inMaintenance}, nil
	}
	if err != nil {
		workflow.GetLogger(ctx).Warn("the undo failed and is owed", "operation", o.in.Operation, "node", o.in.Node, "error", err)
	}
	return failureOf(err), nil
}

// undoInTime has conductors undo what is half done, within undoTimeout. Time in which the
// workflow is paused in Temporal does not count: if the workflow runs only long after the
// timeout, it was paused, and the undo begins again. paused reports that the node is in
// maintenance, so that the hardware stays as it is.
func (o *operation) undoInTime(ctx workflow.Context) (paused bool, err error) {
	for {
		var late bool
		paused, late, err = o.undoUntil(ctx, workflow.Now(ctx).Add(undoTimeout))
		if !late || !outOfTime(err) || workflow.GetVersion(ctx, "undo again after a standstill", workflow.DefaultVersion, 1) != 1 {
			return paused, err
		}
	}
}

// undoUntil is one try of undoInTime. late reports that the workflow continued long after it
// should have.
func (o *operation) undoUntil(ctx workflow.Context, until time.Time) (paused, late bool, err error) {
	due := until
	check := func() { late = late || workflow.Now(ctx).Sub(due) > undoLate }
	err = o.tryConductors(ctx, func(at node.Host, tried []string) (string, error) {
		left := until.Sub(workflow.Now(ctx))
		if left <= 0 {
			return "", errUndoTime
		}
		o.seq++
		var res conductor.UndoResult
		err := workflow.ExecuteActivity(onHost(o.undoOptions(ctx, left), at), steps.Undo,
			conductor.UndoInput{Operation: o.in.Operation, Node: o.in.Node, Seq: o.seq, Tried: tried}).Get(ctx, &res)
		check()
		if paused = res.Paused; err == nil && res.Elsewhere {
			return res.Conductor, nil
		}
		if next := workflow.Now(ctx).Add(retryDelay(err)); mayTryAnother(err) && next.After(due) {
			due = next // tryConductors waits until then
		}
		return "", err
	})
	check()
	return paused, late, err
}

// errUndoTime means that the time for the undo was over before another conductor could try.
var errUndoTime = temporal.NewNonRetryableApplicationError("no conductor got an answer within "+text.Duration(undoTimeout), fault.Unreachable.String(), nil)

// outOfTime reports whether an undo failed with err only because its time was over.
func outOfTime(err error) bool {
	return errors.Is(err, errUndoTime) || timedOut(err) != enums.TIMEOUT_TYPE_UNSPECIFIED
}

// close ends the operation, moves the node to its end state, and starts the operation that
// follows, if there is one.
func (o *operation) close(ctx workflow.Context, end orchestrator.EndInput, cause error) error {
	var closed orchestrator.Closed
	err := workflow.ExecuteLocalActivity(localOptions(ctx, "close"), operations.Close, end).Get(ctx, &closed)
	if err != nil {
		return err
	}
	if closed.FollowUp != 0 {
		if err := workflow.ExecuteLocalActivity(localOptions(ctx, "start what follows"), operations.StartOperation, closed.FollowUp).Get(ctx, nil); err != nil {
			return err
		}
	}
	o.progress.WaitingFor, o.progress.Until = "", nil
	o.showEnd(ctx, end)
	o.upsertUnlessWell(ctx, end.Outcome)
	if cause != nil {
		return cause
	}
	if end.Outcome == node.Cancelled {
		return temporal.NewCanceledError()
	}
	return nil
}

// errorMessage returns an error's text without what the SDK puts around it.
func errorMessage(err error) string {
	if err == nil {
		return ""
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	if temporal.IsCanceledError(err) {
		return ""
	}
	switch timedOut(err) { // Temporal's own words are about its events
	case enums.TIMEOUT_TYPE_UNSPECIFIED:
		return err.Error()
	case enums.TIMEOUT_TYPE_HEARTBEAT:
		return "the conductor gave no sign of this step any more"
	case enums.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return "no conductor took the step up in time"
	}
	return "no conductor got an answer in time"
}

// failureOf returns why an operation ended with err; zero if somebody asked for the end.
func failureOf(err error) node.Failure {
	text := errorMessage(err)
	if text == "" {
		return node.Failure{}
	}
	return node.Failure{Error: text, Cause: activities.CauseOf(err)}
}

// failed returns why as an error of this kind.
func failed(k fault.Kind, why node.Failure) error {
	return temporal.NewNonRetryableApplicationError(why.Error, k.String(), nil, activities.Details{Cause: why.Cause})
}

func claimLost(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == fault.Lost.String()
}

package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// lookEvery is how often the row is read while nothing is signalled, so that a
// lost signal costs minutes and not the operation.
const lookEvery = 10 * time.Minute

// operation is one run of an operation's workflow.
type operation struct {
	in       Input
	brief    activities.Brief
	seq      int64
	progress Progress
	look     workflow.ReceiveChannel
}

// operate is the course of every operation: begin, run steps and wait in turn,
// undo what is half done if it does not succeed, close.
func operate(ctx workflow.Context, in Input) error {
	o, err := setup(ctx, in)
	if err != nil {
		return err
	}
	if err := o.begin(ctx); err != nil {
		return err
	}
	outcome, runErr := o.run(ctx)
	if lost(runErr) {
		// The row is somebody else's: closed from outside, or begun by another
		// run. Nothing may be written or undone here.
		return runErr
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	end := activities.EndInput{Operation: in.Operation, Outcome: outcome, Error: words(runErr)}
	if outcome != node.Succeeded {
		if why := o.undo(ctx, outcome); why != "" {
			end.Error = cmp.Or(end.Error, byRequest) + "; what it left is still to be undone: " + why
		}
	}
	return o.close(ctx, end, runErr)
}

// byRequest begins the last error of an operation that somebody ended, where
// there is more to say than that.
const byRequest = "By request, the operation was aborted"

func setup(ctx workflow.Context, in Input) (*operation, error) {
	o := &operation{in: in, look: workflow.GetSignalChannel(ctx, LookSignal)}
	o.progress = Progress{Kind: in.Kind, Node: in.Node}
	err := workflow.SetQueryHandlerWithOptions(ctx, ProgressQuery,
		func() (Progress, error) { return o.progress, nil },
		workflow.QueryHandlerOptions{Description: "How far the operation is: its steps, who works on it, what it waits for and until when."})
	return o, err
}

// begin records that this run is the operation's, before any hardware is touched.
// A cancel that is there already does not prevent it: only a run that has begun
// can close the operation, and none is started a second time.
func (o *operation) begin(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return workflow.ExecuteLocalActivity(local(ctx, "begin"), records.Begin, o.in.Operation).Get(ctx, &o.brief)
}

// run runs steps and waits until the operation is over.
func (o *operation) run(ctx workflow.Context) (node.Outcome, error) {
	for {
		res, err := o.runSteps(ctx)
		if err != nil {
			return outcomeOf(err), err
		}
		switch res.Next {
		case activities.NextClose:
			return node.Succeeded, nil
		case activities.NextAsked:
			return node.Cancelled, nil
		case activities.NextAgent, activities.NextHold:
			asked, err := o.await(ctx, res)
			if err != nil {
				return outcomeOf(err), err
			}
			if asked {
				return node.Cancelled, nil
			}
		default:
			return node.Failed, fmt.Errorf("unknown next %q", res.Next)
		}
	}
}

func outcomeOf(err error) node.Outcome {
	if temporal.IsCanceledError(err) {
		return node.Cancelled
	}
	return node.Failed
}

// runSteps has a conductor of the node's queue run steps from where they are.
func (o *operation) runSteps(ctx workflow.Context) (activities.StepsResult, error) {
	var res activities.StepsResult
	shared := o.onConductor(ctx, o.brief.WaitForConductor, "steps of "+string(o.in.Kind))
	err := o.inTurn(ctx, func(at node.Host, tried []string) (string, error) {
		o.seq++
		res = activities.StepsResult{}
		err := workflow.ExecuteActivity(on(shared, at), steps.RunSteps,
			activities.StepsInput{Operation: o.in.Operation, Node: o.in.Node, Seq: o.seq, Tried: tried}).Get(ctx, &res)
		if err != nil {
			return "", err
		}
		o.progress.Steps, o.progress.Conductor, o.progress.Until = res.Steps, res.Conductor, res.Until
		o.show(ctx)
		if res.Next == activities.NextElsewhere {
			return res.Conductor, nil
		}
		return "", nil
	})
	if err != nil {
		return res, o.explain(err)
	}
	return res, nil
}

// explain gives the error of an activity in words for people.
func (o *operation) explain(err error) error {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) && timeout.TimeoutType() == scheduleToStart {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
			"no conductor with driver %s in conductor group %q took the operation within %s", o.brief.Driver, o.brief.Group, o.brief.WaitForConductor),
			fault.NoValidHost.String(), nil)
	}
	return err
}

// await waits until the agent has called or the hold is lifted. True: somebody
// asked for an end. The row is read before and after each wait.
func (o *operation) await(ctx workflow.Context, res activities.StepsResult) (bool, error) {
	for {
		var seen activities.Sight
		err := workflow.ExecuteLocalActivity(local(ctx, "look"), records.Look, o.in.Operation).Get(ctx, &seen)
		if err != nil {
			return false, err
		}
		switch {
		case seen.EndAsked:
			return true, nil
		case seen.GoOn:
			return false, nil
		}
		left := lookEvery
		if res.Until != nil {
			left = min(left, res.Until.Sub(workflow.Now(ctx)))
		}
		if left <= 0 {
			return false, temporal.NewNonRetryableApplicationError(o.timeoutWords(res), fault.Unreachable.String(), nil)
		}
		if err := o.nap(ctx, left, seen.WaitingFor); err != nil {
			return false, err
		}
	}
}

func (o *operation) timeoutWords(res activities.StepsResult) string {
	if res.Next == activities.NextHold {
		return fmt.Sprintf("Nobody decided in time how node %s is to go on.", o.in.Node)
	}
	return fmt.Sprintf("Timeout reached while waiting for callback for node %s", o.in.Node)
}

// nap waits for news, for at most d.
func (o *operation) nap(ctx workflow.Context, d time.Duration, waitingFor string) error {
	o.progress.WaitingFor = waitingFor
	o.show(ctx)
	o.publish(ctx)
	timerCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	timer := workflow.NewTimerWithOptions(timerCtx, d, workflow.TimerOptions{Summary: "waiting for " + waitingFor})
	workflow.NewSelector(ctx).
		AddReceive(o.look, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
		AddFuture(timer, func(workflow.Future) {}).
		AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {}).
		Select(ctx)
	o.progress.WaitingFor = ""
	return ctx.Err()
}

// undo puts right what is half done, as far as a conductor can be had; the rest
// stays in the row and is owed, for the reason that it returns.
func (o *operation) undo(ctx workflow.Context, outcome node.Outcome) string {
	var plan activities.UndoPlan
	err := workflow.ExecuteLocalActivity(local(ctx, "plan undo"), records.PlanUndo, o.in.Operation, outcome).Get(ctx, &plan)
	switch {
	case err != nil || !plan.Needed:
		return ""
	case !plan.Covered:
		return fmt.Sprintf("no conductor with driver %s in conductor group %q is alive", o.brief.Driver, o.brief.Group)
	}
	until := workflow.Now(ctx).Add(undoPatience)
	err = o.inTurn(ctx, func(at node.Host, tried []string) (string, error) {
		left := until.Sub(workflow.Now(ctx))
		if left <= 0 {
			return "", temporal.NewNonRetryableApplicationError("no conductor got an answer within "+undoPatience.String(), fault.Unreachable.String(), nil)
		}
		o.seq++
		var res activities.UndoResult
		err := workflow.ExecuteActivity(on(o.toUndo(ctx, left), at), steps.Undo,
			activities.UndoInput{Operation: o.in.Operation, Node: o.in.Node, Seq: o.seq, Tried: tried}).Get(ctx, &res)
		if err == nil && res.Elsewhere {
			return res.Conductor, nil
		}
		return "", err
	})
	if err != nil {
		workflow.GetLogger(ctx).Warn("undo is owed", "operation", o.in.Operation, "node", o.in.Node, "error", err)
	}
	return words(err)
}

// close ends the operation and moves the node to its end state; what was asked
// to follow is started.
func (o *operation) close(ctx workflow.Context, end activities.EndInput, cause error) error {
	var closed activities.Closed
	err := workflow.ExecuteLocalActivity(local(ctx, "close"), records.Close, end).Get(ctx, &closed)
	if err != nil {
		return err
	}
	if closed.FollowUp != 0 {
		if err := workflow.ExecuteLocalActivity(local(ctx, "start what follows"), records.StartOperation, closed.FollowUp).Get(ctx, nil); err != nil {
			return err
		}
	}
	o.progress.WaitingFor = ""
	if cause != nil {
		return cause
	}
	if end.Outcome == node.Cancelled {
		return temporal.NewCanceledError()
	}
	return nil
}

// words are an error's own, without Temporal's wrapping.
func words(err error) string {
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
	return err.Error()
}

func lost(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == fault.Lost.String()
}

package workflows

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// maxQueueWait is the longest time that steps wait in the queue of a node's driver before the
// workflow checks whether a conductor covers the node. The first wait is as long as it takes
// until a killed conductor counts as dead. Each time that a conductor covers the node the wait
// doubles, so that a long queue costs few events.
const maxQueueWait = 10 * time.Minute

// runSteps has a conductor run the steps from the current one. If none covers the node, before
// the steps begin or after a conductor died, it waits for one.
func (o *operation) runSteps(ctx workflow.Context) (conductor.StepsResult, error) {
	ready, patience := !o.settings.Blocked, o.settings.ConductorTimeout
	for {
		if !ready {
			asked, waited, err := o.await(ctx, o.waitForConductor())
			if err != nil || asked {
				return conductor.StepsResult{Next: conductor.NextAsked}, err
			}
			o.settings.Blocked = false
			if patience = min(2*patience, maxQueueWait); waited {
				patience = o.settings.ConductorTimeout
			}
		}
		res, err := o.runOnQueue(ctx, patience)
		if err == nil && res.Next != conductor.NextReady || err != nil && !notTaken(err) {
			return res, err
		}
		ready = false
	}
}

// runOnQueue puts the steps into the queue of the node's driver, where they may wait for
// patience until a conductor takes them.
func (o *operation) runOnQueue(ctx workflow.Context, patience time.Duration) (conductor.StepsResult, error) {
	var res conductor.StepsResult
	shared := o.stepsOptions(ctx, patience, o.summary())
	err := o.tryConductors(ctx, func(at node.Host, tried []string) (string, error) {
		o.seq++
		o.dispatch(ctx, o.seq)
		res = conductor.StepsResult{}
		err := workflow.ExecuteActivity(onHost(shared, at), steps.RunSteps,
			conductor.StepsInput{Operation: o.in.Operation, Node: o.in.Node, Seq: o.seq, Tried: tried}).Get(ctx, &res)
		o.endDispatch()
		if err != nil {
			return "", err
		}
		if len(res.Steps) > 0 {
			o.progress.Steps = res.Steps
		}
		o.progress.Conductor, o.progress.Until, o.progress.StepWait = res.Conductor, res.Until, res.StepWait
		o.show(ctx)
		if res.Next == conductor.NextElsewhere {
			return res.Conductor, nil
		}
		return "", nil
	})
	return res, err
}

// maxSummary bounds a summary, in bytes. Temporal refuses one of more than 400.
const maxSummary = 200

// summary says in Temporal's UI which steps an activity runs.
func (o *operation) summary() string {
	words := string(o.in.Kind) + " " + cmp.Or(o.in.NodeName, o.in.Node)
	for _, s := range o.progress.Steps {
		if s.State != node.StepDone && s.State != node.StepSkipped {
			words += ", from step " + s.Name
			break
		}
	}
	return text.Truncate(words, maxSummary, "…")
}

// notTaken reports whether err means that no conductor took the steps from the queue.
func notTaken(err error) bool {
	return timedOut(err) == scheduleToStart
}

// waitForConductor is the wait for a conductor that can continue the steps.
func (o *operation) waitForConductor() wait {
	return wait{read: func(ctx workflow.Context) (seen orchestrator.WaitState, err error) {
		o.seq++
		in := orchestrator.ReadyInput{Operation: o.in.Operation, Seq: o.seq}
		err = workflow.ExecuteLocalActivity(localOptions(ctx, "who can go on"), operations.Ready, in).Get(ctx, &seen)
		return seen, err
	}}
}

func (o *operation) noConductorError() error {
	return failed(fault.NoValidHost, node.Failure{Cause: fault.NoConductor, Error: fmt.Sprintf(
		"no conductor with driver %s in %s took the operation within %s", o.settings.Driver, node.GroupWords(o.settings.Group), text.Duration(o.settings.WaitForConductor))})
}

// orphanedError is the failure of an operation whose node is in maintenance and whose conductor
// died. The hardware stays as it is.
func (o *operation) orphanedError() error {
	o.untouched = true
	return failed(fault.NoValidHost, node.Failure{Cause: fault.ConductorDied, Error: fmt.Sprintf(
		"node %s was put into maintenance in the middle of the %s, and the conductor that worked on it died", o.in.Node, o.in.Kind)})
}

// overdueError is the failure of an operation whose agent or person did not come in time.
func (o *operation) overdueError(res conductor.StepsResult) error {
	why := node.Failure{Cause: fault.AgentNeverCalled, Error: fmt.Sprintf("Timeout reached while waiting for callback for node %s", o.in.Node)}
	if res.Next == conductor.NextHold {
		why = node.Failure{Cause: fault.NobodyUnheld, Error: fmt.Sprintf("Nobody decided in time how node %s is to go on.", o.in.Node)}
	}
	return failed(fault.Unreachable, why)
}

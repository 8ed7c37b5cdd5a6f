package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// queueMost is how long steps stand, at the most, in the queue of a node's driver
// before it is asked whether anybody covers the node at all. The first time it is
// as long as it takes a conductor that was killed to be taken for dead, and twice
// as long each time that somebody does, so that a long queue costs few events.
const queueMost = 10 * time.Minute

// runSteps has a conductor run steps from where they are, and waits for one
// where none covers the node: before they begin, and whenever one that had them
// died and nobody takes them up.
func (o *operation) runSteps(ctx workflow.Context) (conductor.StepsResult, error) {
	ready, patience := !o.brief.Stalled, o.brief.ConductorTimeout
	for {
		if !ready {
			asked, waited, err := o.await(ctx, o.forConductor())
			if err != nil || asked {
				return conductor.StepsResult{Next: conductor.NextAsked}, err
			}
			o.brief.Stalled = false
			if patience = min(2*patience, queueMost); waited {
				patience = o.brief.ConductorTimeout
			}
		}
		res, err := o.onQueue(ctx, patience)
		if err == nil && res.Next != conductor.NextReady || err != nil && !untaken(err) {
			return res, err
		}
		ready = false
	}
}

// onQueue puts the steps into the queue of the node's driver, where they may
// stand for at most patience until somebody takes them.
func (o *operation) onQueue(ctx workflow.Context, patience time.Duration) (conductor.StepsResult, error) {
	var res conductor.StepsResult
	shared := o.onConductor(ctx, patience, "steps of "+string(o.in.Kind))
	err := o.inTurn(ctx, func(at node.Host, tried []string) (string, error) {
		o.seq++
		o.give(ctx, o.seq)
		res = conductor.StepsResult{}
		err := workflow.ExecuteActivity(on(shared, at), steps.RunSteps,
			conductor.StepsInput{Operation: o.in.Operation, Node: o.in.Node, Seq: o.seq, Tried: tried}).Get(ctx, &res)
		o.takeBack()
		if err != nil {
			return "", err
		}
		if len(res.Steps) > 0 {
			o.progress.Steps = res.Steps
		}
		o.progress.Conductor, o.progress.Until = res.Conductor, res.Until
		o.show(ctx)
		if res.Next == conductor.NextElsewhere {
			return res.Conductor, nil
		}
		return "", nil
	})
	return res, err
}

// untaken reports that the steps stood in the queue and no conductor took them.
func untaken(err error) bool {
	return timedOut(err) == scheduleToStart
}

// forConductor is the wait for somebody who can go on with the steps.
func (o *operation) forConductor() wait {
	return wait{look: func(ctx workflow.Context) (seen orchestrator.Sight, err error) {
		o.seq++
		in := orchestrator.ReadyInput{Operation: o.in.Operation, Seq: o.seq}
		err = workflow.ExecuteLocalActivity(local(ctx, "who can go on"), records.Ready, in).Get(ctx, &seen)
		return seen, err
	}}
}

func (o *operation) noConductor() error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"no conductor with driver %s in conductor group %q took the operation within %s", o.brief.Driver, o.brief.Group, o.brief.WaitForConductor),
		fault.NoValidHost.String(), nil)
}

// orphaned ends an operation that was paused by maintenance and lost its
// conductor: nobody may touch the hardware.
func (o *operation) orphaned() error {
	o.untouched = true
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"node %s was put into maintenance in the middle of the %s, and the conductor that worked on it died", o.in.Node, o.in.Kind),
		fault.NoValidHost.String(), nil)
}

// overdue says that what was waited for did not come.
func (o *operation) overdue(res conductor.StepsResult) error {
	text := fmt.Sprintf("Timeout reached while waiting for callback for node %s", o.in.Node)
	if res.Next == conductor.NextHold {
		text = fmt.Sprintf("Nobody decided in time how node %s is to go on.", o.in.Node)
	}
	return temporal.NewNonRetryableApplicationError(text, fault.Unreachable.String(), nil)
}

package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// The steps of this file are Ironic's reserved steps (hold, wait, power_on, power_off,
// reboot), which a request may put among the steps of any interface.

// phaseHeld is the phase of a step that has moved the node to its hold state. The step is
// done when the node has left that state.
const phaseHeld = "held"

// hold moves the node to its hold state, and is done when the request "unhold" has moved it
// out again.
func hold(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if step.Phase == phaseHeld && !node.Holds(t.node.ProvisionState) {
		return done, nil
	}
	if step.Phase != phaseHeld {
		t.move(node.EventHold)
	}
	step.Phase, step.State = phaseHeld, node.StepWaiting
	t.op.WaitingFor = "somebody to unhold the node"
	t.pending.Phase = node.Holding
	return awaitHold, t.save(ctx)
}

// wait waits for the number of seconds in the step's arguments or, if there is none, for the
// agent's next heartbeat.
func wait(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if seconds, ok := jsonvalue.Float(step.Args["seconds"]); ok {
		until := step.StartedAt.Add(time.Duration(seconds * float64(time.Second)))
		t.waitFor(node.Wait{For: node.WaitTime, Since: *step.StartedAt, Until: &until})
		return done, t.sleepTelling(ctx, time.Until(until))
	}
	limit := step.StartedAt.Add(t.Settings.AgentWait[t.op.Kind.Spec().Family])
	t.waitFor(node.Wait{For: node.WaitHeartbeat, Since: *step.StartedAt, Until: &limit, Every: t.Settings.AgentPoll})
	for node.UsesAgent(t.node, t.op.Kind) && time.Now().Before(limit) {
		n, err := t.Store.Node(ctx, t.node.UUID)
		if err != nil {
			return 0, err
		}
		if n.Agent == nil || n.Agent.LastHeartbeatAt == nil || n.Agent.LastHeartbeatAt.After(*step.StartedAt) {
			break
		}
		t.saw("no call")
		if err := t.tell(ctx); err != nil {
			return 0, err
		}
		if err := sleep(ctx, t.Settings.AgentPoll); err != nil {
			return 0, err
		}
	}
	return done, nil
}

// reboot switches the server off and on again. If an agent runs the operation's steps, the
// server boots into the ramdisk, and the step is done when the agent has called.
func reboot(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if node.UsesAgent(t.node, t.op.Kind) && t.node.Agent != nil || step.Phase == phaseArmed || step.Phase == phaseBooted {
		return bootAgent(ctx, t, step)
	}
	return offAndOn(ctx, t, step)
}

// offAndOn switches the server off and on again.
func offAndOn(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if step.Phase == "" {
		if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
			return 0, err
		}
		step.Phase = phaseOff
	}
	return powerOn(ctx, t, step)
}

package conductor

import (
	"context"
	"errors"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// maxOnAgain is how often a step switches the server off once more because the BMC shows it
// on again after it was seen off. Each time counts as progress, and answers that alternate
// must not do so for ever.
const maxOnAgain = 3

// bootAgent boots the ramdisk in three phases: it switches the server off; sets virtual
// media and the one-time boot override; switches the server on. Each phase reads back
// what it has set, and may run twice. bootAgent returns awaitAgent until the agent of
// this boot has called.
func bootAgent(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	for {
		if step.Phase == phaseBooted {
			if t.node.AgentCalledBack(t.op.Kind) {
				t.tellMediumRead(step)
				t.Recordings.end(t.node.UUID)
				return done, nil
			}
			again, err := t.standsStill(ctx, step)
			if err != nil {
				return 0, err
			}
			if !again {
				step.State = node.StepWaiting
				return awaitAgent, t.waitForAgent(ctx)
			}
			step.Phase = ""
		}
		next, err := t.bootPhase(ctx, step)
		if errors.Is(err, errEndAsked) {
			return endAsked, nil
		}
		if err != nil {
			return 0, err
		}
		if step.Phase = next; next != "" {
			step.ForgetSilence()
		}
		if next == phaseBooted {
			t.addNews(node.TimelineBoot, step, "")
			continue
		}
		if err := t.save(ctx); err != nil {
			return 0, err
		}
	}
}

// tellMediumRead adds to the timeline how much the server had read of its CD when its agent was there.
func (t *task) tellMediumRead(step *node.Step) {
	if r := t.node.MediumRead; r != nil {
		t.addNews(node.TimelineMedium, step, r.Words())
	}
}

func (t *task) bootPhase(ctx context.Context, step *node.Step) (string, error) {
	switch step.Phase {
	case "":
		if err := t.awaitInsertion(ctx, step); err != nil { // the record of the power request would take its place
			return "", err
		}
		if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
			return "", err
		}
		// The next boot has a new agent: what an earlier one reported, its token and its medium are deleted before the next
		// one gets its own.
		t.pending.ClearAgent = true
		t.node.Agent, t.node.MediumRead = nil, nil
		t.agentClient = nil
		return phaseOff, nil
	case phaseOff:
		boot, err := t.boot()
		if err != nil {
			return "", err
		}
		again, err := boot.prepareRamdisk(ctx, t, step)
		if err != nil {
			return "", err
		}
		if again {
			return "", foundOn(step)
		}
		return phaseArmed, nil
	default:
		t.Recordings.record(t, step)
		if err := t.powerTo(ctx, step, bmc.PowerOn, bmc.RequestOn, t.Settings.PowerTimeout); err != nil {
			return "", err
		}
		return t.booted(ctx, step)
	}
}

// foundOn counts how often the server was found on after it was seen off, and returns an error if that was too often.
func foundOn(step *node.Step) error {
	if step.OnAgain++; step.OnAgain > maxOnAgain {
		return fault.Coded(fault.PowerLost, "the BMC has shown the server on again %d times after it was seen off", step.OnAgain)
	}
	return nil
}

// waitForAgent moves the node to its wait state and sets the deadline of the agent's call. The deadline of a boot that is waited for
// already stays as it was told.
func (t *task) waitForAgent(ctx context.Context) error {
	now := time.Now().UTC()
	until := now.Add(t.Settings.AgentWait[t.op.Kind.Spec().Family])
	if had := t.op.StepWait; had != nil && had.For == node.WaitCall && had.Until != nil && had.Until.After(now) {
		until = *had.Until
	}
	t.op.WaitingFor, t.op.WaitingUntil = "the agent's call after boot", &until
	t.waitForCall(until)
	t.op.StepWait.LookAt = t.lookAt()
	t.copyWait()
	t.pending.Phase = node.Waiting
	if !node.Waits(t.node.ProvisionState) {
		t.move(node.EventWait)
	}
	return t.save(ctx)
}

// waitForCall notes that the step waits for the call of the agent that was booted just now, or for which the step waits
// already.
func (t *task) waitForCall(until time.Time) {
	name := ""
	if ramdisk, err := t.ramdisk(); err == nil {
		name = mediumName(ramdisk.ISO)
	}
	since := time.Now().UTC()
	if had := t.op.StepWait; had != nil && had.For == node.WaitCall {
		since = had.Since
	}
	w := node.Wait{For: node.WaitCall, Subject: name, Since: since.UTC(), Until: &until}
	w.ExpectCall(t.op.UsualUntil)
	t.waitFor(w)
}

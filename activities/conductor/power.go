package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// verifyPower reads the power state: the BMC is there and takes the credentials. Then it reads what clients can list of the node.
func verifyPower(ctx context.Context, t *task, _ *node.Step) (outcome, error) {
	_, _, err := t.currentPower(ctx)
	if err != nil {
		return 0, err
	}
	return done, t.refreshReadings(ctx)
}

// currentPower returns the node's power control and the power state that it shows now.
func (t *task) currentPower(ctx context.Context) (bmc.PowerControl, bmc.Power, error) {
	s, err := t.powerControl(ctx)
	if err != nil {
		return nil, "", err
	}
	p, err := t.readPower(ctx, s)
	return s, p, err
}

// readPower reads the power state and notes it for the next save.
func (t *task) readPower(ctx context.Context, s bmc.PowerControl) (bmc.Power, error) {
	p, err := s.Power(ctx)
	if err != nil {
		return "", err
	}
	t.seen, t.seenAt = p, time.Now()
	if st := stateOf(p); st != "" {
		t.power, t.powerAt = st, time.Now()
		t.pending.Power = st
	}
	t.learnBootProgress()
	return p, nil
}

// recentPower is how old a reading of the power state may be that nothing was sent after. Steps that follow one another ask for the
// same state within moments, and each reading costs the BMC a request.
const recentPower = 5 * time.Second

// powerNow returns the power state as it was read just now, or reads it.
func (t *task) powerNow(ctx context.Context, s bmc.PowerControl) (bmc.Power, error) {
	if !t.seenAt.IsZero() && time.Since(t.seenAt) < recentPower {
		return t.seen, nil
	}
	return t.readPower(ctx, s)
}

// forgetPower has the power state read anew: something has been sent, or time has passed that may have changed it.
func (t *task) forgetPower() { t.seenAt = time.Time{} }

func powerOn(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	return done, t.powerTo(ctx, step, bmc.PowerOn, bmc.RequestOn, t.Settings.PowerTimeout)
}

func powerOff(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
		return 0, err
	}
	t.forgetAgent()
	return done, nil
}

func powerSoftOff(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	limit := t.op.SoftTimeout
	if limit == 0 {
		limit = t.Settings.SoftPowerTimeout
	}
	if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestSoftOff, limit); err != nil {
		return 0, err
	}
	t.forgetAgent()
	return done, nil
}

// forgetAgent forgets the agent of a server that was seen off, or is restarted.
func (t *task) forgetAgent() {
	t.pending.ClearAgent = true
	t.node.Agent, t.agentClient = nil, nil
}

// powerTo changes the power state to want and returns when the BMC shows it. It sends a
// request only if the state is another one. The request is recorded before it is sent. A
// second attempt that finds a record waits for its effect first, because the attempt
// before may have died before or after it sent the request.
func (t *task) powerTo(ctx context.Context, step *node.Step, want bmc.Power, r bmc.PowerRequest, limit time.Duration) error {
	s, err := t.powerControl(ctx)
	if err != nil {
		return err
	}
	if step.Issued != nil && step.Issued.Command == string(r) {
		settled := step.Issued.At.Add(t.Settings.PowerSettle)
		if w := t.op.StepWait; w != nil && w.For == node.WaitPower && !step.Issued.Awaited {
			w.Unanswered = false // who sent it was interrupted, perhaps after the answer
		}
		seen, err := t.watchPower(ctx, s, want, settled, t.powerWait(step, want, step.Issued.At, t.givesUp(settled, limit), limit))
		if err != nil {
			return err
		}
		if seen {
			t.tookEffect(r.Name())
			step.Issued = nil
			return nil
		}
	}
	p, err := t.powerNow(ctx, s)
	if err != nil {
		return err
	}
	if p == want {
		waited, err := t.awaitOthers(ctx, r.Name())
		if err != nil {
			return err
		}
		if waited { // another state may have come meanwhile
			t.forgetPower()
			return t.powerTo(ctx, step, want, r, limit)
		}
		step.Issued = nil
		return nil
	}
	asked := time.Now().UTC()
	var lost error
	if !inTransition(p, want) {
		// The time for the effect begins with the answer. Until then no end of it is known.
		t.waitFor(node.Wait{For: node.WaitPower, Subject: string(stateOf(want)), Since: asked, Every: t.Settings.PowerPoll, Unanswered: true})
		if lost, err = t.sendPower(ctx, step, s, r, asked); err != nil {
			return err
		}
	}
	if step.Issued != nil { // sent just now, or by an attempt before
		asked = step.Issued.At
	}
	until := time.Now().Add(limit)
	seen, err := t.watchPower(ctx, s, want, until, t.powerWait(step, want, asked, until, limit))
	if err != nil {
		return err
	}
	if !seen {
		step.Issued = nil
		unanswered := ""
		if lost != nil {
			unanswered = "; the BMC has not answered that request: " + fault.Text(lost)
		}
		after := max(limit, time.Since(asked).Round(time.Second)) // an attempt before may have sent it
		return fault.Coded(fault.PowerUnchanged, "power state is not %q %s after %s was sent%s", stateOf(want), after, r, unanswered)
	}
	t.tookEffect(r.Name())
	step.Issued = nil
	return nil
}

// powerWait is the wait for the power state want, for which the BMC was asked at that time. until is when this attempt at the step ends
// at the latest, and limit how long the change may take.
func (t *task) powerWait(step *node.Step, want bmc.Power, asked, until time.Time, limit time.Duration) node.Wait {
	until = until.UTC()
	w := node.Wait{For: node.WaitPower, Subject: string(stateOf(want)), Since: asked, Until: &until, Every: t.Settings.PowerPoll}
	w.ExpectPower(limit, step.Failures > 0 && step.Cause == fault.PowerUnchanged)
	t.attempt(&w, step)
	return w
}

// givesUp returns when an attempt at a step ends at the latest that waits for a power state: the request is sent at from or now, answered
// at the last moment, and limit later the BMC does not show the state.
func (t *task) givesUp(from time.Time, limit time.Duration) time.Time {
	if now := time.Now(); from.Before(now) {
		from = now
	}
	return from.Add(t.answerWithin() + limit).UTC()
}

// sendPower records the request as asked for at that time, and sends it. A lost answer is no failure yet, because the
// effect is read back, here or by another conductor. Then lost says why there was no answer.
func (t *task) sendPower(ctx context.Context, step *node.Step, s bmc.PowerControl, r bmc.PowerRequest, at time.Time) (lost, err error) {
	step.Issued = &node.Issued{At: at, Command: string(r)}
	if err := t.save(ctx); err != nil {
		return nil, err
	}
	err = s.RequestPower(ctx, r)
	step.Issued.Awaited = fault.Is(err, fault.Unreachable) && ctx.Err() == nil
	switch {
	case t.readBackByAnother(ctx, err):
		return nil, err
	case fault.Is(err, fault.Unreachable) && ctx.Err() == nil:
		return err, nil
	case err != nil:
		step.Issued = nil
	case t.op.StepWait != nil:
		t.op.StepWait.Unanswered = false
	}
	return nil, err
}

// watchPower reads the power state until it is want, and reports whether it was before
// until. If the BMC does not answer, watchPower keeps trying. w is what people are told.
func (t *task) watchPower(ctx context.Context, s bmc.PowerControl, want bmc.Power, until time.Time, w node.Wait) (bool, error) {
	next := backoff(t.Settings.PowerPoll)
	t.waitFor(w)
	var heard *events
	defer func() { heard.end(ctx) }()
	for {
		p, err := t.readPower(ctx, s)
		if err == nil {
			if p == want {
				t.arrived()
				return true, nil
			}
			t.sawPower(p)
			if err := t.bmcAnswered(ctx); err != nil {
				return false, err
			}
		} else {
			t.missed(err)
			if err := t.whyNotReadAgain(ctx, err); err != nil {
				return false, err
			}
		}
		if !time.Now().Before(until) {
			return false, nil
		}
		if err := t.tell(ctx); err != nil {
			return false, err
		}
		// If the BMC asks for a longer pause, it is read once more at the deadline.
		if heard == nil {
			heard = t.listen(ctx)
		}
		asked := bmc.RetryAfter(err)
		if err := heard.pause(ctx, min(max(next(), asked), max(time.Until(until), 0)), asked); err != nil {
			return false, err
		}
	}
}

func inTransition(now, want bmc.Power) bool {
	return (now == bmc.PoweringOn && want == bmc.PowerOn) || (now == bmc.PoweringOff && want == bmc.PowerOff)
}

// powerReset restarts a server that must not be switched off. The effect of a restart can't
// be read back, so it is sent at most once.
func powerReset(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := sentBefore(step, bmc.ForceRestart, "the restart"); err != nil {
		return 0, err
	}
	_, p, err := t.currentPower(ctx)
	if err != nil {
		return 0, err
	}
	if p == bmc.PowerOff || step.Issued != nil { // the server was off, now or at an attempt before
		return done, t.powerTo(ctx, step, bmc.PowerOn, bmc.RequestOn, t.Settings.PowerTimeout)
	}
	restarter, err := t.restartControl(ctx)
	if err != nil {
		return 0, err
	}
	t.forgetAgent()
	return done, t.sendOnce(ctx, step, node.Issued{Command: bmc.ForceRestart}, restarter.Restart)
}

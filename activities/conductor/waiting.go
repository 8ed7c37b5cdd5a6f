package conductor

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The loops of this package that wait for hardware or for the agent tell what they wait for: waitFor at their beginning,
// saw or missed after each look, and then tell or guardAndTell. Drivers and clients never wait for an effect (bmc.Session),
// so they have nothing to tell.

// tellTimeout is how long tell may take. A database that is slow must not keep a step from its next look.
const tellTimeout = 2 * time.Second

// waitFor notes that the current step waits for w. What is known of the same wait is kept, also if another conductor has
// seen it.
func (t *task) waitFor(w node.Wait) {
	w.Since = w.Since.UTC()
	if had := t.op.StepWait; had.Same(&w) {
		had.Until, had.Every, had.AnswerUntil = w.Until, w.Every, w.AnswerUntil
		had.Again, had.Attempt, had.Attempts = w.Again, w.Attempt, w.Attempts
		if had.LateAt == nil {
			had.LateAt, had.LateCause = w.LateAt, w.LateCause
		}
		return
	}
	t.op.StepWait = &w
	t.copyWait()
}

// copyWait lets reportLater, which is in another goroutine, see what the step waits for.
func (t *task) copyWait() {
	if t.op.StepWait == nil {
		t.lastWait.Store(nil)
		return
	}
	w := *t.op.StepWait
	t.lastWait.Store(&w)
}

// saw notes what the last look has shown.
func (t *task) saw(seen string) {
	t.op.StepWait.Saw(seen, time.Now().UTC())
	t.copyWait()
}

// sawPower notes the power state that the last look has shown.
func (t *task) sawPower(p bmc.Power) {
	word := string(p)
	if p == bmc.PowerUnknown {
		word = "a power state that is not known"
	}
	t.op.StepWait.Power = stateOf(p)
	t.saw(word)
}

// attempt notes in w, which has an end, whether the step is tried again when it is over.
func (t *task) attempt(w *node.Wait, step *node.Step) {
	if t.undoes { // Temporal tries the undo again until its time is over
		w.Again = t.op.WaitingUntil != nil && w.Until.Before(*t.op.WaitingUntil)
		return
	}
	w.Attempt, w.Attempts = step.Failures+1, step.Limit
	w.Again = w.Attempt < w.Attempts
}

// missed notes that the last look has failed. The next ones may take longer.
func (t *task) missed(err error) {
	if w := t.op.StepWait; w.Until != nil && w.AsksBMC() {
		until := w.Until.Add(askWithin(t.answerWithin()))
		w.AnswerUntil = &until
	}
	t.op.StepWait.Missed(fault.Text(err), time.Now().UTC())
	t.copyWait()
}

// slowAnswer is how long an answer takes that is called slow.
const slowAnswer = 2 * time.Second

// listening returns a context for requests to the BMC, so that it is told how the BMC answers.
func (t *task) listening(ctx context.Context) context.Context {
	return bmc.Listening(ctx, func(took, within time.Duration) {
		now := time.Now().UTC()
		slow := took >= slowAnswer
		if !slow {
			took, within = 0, 0
		}
		switch w := t.op.StepWait; {
		case w == nil && slow:
			t.waitFor(node.Wait{For: node.WaitAnswer, Since: now.Add(-took)})
		case w == nil:
			return
		case w.For == node.WaitAnswer && !slow:
			t.arrived()
			return
		case w.For != node.WaitAnswer && w.For != node.WaitPower && w.For != node.WaitMedium:
			return
		}
		w := t.op.StepWait
		w.Answered(took, within, now)
		t.copyWait()
		if w.For == node.WaitAnswer { // the loops that wait for something else tell it themselves
			_ = t.tell(ctx) // if the claim is lost, the next guard says so
		}
	})
}

// waitForAnswer notes that the step, whose last error is silence, waits for a BMC that gives no answer.
// since is when the silence began.
func (t *task) waitForAnswer(step *node.Step, since time.Time) {
	if step.SilentUntil == nil {
		last := 2 * max(t.answerWithin(), t.op.AnswerWithin, usualWithin) // the answer to the last try is awaited, too, longer than those before
		until := step.SilentSince.Add(t.Settings.AwayTimeout + last)
		step.SilentUntil = &until
	}
	ctx, cancel := context.WithTimeout(context.Background(), tellTimeout)
	defer cancel()
	w := node.SilentWait(since, step.LastError, *step.SilentUntil)
	answer := step.SilentSince.Add(t.Settings.AwayTimeout + time.Duration(t.round(ctx))*askWithin(max(t.answerWithin(), t.op.AnswerWithin)))
	w.AnswerUntil = &answer
	t.op.StepWait = &w
	t.copyWait()
	t.op.WaitingFor, t.op.WaitingUntil = "the BMC to answer again", step.SilentUntil
}

// arrived notes that what the step waited for is there. The next save writes that.
func (t *task) arrived() {
	t.op.StepWait = nil
	t.copyWait()
}

// tell writes what the step waits for, unless that was written less than TellEvery ago. Only a claim that is lost is an
// error: a step does not need what it tells.
func (t *task) tell(ctx context.Context) error {
	if !t.mayTell() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	err := t.writeWait(ctx)
	if fault.Is(err, fault.Lost) {
		return err
	}
	if err != nil {
		t.log.Debug("what the step waits for could not be written", zap.Error(err))
	}
	return nil
}

// guardAndTell is guard. If something is to be told, one statement does both.
func (t *task) guardAndTell(ctx context.Context) error {
	if !t.mayTell() {
		return t.guard(ctx)
	}
	return t.writeWait(ctx)
}

// sleepTelling waits for d. If that takes longer than TellEvery, it tells so in between, once: nothing changes meanwhile.
func (t *task) sleepTelling(ctx context.Context, d time.Duration) error {
	if first := t.Settings.TellEvery; d > first {
		if err := sleep(ctx, first); err != nil {
			return err
		}
		if err := t.tell(ctx); err != nil {
			return err
		}
		d -= first
	}
	return sleep(ctx, max(d, 0))
}

func (t *task) mayTell() bool {
	return t.op.StepWait != nil && time.Since(t.toldAt) >= t.Settings.TellEvery
}

func (t *task) writeWait(ctx context.Context) error {
	t.toldAt = time.Now()
	asked, err := t.Store.TellWait(ctx, &t.saved, t.claim, t.op.StepWait)
	if err == nil {
		t.op.SetPendingAsk(asked)
	}
	return err
}

// waitAfterFailure notes that the step has failed. An agent's command goes on until the next try, so that it is still waited
// for, and so is an agent that gives no answer; nothing else is.
// pause is the one before the next try.
func (t *task) waitAfterFailure(step *node.Step, err error, pause time.Duration) {
	w := t.op.StepWait
	switch {
	case step.State != node.StepRunning, step.Restarting:
		t.arrived()
	case w != nil && w.For == node.WaitCommand && step.Issued != nil:
		w.Unanswered = lostAgent(err) == nil
		t.triesUntil(step, pause)
		t.missed(err)
	case isAgentSilence(err) && t.node.Agent != nil:
		t.waitForAgentAnswer(time.Now().UTC(), t.agentSettings().RequestTimeout)
		t.triesUntil(step, pause)
		t.missed(err)
	default:
		t.arrived()
	}
}

// triesUntil notes when the step gives up at the latest on an agent that answers nothing. pause is the one before the next try.
func (t *task) triesUntil(step *node.Step, pause time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), tellTimeout)
	defer cancel()
	w := t.op.StepWait
	until := t.lastTryEnds(ctx, step, pause, cmp.Or(w.Within, t.agentSettings().RequestTimeout))
	w.Until = &until
}

// lastTryEnds returns when the last try at the step ends at the latest if an agent answers none of those that are left, of which the
// next one begins after the pause. Each try is a round of the conductors that cover the node, and each of them waits so long.
func (t *task) lastTryEnds(ctx context.Context, step *node.Step, pause, within time.Duration) time.Time {
	rule, try := retryOf(fault.Transient), time.Duration(t.round(ctx))*(within+tryMargin)
	until := time.Now().UTC().Add(pause + try)
	for n := step.Failures + 1; n < rule.limit(step, t.Settings.StepLimits); n++ {
		until = until.Add(rule.pause(n) + try)
	}
	return until
}

func (t *task) agentSettings() agent.Settings { return t.Settings.Agent.WithDefaults() }

// tryMargin is how much longer a try may take than the request on which it waits.
const tryMargin = 2 * time.Second

// isAgentSilence reports whether err means that the agent gave no answer.
func isAgentSilence(err error) bool {
	return fault.Is(err, fault.Unreachable) && fault.NoAnswer(err) && fault.CauseOf(err) == fault.AgentSilent
}

// waitForAgentAnswer notes that the step waits for an answer of the agent, which was asked at the time asked and may take so long.
// If the step already waited for this agent's answer, the wait goes on with its earlier beginning.
func (t *task) waitForAgentAnswer(asked time.Time, within time.Duration) {
	a := t.node.Agent
	if a == nil {
		return
	}
	w := node.Wait{For: node.WaitAgent, Subject: agent.Host(a.URL), Since: asked, Within: within}
	if had := t.op.StepWait; had != nil && had.For == w.For && had.Subject == w.Subject {
		return
	}
	if w.SeenAt = a.LastHeartbeatAt; w.SeenAt != nil {
		w.Seen = "called"
	}
	t.waitFor(w)
}

// askAgent calls ask, which asks the agent something. If the answer takes longer than TellEvery, askAgent writes to the database
// what the step waits for.
func (t *task) askAgent(ctx context.Context, ask func() error) error {
	t.waitForAgentAnswer(time.Now().UTC(), t.agentSettings().SlowTimeout)
	step := t.op.CurrentStep()
	told := make(chan struct{})
	timer := time.AfterFunc(t.Settings.TellEvery, func() {
		defer close(told)
		ctx, cancel := context.WithTimeout(ctx, tellTimeout)
		defer cancel()
		if had := t.lastWait.Load(); had != nil {
			w := *had
			if w.For == node.WaitAgent && step != nil {
				until := t.lastTryEnds(ctx, step, 0, w.Within)
				w.Until = &until
			}
			_, _ = t.Store.TellWait(ctx, &t.saved, t.claim, &w) // a step does not need what it tells, and the next guard finds a lost claim
		}
	})
	err := ask()
	if !timer.Stop() {
		<-told // what is written later must not be overwritten
	}
	if err == nil {
		t.arrived()
	}
	return err
}

// mediumName is how people know the medium at a URL: the name of its file. The rest may contain secrets.
func mediumName(image string) string {
	u, err := url.Parse(image)
	if err != nil || u.Path == "" {
		return ""
	}
	return path.Base(u.Path)
}

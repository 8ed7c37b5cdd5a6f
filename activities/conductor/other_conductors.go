package conductor

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// maxPerRound is how many conductors try a step in one round. If one can't reach the
// hardware, its own network may be the cause; if three can't, it is the hardware.
const maxPerRound = 3

// round returns how many conductors try a step in one round.
func (t *task) round(ctx context.Context) int {
	hosts, err := t.Store.Covering(ctx, t.node.UUID)
	if err != nil {
		return maxPerRound
	}
	return min(max(len(hosts), 1), maxPerRound)
}

// noAnswer reports whether err means that the hardware did not answer, and not that this
// process is stopping.
func noAnswer(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && fault.Is(err, fault.Unreachable) && fault.NoAnswer(err) && !isNotAsked(err)
}

// readBackByAnother reports whether another conductor is to read the effect of a request
// whose answer was lost. This conductor may be cut off from the network, and a read would
// time out as the request did.
func (t *task) readBackByAnother(ctx context.Context, sent error) bool {
	return noAnswer(ctx, sent) && t.anotherMayTry(ctx)
}

// anotherMayTry reports whether a conductor that covers the node is left in this round.
func (t *task) anotherMayTry(ctx context.Context) bool {
	if len(t.tried)+1 >= maxPerRound {
		return false
	}
	hosts, err := t.Store.Covering(ctx, t.node.UUID)
	return err == nil && len(activities.Untried(hosts, append(slices.Clone(t.tried), t.Settings.Conductor))) > 0
}

// handToAnother records on the step that this conductor got no answer, if another conductor
// may try, and reports whether one may. That is no failure of the step yet: the step has
// failed if the last conductor of the round gets no answer either. A BMC that was silent for a whole round
// is asked by one conductor at a time, unless that one gets no answer of other BMCs either.
func (t *task) handToAnother(ctx context.Context, err error) bool {
	var failed *stepError
	if !errors.As(err, &failed) || !noAnswer(ctx, err) {
		return false
	}
	if t.node.SilentBMC() != nil && failed.step.SilentSince != nil && !t.Reach.cutOffNow(ctx, t.node.UUID) || !t.anotherMayTry(ctx) {
		return false
	}
	failed.step.LastError, failed.step.Cause = fault.Text(failed.err), fault.CauseOf(failed.err)
	failed.step.ClearDeaths()
	t.timeSilence(failed.step, failed.err)
	since := t.silentFrom(failed.step)
	if isAgentSilence(failed.err) { // who tries next knows that, too
		t.waitAfterFailure(failed.step, failed.err, 0)
	}
	if failed.step.SilentSince != nil {
		t.waitForAnswer(failed.step, since)
	}
	t.pending.Move, t.pending.Came, t.op.Rests = "", true, true
	t.addNews(node.TimelineNoAnswer, failed.step, failed.step.LastError)
	if t.save(ctx) != nil {
		return false // recordFailure finds out why
	}
	t.log.Warn("the hardware does not answer this conductor; another one tries the step", zap.String("step", failed.step.Name()), zap.Error(failed.err))
	return true
}

// whyNotReadAgain returns the error with which the watching of hardware ends after a reading
// that failed with err; nil = it is read again. If the BMC does not answer, perhaps only this
// conductor can't reach it; if nobody gets an answer, the step waits without a slot of this conductor.
func (t *task) whyNotReadAgain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isPermanent(err), fault.NoAnswer(err) && t.anotherMayTry(ctx), t.leavesSilent(err):
		return err
	}
	return nil
}

package conductor

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
)

// maxPerRound is how many conductors try a step in one round: one that can't reach
// the hardware may be alone with that, three are not.
const maxPerRound = 3

// noAnswer reports whether err ended the work because the hardware was silent,
// and not because this process is to stop.
func noAnswer(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && fault.Is(err, fault.Unreachable) && fault.NoAnswer(err)
}

// readBackByAnother reports whether another conductor is to see what came of a
// request whose answer was lost: this one may be cut off, and to find that out by
// reading would take as long as the request did.
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

// handToAnother notes on the step that this conductor got no answer, where another one
// may still try. It is not lostClaimCounter as the step's failure: a round is one, when the
// last of its conductors has had no answer either.
func (t *task) handToAnother(ctx context.Context, err error) bool {
	var failed *stepError
	if !errors.As(err, &failed) || !noAnswer(ctx, err) || !t.anotherMayTry(ctx) {
		return false
	}
	failed.step.LastError = fault.Text(failed.err)
	failed.step.Harmless()
	t.pending.Move, t.pending.Came, t.op.Rests = "", true, true
	if t.save(ctx) != nil {
		return false // the usual verdict finds out why
	}
	t.log.Warn("no answer here, another conductor is to try", zap.String("step", failed.step.Name()), zap.Error(failed.err))
	return true
}

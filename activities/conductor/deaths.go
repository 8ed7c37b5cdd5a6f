package conductor

import (
	"context"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// If a conductor dies, that is not a failure of its step: another conductor continues the
// step at once. But if several conductors in a row die soon after they have claimed a step,
// the step may be the cause. Then each next attempt is delayed, longer each time, and after
// too many deaths the operation is held until a person decides.

// maxSpared is how many deaths may be forgotten because the hardware answered. Without a
// limit, hardware that answers once and then crashes its conductor would be tried for ever.
const maxSpared = 5

// countDeath records on the current step that the conductor which had the claim
// before died early and without progress, and puts the step off after too many deaths.
func (t *task) countDeath(ctx context.Context) error {
	step := t.op.CurrentStep()
	if t.op.Former == nil || t.op.Former.Undoing || step == nil {
		return nil
	}
	fate, d := t.fateOfFormer()
	switch fate {
	case node.FateAlive:
		return nil
	case node.FateLate:
		step.ClearDeaths() // that conductor survived the step for a while
		return nil
	}
	deaths, err := t.deaths(ctx, step.Deaths, d)
	if err != nil {
		return err
	}
	step.Deaths = deaths
	if len(deaths) >= node.DeathsToPutOff && t.op.PendingAsk() != node.AskPause {
		step.LastError, step.Cause = node.DeathsOf(deaths, "step "+step.Name(), t.Settings.DeathWithin), fault.ConductorsDied
		step.PutOff(*t.op.ClaimedAt, t.Settings.DeathPause)
		t.op.Rests = true // no conductor works on it until then
		t.addNews(node.TimelineFailed, step, step.LastError)
		t.log.Warn("the step was put off", zap.String("step", step.Name()), zap.Timep("until", step.NotBefore),
			zap.Bool("held", step.NeedsDecision()), zap.String("why", step.LastError))
	}
	return t.save(ctx)
}

// fateOfFormer returns what happened to the conductor that had the claim before.
func (t *task) fateOfFormer() (node.Fate, node.Death) {
	silence := t.Settings.HeartbeatTimeout * 7 / 10 // where it died right before the next heartbeat of its step (worker.throttle)
	return t.op.Former.Fate(*t.op.ClaimedAt, t.Settings.DeathWithin, t.Settings.ConductorBeat, silence)
}

// deaths returns known and d. If that is too many, it leaves out conductors that have
// turned out to be alive.
func (t *task) deaths(ctx context.Context, known []node.Death, d node.Death) ([]node.Death, error) {
	all := append(known[:len(known):len(known)], d)
	if len(all) < node.DeathsToPutOff {
		return all, nil
	}
	return t.Store.StillDead(ctx, all)
}

// hardwareAnswered records that the hardware answered during a step that conductors died of,
// so that they probably died of something else.
func (t *task) hardwareAnswered(ctx context.Context) error {
	step := t.op.CurrentStep()
	if t.undoes || step == nil || len(step.Deaths) == 0 || step.Spared >= maxSpared {
		return nil
	}
	step.Spared += len(step.Deaths)
	step.ClearDeaths()
	t.pending.Came = true
	return t.save(ctx)
}

// countUndoDeath counts deaths of conductors during the undo, and returns an error if
// there were too many. The undo is owed then, and an operation of its own does it,
// whose step is put off like any other.
func (t *task) countUndoDeath(ctx context.Context) error {
	if t.op.Former == nil || !t.op.Former.Undoing || len(t.op.Steps) == 0 {
		return nil
	}
	step := t.op.CurrentStep()
	if step == nil {
		step = &t.op.Steps[len(t.op.Steps)-1]
	}
	fate, d := t.fateOfFormer()
	switch fate {
	case node.FateAlive:
		return nil
	case node.FateLate:
		step.UndoDeaths = nil
		return nil
	}
	deaths, err := t.deaths(ctx, step.UndoDeaths, d)
	if err != nil {
		return nil //nolint:nilerr // the undo itself will find out what is wrong with the database
	}
	if step.UndoDeaths = deaths; len(deaths) < node.DeathsToPutOff {
		return nil // it is saved with the beginning of the undo
	}
	return fault.Coded(fault.ConductorsDied, "%s", node.DeathsOf(deaths, "the undo", t.Settings.DeathWithin))
}

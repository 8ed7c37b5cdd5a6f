package conductor

import (
	"context"
	"slices"
	"time"

	"go.temper.dev/temper/internal/node"
)

// noteProgress notes whether the steps have progressed since they were last saved.
// Sending a command again is no progress.
func (t *task) noteProgress() {
	now := positionsOf(t.op)
	if slices.Equal(now, t.positions) {
		return
	}
	before := t.positions
	t.positions, t.progressed = now, true
	step := t.op.CurrentStep()
	if step == nil || t.undoes || slices.Contains(before, positionOf(step)) {
		return // it was another step
	}
	step.ClearDeaths()
	step.Spared = 0
}

// save writes the steps and what is pending, and reads what somebody has requested
// meanwhile. The same statement checks the claim, so a save right before a request to the
// hardware guards that request, too.
func (t *task) save(ctx context.Context) error {
	t.noteProgress()
	p := t.pending
	p.Came = p.Came || t.progressed
	p.Steps, p.Undo, p.Rests = t.op.Steps, t.op.Undo, t.op.Rests
	p.WaitingFor, p.WaitingUntil, p.UsualUntil, p.StepWait = t.op.WaitingFor, t.op.WaitingUntil, t.op.UsualUntil, t.op.StepWait
	if p.Power != "" {
		p.PowerAge = time.Since(t.powerAt)
	}
	t.noteFlight(&p)
	p.Known = &t.saved
	asked, err := t.Store.SaveSteps(ctx, t.op.ID, t.claim, p)
	if err != nil {
		return err
	}
	if p.Move != "" {
		moved, err := node.Move(t.node, p.Move)
		if err != nil {
			return err
		}
		moved.Apply(t.node, time.Now().UTC())
	}
	t.pending, t.toldAt, t.tellFlight = node.Progress{}, time.Now(), false
	t.within = max(t.within, p.AnswerWithin)
	steps := t.op.Steps // others point into it
	*t.op = t.saved
	t.op.Steps = steps
	t.op.SetPendingAsk(asked)
	return nil
}

// stop saves the operation when the run ends without an error.
func (t *task) stop(ctx context.Context) error {
	t.pending.Came = true
	return t.save(ctx)
}

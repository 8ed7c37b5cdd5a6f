package conductor

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// UndoInput names the operation to undo.
type UndoInput struct {
	Operation int64  `json:"operation"`
	Node      string `json:"node"`
	Seq       int64  `json:"seq"`
	// Tried are the conductors that the hardware did not answer in this round.
	Tried []string `json:"tried,omitempty"`
}

// UndoResult says whether the undo is done. It is if neither Elsewhere nor Paused is set.
type UndoResult struct {
	// Elsewhere: the hardware did not answer Conductor, and another one that covers the node
	// has not tried yet.
	Elsewhere bool   `json:"elsewhere,omitempty"`
	Conductor string `json:"conductor,omitempty"`
	// Paused: the node was put into maintenance since the undo was planned, and
	// nobody has asked for the end. The hardware is left as it is.
	Paused bool `json:"paused,omitempty"`
}

// Undo undoes what the operation left half done, with a newer claim than its steps had. What
// it can't undo stays in the operation's row. When the operation is closed, that is written
// on the node as owed.
func (s *Steps) Undo(ctx context.Context, in UndoInput) (UndoResult, error) {
	ctx, stop := s.heartbeat(ctx)
	defer stop()
	t, err := s.claim(ctx, StepsInput(in))
	if err != nil {
		return UndoResult{}, s.failure(ctx, nil, err)
	}
	defer t.close()
	if t.op.LeavesHardware() {
		return UndoResult{Paused: true, Conductor: s.Settings.Conductor}, nil
	}
	t.undoes, t.op.Rests = true, false
	t.arrived() // the step waits for nothing any more
	if why := t.countUndoDeath(ctx); why != nil {
		return UndoResult{}, activities.NonRetryable(why)
	}
	t.pending.Phase = node.Undoing
	t.op.WaitingFor = "the undo of what is half done"
	if until := activity.GetInfo(ctx).Deadline; !until.IsZero() {
		t.op.WaitingUntil = &until
	}
	t.pending.ClearAgent = true
	if err := t.save(ctx); err != nil {
		return UndoResult{}, s.failure(ctx, t, err)
	}
	err = t.undoAll(ctx)
	if noAnswer(ctx, err) && t.anotherMayTry(ctx) {
		t.leaveUndo(ctx, node.News{What: node.TimelineNoAnswer, Words: fault.Text(err)})
		return UndoResult{Elsewhere: true, Conductor: s.Settings.Conductor}, nil
	}
	if err != nil {
		t.log.Warn("the undo of what the operation left half done failed", zap.Error(err))
		if fault.Is(err, fault.Lost) || ctx.Err() != nil { // handed over to another conductor, not given up
			return UndoResult{}, s.failure(ctx, t, err)
		}
		t.leaveUndo(ctx)
		if isPermanent(err) {
			return UndoResult{}, activities.NonRetryable(err)
		}
		return UndoResult{}, s.failure(ctx, t, err)
	}
	t.op.WaitingFor, t.op.WaitingUntil = "", nil
	if err := t.save(ctx); err != nil {
		return UndoResult{}, s.failure(ctx, t, err)
	}
	return UndoResult{}, nil
}

// leaveUndo records how far the undo is and that this conductor has stopped working on it, so that whoever tries it next does
// not take this conductor for lost.
func (t *task) leaveUndo(ctx context.Context, news ...node.News) {
	t.op.Rests, t.pending.Came, t.pending.News = true, true, append(t.pending.News, news...)
	if err := t.save(ctx); err != nil {
		t.log.Warn("that this conductor left the undo could not be recorded", zap.Error(err))
	}
}

// undoAll does what the operation has to undo, after what was sent can have no effect any more.
func (t *task) undoAll(ctx context.Context) (err error) {
	defer t.recovered("the undo", &err)
	if _, err := t.awaitOthers(ctx, ""); err != nil {
		return err
	}
	if err := t.awaitPendingPowerOn(ctx); err != nil {
		return err
	}
	if err := t.awaitPendingMedia(ctx); err != nil {
		return err
	}
	return t.undo(ctx, t.undoStep(), t.op.Undo)
}

// awaitPendingPowerOn waits for the effect of a recorded request to switch the server on
// whose step did not wait for it, because it was cancelled or its conductor died. Otherwise
// the server could come up after the undo found it off.
func (t *task) awaitPendingPowerOn(ctx context.Context) error {
	off := slices.Contains(t.op.Undo, node.UndoPowerOff) || slices.Contains(t.op.Undo, node.UndoBootInstance)
	if !off || t.node.DisablePowerOff {
		return nil
	}
	for i := range t.op.Steps {
		step := &t.op.Steps[i]
		if step.Over() || step.Issued == nil || step.Issued.Command != string(bmc.RequestOn) {
			continue
		}
		s, err := t.powerControl(ctx)
		if err != nil {
			return err
		}
		until := step.Issued.At.Add(t.Settings.PowerSettle)
		seen, err := t.watchPower(ctx, s, bmc.PowerOn, until, t.powerWait(step, bmc.PowerOn, step.Issued.At, t.givesUp(until, 0), 0))
		if err != nil {
			return err
		}
		if !seen { // cancels the request, although the server seems to be off
			if _, err := t.sendPower(ctx, step, s, bmc.RequestForceOff, time.Now().UTC()); err != nil {
				return err
			}
		}
		step.Issued = nil
	}
	return nil
}

// undoStep returns the step on which the undo records its requests: the one with a recorded
// request to switch off, or else the current one.
func (t *task) undoStep() *node.Step {
	for i := range t.op.Steps {
		if s := &t.op.Steps[i]; s.Issued != nil && s.Issued.Command == string(bmc.RequestForceOff) {
			return s
		}
	}
	if s := t.op.CurrentStep(); s != nil {
		return s
	}
	if last := len(t.op.Steps) - 1; last >= 0 {
		return &t.op.Steps[last]
	}
	return &node.Step{Interface: "power", Step: "off", Source: node.SourceCore}
}

package activities

import (
	"context"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// UndoInput names the operation whose half-done work is to be put right.
type UndoInput struct {
	Operation int64  `json:"operation"`
	Node      string `json:"node"`
	Seq       int64  `json:"seq"`
}

// Undo puts right what the operation left half done, under a newer claim than
// its steps had. What it can't do stays in the operation's row, and closing
// writes it on the node as owed.
func (s *Steps) Undo(ctx context.Context, in UndoInput) error {
	ctx, stop := s.alive(ctx)
	defer stop()
	t, err := s.claim(ctx, StepsInput(in))
	if err != nil {
		return s.verdict(ctx, nil, err)
	}
	defer t.close()
	t.pending.Phase = node.Cancelling
	t.pending.ClearAgent = true
	if err := t.save(ctx); err != nil {
		return s.verdict(ctx, nil, err)
	}
	if err := t.undo(ctx, t.op.Undo); err != nil {
		t.log.Warn("undo failed", zap.Error(err))
		if fault.ClassOf(err) != fault.Transient && fault.ClassOf(err) != fault.WaitBusy {
			return never(err)
		}
		return s.verdict(ctx, nil, err)
	}
	return s.saved(ctx, t)
}

func (s *Steps) saved(ctx context.Context, t *task) error {
	if err := t.save(ctx); err != nil {
		return s.verdict(ctx, nil, err)
	}
	return nil
}

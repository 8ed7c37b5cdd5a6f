package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const directSQL = `
UPDATE operations o SET run_id = nullif(@run, ''), begun_at = CASE WHEN @run <> '' THEN coalesce(o.begun_at, clock_timestamp()) END,
	claim_seq = @seq, claim_attempt = @attempt, phase = @phase, waiting_for = @waiting_for, waiting_until = @waiting_until,
	steps = @steps, undo = @undo, decisions = @decisions,
	asked = @asked, asked_by = @asked_by, asked_reason = @asked_reason,
	asked_at = CASE WHEN @asked = '' THEN NULL WHEN @asked = o.asked THEN o.asked_at ELSE clock_timestamp() END,
	missing_since = CASE WHEN o.run_id IS DISTINCT FROM nullif(@run, '') THEN NULL ELSE o.missing_since END
 WHERE o.id = @id
RETURNING ` + operationColumns

// Direct changes an open operation for the workflow that runs it, or for a
// person: edit sees the node under its row's lock, with this operation, and
// changes it in place (RunID, Claim, Phase, WaitingFor and Until, Steps, Undo,
// Decisions, Asked with By and Reason; of the node LastError). Whose operation
// it is, edit has to check. fault.Lost when it has ended.
func (s *Store) Direct(ctx context.Context, id int64, edit func(*node.Node) (node.Direction, error)) (*node.Operation, error) {
	var f fenced
	err := s.inTx(ctx, "direct an operation", func(b *pgx.Batch) { f.queueLock(b, id) }, func(b *pgx.Batch) error {
		switch {
		case !f.ok:
			return noOperation(id)
		case !f.found || f.op.EndedAt != nil:
			return fault.New(fault.Lost, "operation %d has ended", id)
		}
		f.Operation = &f.op
		had := places(&f.Node)
		d, err := edit(&f.Node)
		if err != nil {
			return err
		}
		if d.Leave {
			return errLeave
		}
		if d.Move != "" {
			m, err := node.Move(&f.Node, d.Move)
			if err != nil {
				return err
			}
			f.moved(m)
			if m.ClearInstance {
				queueClearInstance(b, f.ID)
			}
		}
		if err := f.queueState(b, s, had, nil); err != nil {
			return err
		}
		if d.Event.Event != "" {
			d.Event.Operation = id
			queueHistory(b, f.ID, d.Event)
		}
		return f.queueDirected(b)
	})
	if err != nil {
		return nil, err
	}
	return &f.op, nil
}

func (f *fenced) queueDirected(b *pgx.Batch) error {
	o := &f.op
	var d dicts
	decisions := o.Decisions
	if decisions == nil {
		decisions = []node.Ruling{}
	}
	a := args{
		"id": o.ID, "run": o.RunID, "seq": o.Claim.Seq, "attempt": o.Claim.Attempt, "phase": o.Phase,
		"waiting_for": words(o.WaitingFor, maxError), "waiting_until": o.WaitingUntil,
		"steps": d.steps(o.Steps), "undo": d.undo(o.Undo), "decisions": d.of(decisions),
		"asked": o.Asked, "asked_by": words(o.AskedBy, 255), "asked_reason": words(o.AskedReason, maxError),
	}
	if d.err != nil {
		return d.err
	}
	b.Queue(directSQL, a).QueryRow(func(r pgx.Row) (err error) {
		f.op, err = scanOperation(r)
		return err
	})
	return nil
}

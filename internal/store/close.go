package store

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/closing"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

const (
	followUpSQL = `SELECT coalesce(o.follow_up, 0) FROM operations o WHERE o.id = @id`

	// repeatSQL links an undo that has failed with the operation of the node before it, if that was an undo
	// that failed with the same cause.
	repeatSQL = `
WITH before AS MATERIALIZED (
	SELECT p.id, p.kind, p.outcome, p.cause, o.cause AS now FROM operations o CROSS JOIN LATERAL (
		SELECT p.* FROM operations p WHERE p.node_uuid = o.node_uuid AND p.node_id = o.node_id AND p.id < o.id ORDER BY p.id DESC LIMIT 1) p
	 WHERE o.id = @id),
same AS (
	UPDATE operations p SET repeated_by = @id FROM before b
	 WHERE p.id = b.id AND b.kind = 'undo' AND b.outcome = 'failed' AND b.cause = b.now
	RETURNING p.repeats + 1 AS repeats, coalesce(p.repeats_since, p.accepted_at) AS since)
UPDATE operations o SET repeats = s.repeats, repeats_since = s.since FROM same s WHERE o.id = @id`

	linkFollowUpSQL = `UPDATE operations SET follow_up = @follow_up WHERE id = @id`
)

// CloseOperation ends the operation and writes what its end does to its node
// (closing.Operation), in one transaction. Closing what is closed with the same
// outcome gives the same answer; another outcome is fault.Conflict, another run
// fault.Lost. End.Again closes only what is open, and is fault.Conflict otherwise. Where somebody asked for the node meanwhile, the operation that
// follows (plan.FollowUp) is opened at once and returned; nil = the node is free.
func (s *Store) CloseOperation(ctx context.Context, end node.End) (*node.Operation, error) {
	end.Error = failure(end.Error)
	c := closingTx{end: end}
	err := s.inTx(ctx, "close an operation", func(b *pgx.Batch) {
		c.queueLock(b, end.Operation)
		b.Queue(followUpSQL, args{"id": end.Operation}).QueryRow(maybe(new(bool), func(r pgx.Row) error { return r.Scan(&c.follow) }))
		b.Queue(nextOperationSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&c.next) })
	}, func(b *pgx.Batch) error {
		if err := c.decide(b); err != nil {
			return err
		}
		audit.Of(ctx).OnNode(c.UUID, c.Name)
		audit.Of(ctx).Opens(c.op.ID)
		if c.end.Outcome == node.Cancelled && !c.op.Asked.Ends() && audit.Of(ctx) == nil {
			e := audit.InTemporal("cancel", "")
			e.NodeUUID, e.NodeName, e.Operation, e.Outcome = c.UUID, c.Name, c.op.ID, audit.Accepted
			b.Queue(auditStatement(&e))
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case c.out != nil:
		return c.out, nil
	case c.follow != 0: // closed before
		return s.Operation(ctx, c.follow)
	}
	return nil, nil
}

// closingTx is an operation that is being closed.
type closingTx struct {
	fenced
	end    node.End
	follow int64 // the follow-up of one that is closed already
	next   int64 // number of the follow-up, if one is opened
	out    *node.Operation
}

func (c *closingTx) decide(b *pgx.Batch) error {
	switch {
	case !c.ok:
		return noOperation(c.end.Operation)
	case c.end.RunID != "" && c.op.RunID != "" && c.op.RunID != c.end.RunID:
		return fault.New(fault.Lost, "operation %d is another run's", c.op.ID)
	case c.op.EndedAt != nil && c.op.Outcome == c.end.Outcome && !c.end.Again:
		return errLeave
	case c.op.EndedAt != nil:
		return fault.Coded(fault.OperationEnded, "Operation %d of node %s has ended already: %s.", c.op.ID, c.op.NodeUUID, c.op.Outcome)
	case !c.found() || c.Operation == nil:
		return fault.New(fault.Internal, "close operation %d: its node %s is gone", c.op.ID, c.op.NodeUUID)
	}
	ending, err := closing.Operation(&c.Node, c.end)
	if err != nil {
		return err
	}
	c.applyEnding(ending)
	if err := c.queueState(b); err != nil {
		return err
	}
	before, now := c.op.Snapshot(), time.Now().UTC()
	c.op.EndSteps(c.end.Outcome, now)
	if err := queueEnded(b, before, c.op.Steps, c.end.Outcome, ending.Failure, now); err != nil {
		return err
	}
	if c.op.Kind == node.KindUndo && c.end.Outcome == node.Failed {
		b.Queue(repeatSQL, args{"id": c.op.ID})
	}
	c.queueForgetArguments(b)
	if len(ending.Owed) == 0 {
		c.queueMendLeft(b, node.UndoneBy(c.op.ID), c.op.ID)
	}
	if ending.FollowUp == "" {
		return nil
	}
	return c.queueFollowUp(b, ending.FollowUp)
}

// queueEnded ends the operation before. Its steps are as given.
func queueEnded(b *pgx.Batch, before node.Operation, steps []node.Step, outcome node.Outcome, why node.Failure, now time.Time) error {
	var d dicts
	after := before
	after.Steps, after.Phase, after.Outcome, after.Error, after.Cause, after.EndedAt = steps, node.Ended, outcome, why.Error, why.Cause, &now
	after.Paused, after.TemporalPause = false, nil
	a := args{"id": before.ID, "outcome": outcome, "error": failure(why.Error), "cause": why.Cause, "steps": d.steps(steps)}
	if err := cmp.Or(d.err, addOperationTold(a, after.Tell(&before))); err != nil {
		return err
	}
	b.Queue(endSQL, a)
	return nil
}

func (c *closingTx) queueFollowUp(b *pgx.Batch, kind node.OperationKind) error {
	open, err := plan.FollowUp(&c.Node, &c.op, kind, c.op.AskedBy, c.end.Defaults)
	if err != nil {
		return err
	}
	a, err := operationArgs(c.next, &c.Node, open)
	if err != nil {
		return err
	}
	c.out = &node.Operation{}
	b.Queue(insertOperationSQL, a).QueryRow(func(r pgx.Row) (err error) {
		*c.out, err = scanOperation(r)
		return err
	})
	b.Queue(linkFollowUpSQL, args{"id": c.op.ID, "follow_up": c.next})
	queueHistory(b, c.ID, acceptedEvent(c.next, open))
	return nil
}

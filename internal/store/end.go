package store

import (
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// endNowSQL takes the claim, so that nobody who comes back from the dead can
// write. Where somebody has claimed the operation since it was read, it is not
// as abandoned as it seemed, and there is no row.
const endNowSQL = `
UPDATE operations o SET claim_seq = o.claim_seq + 1, claim_attempt = 0, undo = @undo,
	asked = @ask, asked_by = @by, asked_reason = @reason, asked_at = clock_timestamp()
 WHERE o.id = @id AND o.ended_at IS NULL AND o.claim_seq = @seq AND o.claim_attempt = @attempt
RETURNING o.id`

// queueEnd ends the open operation in this transaction, as its workflow would
// if somebody could undo what is half done: that is owed.
func (r *request) queueEnd(b *pgx.Batch) error {
	o := *r.held
	undo := node.UndoAtEnd(&o, node.Cancelled)
	var d dicts
	a := args{
		"id": o.ID, "seq": o.Claim.Seq, "attempt": o.Claim.Attempt, "undo": d.undo(undo), "ask": r.Steer.Ask,
		"by": words(r.Steer.By, 255), "reason": words(r.Steer.Reason, maxError),
	}
	if d.err != nil {
		return d.err
	}
	b.Queue(endNowSQL, a).QueryRow(func(row pgx.Row) error {
		var taken bool
		err := maybe(&taken, func(row pgx.Row) error { return row.Scan(nil) })(row)
		if err == nil && !taken {
			err = fault.New(fault.Unavailable, "operation %d has found somebody to work on it", o.ID)
		}
		return err
	})
	o.Undo, o.Asked, o.AskedBy, o.AskedReason = undo, r.Steer.Ask, r.Steer.By, r.Steer.Reason
	c := closing{
		fenced: fenced{lockedNode: r.lockedNode, op: o, ok: true}, store: r.store, next: r.next, plan: r.FollowUp,
		end: node.End{Operation: o.ID, Outcome: node.Cancelled, By: r.Steer.By, Error: words(node.EndNow(&o, undo), maxError)},
	}
	c.Operation = &c.op
	if r.origin != r.ProvisionState {
		c.ProvisionUpdatedAt = &r.now
	}
	queueHistory(b, r.ID, r.described(steeringEvent(o.ID, *r.Steer)))
	if err := c.decide(b); err != nil {
		return err
	}
	r.out = &node.Operation{}
	b.Queue(operationSQL, args{"id": o.ID}).QueryRow(func(row pgx.Row) (err error) {
		*r.out, err = scanOperation(row)
		return err
	})
	return nil
}

// movedAwaySQL sends the steps of the node's open operation where the node is now.
const movedAwaySQL = `
UPDATE operations o SET conductor_group = @group, driver = @driver,
	waiting_for = CASE WHEN o.stalled = 'conductor' THEN @words ELSE o.waiting_for END
 WHERE o.node_id = @node AND o.ended_at IS NULL AND (o.conductor_group, o.driver) <> (@group, @driver)`

func (l *lockedNode) queueRequeue(b *pgx.Batch) {
	if l.Operation == nil {
		return
	}
	b.Queue(movedAwaySQL, args{
		"node": l.ID, "group": l.ConductorGroup, "driver": l.Driver, "words": node.WaitsForConductor(l.ConductorGroup, l.Driver),
	})
}

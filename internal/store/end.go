package store

import (
	"cmp"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// queueEnd ends the open operation in this transaction, as its workflow would end it. What is half
// done can't be undone here, so the node owes it. A conductor that was taken for dead and comes back
// can't write any more.
func (r *request) queueEnd(b *pgx.Batch) error {
	o := *r.held
	b.Queue(fenceSQL, args{"id": o.ID, "seq": o.Claim.Seq, "attempt": o.Claim.Attempt}).QueryRow(func(row pgx.Row) error {
		var taken bool
		err := maybe(&taken, func(row pgx.Row) error { return row.Scan(nil) })(row)
		if err == nil && !taken {
			err = fault.New(fault.Unavailable, "operation %d has found somebody to work on it", o.ID)
		}
		return err
	})
	if err := queueAsk(b, o, *r.Steer, &node.Operation{}); err != nil {
		return err
	}
	o.Ask(r.Steer.Ask, r.Steer.By, r.Steer.Reason)
	o.OnFailure = cmp.Or(r.Steer.OnFailure, o.OnFailure)
	c := closingTx{fenced: fenced{lockedNode: r.lockedNode, op: o, ok: true}, next: r.next}
	c.end = o.EndAbandoned(r.Steer.By, node.Failure{Error: failure(admission.EndNowText(&o))}, r.Defaults)
	c.Operation = &c.op
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

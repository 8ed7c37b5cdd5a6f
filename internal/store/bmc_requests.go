package store

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// startRequestSQL locks the operation's row, so that a claim that waits for the lock sees the request.
const startRequestSQL = `
WITH op AS (
	SELECT o.node_id, o.conductor, ` + pending + ` FROM operations o
	 WHERE o.id = @id AND claim_held(o, @seq, @attempt) AND o.ended_at IS NULL FOR NO KEY UPDATE),
request AS (
	INSERT INTO bmc_requests AS r (node_id, name, conductor, repeated, until, answer_within, sent)
	SELECT op.node_id, @request, op.conductor, @repeated, clock_timestamp() + @left::bigint * interval '1 microsecond', @answer_within, 1 FROM op
	ON CONFLICT (node_id) DO UPDATE SET name = excluded.name, conductor = excluded.conductor, repeated = excluded.repeated,
		until = excluded.until, answer_within = excluded.answer_within, sent = r.sent + 1)
SELECT o.asked, o.paused, o.temporal_pause FROM op o`

// StartRequest is called just before a request to a node's BMC that changes something. It records the request, which can
// take effect for r.Left, by the database's clock. It returns fault.Lost if the claim is not the newest one, else what is
// asked of the operation now. Each claim that is taken after it learns of the request (Operation.InFlight).
func (s *Store) StartRequest(ctx context.Context, id int64, c node.Claim, r node.BMCRequest) (ask node.Ask, err error) {
	a := args{"id": id, "seq": c.Seq, "attempt": c.Attempt, "request": r.Name, "repeated": r.Repeated, "left": micros(r.Left), "answer_within": micros(r.AnswerWithin)}
	found, err := s.one(ctx, "record a request to a BMC", startRequestSQL, a, scanPending(&ask))
	if err == nil && !found {
		err = lost(id, c)
	}
	return ask, err
}

// addRequest adds the parameters of saveRequestSQL.
func addRequest(a args, p node.Progress) {
	r := node.BMCRequest{}
	if p.InFlight != nil {
		r = *p.InFlight
	}
	a["request_changed"], a["request"], a["request_repeated"] = p.InFlight != nil, r.Name, r.Repeated
	a["request_left"], a["answer_within"] = micros(r.Left), micros(p.AnswerWithin)
}

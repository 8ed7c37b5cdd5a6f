package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// SaveSteps writes what a step did, and tells what is asked now. fault.Lost when
// the claim is not the newest, fault.NotAllowed when p.Move does not fit the state
// that the node is in; nothing is written then.
//
// Most saves move no node. They are one statement.
func (s *Store) SaveSteps(ctx context.Context, id int64, c node.Claim, p node.Progress) (ask node.Ask, err error) {
	sql, a, err := saveStatement(id, c, p)
	if err != nil {
		return "", err
	}
	scan := func(r pgx.Row) error { return r.Scan(&ask) }
	if p.Move != "" {
		err = s.inClaim(ctx, "save steps", id, c, func(f *fenced, b *pgx.Batch) error {
			t, err := node.Move(&f.Node, p.Move)
			if err != nil {
				return err
			}
			f.apply(t)
			if err := f.queueState(b); err != nil {
				return err
			}
			b.Queue(sql, a).QueryRow(scan)
			return nil
		})
		return ask, err
	}
	found, err := s.one(ctx, "save steps", sql, a, scan)
	if err == nil && !found {
		err = lost(id, c)
	}
	return ask, err
}

func touchesNode(p node.Progress) bool {
	return p.Power != "" || p.BootMode != "" || p.LastError != "" || len(p.Internal) > 0 || p.ClearAgent || len(p.OwedDone) > 0 || p.Refused || p.ClearAsk
}

// saveStatement returns the statement that writes p, and its arguments. p.Move is
// not written by it.
func saveStatement(id int64, c node.Claim, p node.Progress) (sql string, a args, err error) {
	var d dicts
	sql, a = saveStepsSQL, args{
		"id": id, "seq": c.Seq, "attempt": c.Attempt, "undo": d.undo(p.Undo), "phase": p.Phase,
		"waiting_for": words(p.WaitingFor, maxError), "waiting_until": p.WaitingUntil, "usual_until": p.UsualUntil, "clear_ask": p.ClearAsk, "steps": nil, "rests": p.Rests, "came": p.Came,
		"step_wait": d.stepWait(p.StepWait), "news": nil,
	}
	addRequest(a, p)
	if err := addTold(a, p.Told); err != nil {
		return "", nil, err
	}
	if len(p.News) > 0 {
		a["news"] = d.of(newsOf(p.News))
	}
	if p.Steps != nil {
		a["steps"] = d.steps(p.Steps)
	}
	if touchesNode(p) {
		sql = saveNodeSQL
		a["clear_agent"], a["settled"], a["refused"] = p.ClearAgent, settledArg(p.OwedDone), p.Refused
		a["power_age"] = micros(max(p.PowerAge, 0))
		a["power"], a["boot_mode"], a["internal"], a["last_error"] = p.Power, p.BootMode, d.dict(p.Internal), failure(p.LastError)
	}
	return sql, a, d.err
}

// settledArg is never null, which would make everything it is taken from null.
func settledArg(done []node.Undo) []string {
	out := make([]string, len(done))
	for i, u := range done {
		out[i] = string(u)
	}
	return out
}

// fenced is an operation whose row is locked after its node's, under a claim. The node is read by eachNodeAlone.
type fenced struct {
	lockedNode
	op node.Operation
	ok bool
}

const (
	lockOperationSQL   = `SELECT o.* FROM operations o WHERE o.id = @id FOR NO KEY UPDATE`
	nodeByOperationSQL = `
SELECT n.*, o.*, a.* FROM operations x JOIN nodes n ON n.id = x.node_id
  LEFT JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
  LEFT JOIN agents a ON a.node_id = n.id
 WHERE x.id = @id`
)

func (f *fenced) queueLock(b *pgx.Batch, id int64) {
	a := args{"id": id}
	b.Queue(lockByOperationSQL, a).QueryRow(maybe(new(bool), f.scanLock))
	b.Queue(lockOperationSQL, a).QueryRow(maybe(&f.ok, func(r pgx.Row) (err error) {
		f.op, err = scanOperation(r)
		return err
	}))
	b.Queue(nodeByOperationSQL, a).QueryRow(maybe(new(bool), f.readAlone))
}

// holds reports whether the claim is the newest of an open operation.
func (f *fenced) holds(c node.Claim) bool {
	return f.ok && f.found() && f.op.EndedAt == nil && f.op.Claim == c
}

// inClaim runs decide under the locks of node and operation, if the claim holds.
func (s *Store) inClaim(ctx context.Context, what string, id int64, c node.Claim, decide func(*fenced, *pgx.Batch) error) error {
	return s.inClaimAfter(ctx, what, id, c, func(*pgx.Batch) {}, decide)
}

// inClaimAfter is inClaim with more to read under the locks.
func (s *Store) inClaimAfter(ctx context.Context, what string, id int64, c node.Claim, queueReads func(*pgx.Batch), decide func(*fenced, *pgx.Batch) error) error {
	var f fenced
	return s.inTx(ctx, what, func(b *pgx.Batch) {
		f.queueLock(b, id)
		queueReads(b)
	}, func(b *pgx.Batch) error {
		if !f.holds(c) {
			return lost(id, c)
		}
		return decide(&f, b)
	})
}

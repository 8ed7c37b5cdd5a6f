package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// SaveSteps writes what a step did, and tells what is asked now. fault.Lost when
// the claim is not the newest, fault.NotAllowed when p.Move does not fit the state
// that the node is in; nothing is written then. p.Known, if it is not nil, is the operation as its conductor knows its row, and
// becomes what the row is now.
//
// Most saves move no node, and nobody else changes the operation meanwhile. They are one statement. If somebody has, what follows from p is
// decided anew under the locks of node and operation.
func (s *Store) SaveSteps(ctx context.Context, id int64, c node.Claim, p node.Progress) (node.Ask, error) {
	after, saved, err := s.saveKnown(ctx, c, p)
	if err == nil && !saved {
		after, err = s.saveLocked(ctx, id, c, p)
	}
	if err != nil {
		return "", err
	}
	if p.Known != nil {
		*p.Known = after.KeepClaimed(p.Known)
	}
	return after.PendingAsk(), nil
}

// saveKnown saves if p.Known is what the operation is.
func (s *Store) saveKnown(ctx context.Context, c node.Claim, p node.Progress) (after node.Operation, saved bool, err error) {
	if p.Known == nil || p.Move != "" {
		return after, false, nil
	}
	sql, a, after, err := saveStatement(p.Known, c, p)
	if err == nil {
		saved, err = s.one(ctx, "save steps", sql, a, func(r pgx.Row) error { return r.Scan(nil) })
	}
	return after, saved, err
}

func (s *Store) saveLocked(ctx context.Context, id int64, c node.Claim, p node.Progress) (after node.Operation, err error) {
	err = s.inClaim(ctx, "save steps", id, c, func(f *fenced, b *pgx.Batch) error {
		if p.Move != "" {
			t, err := node.Move(&f.Node, p.Move)
			if err != nil {
				return err
			}
			f.apply(t)
			if err := f.queueState(b); err != nil {
				return err
			}
		}
		var sql string
		var a args
		if sql, a, after, err = saveStatement(&f.op, c, p); err == nil {
			b.Queue(sql, a).QueryRow(func(r pgx.Row) error { return r.Scan(nil) })
		}
		return err
	})
	return after, err
}

func touchesNode(p node.Progress) bool {
	return p.Power != "" || p.BootMode != "" || p.LastError != "" || len(p.Internal) > 0 || p.ClearAgent || len(p.OwedDone) > 0 || p.Refused || p.ClearAsk
}

// saveStatement returns the statement that writes what p changes in the operation known, its arguments, and what the operation is then. p.Move is
// not written by it.
func saveStatement(known *node.Operation, c node.Claim, p node.Progress) (sql string, a args, after node.Operation, err error) {
	after = known.Snapshot()
	if err := after.Record(p); err != nil {
		return "", nil, after, err
	}
	var d dicts
	sql, a = saveStepsSQL, args{
		"id": known.ID, "seq": c.Seq, "attempt": c.Attempt, "version": known.Version, "phase": after.Phase,
		"steps": d.steps(after.Steps), "undo": d.undo(after.Undo), "handed_over": after.Rests, "came": p.Came, "asked": after.Asked,
		"waiting_for": words(after.WaitingFor, maxError), "waiting_until": after.WaitingUntil, "usual_until": after.UsualUntil, "step_wait": d.stepWait(after.StepWait),
	}
	addRequest(a, p)
	addDecided(a, &after)
	if err := addOperationTold(a, after.TellSave(*known, p.News)); err != nil {
		return "", nil, after, err
	}
	if touchesNode(p) {
		sql = saveNodeSQL
		a["clear_agent"], a["settled"], a["refused"], a["clear_ask"] = p.ClearAgent, settledArg(p.OwedDone), p.Refused, p.ClearAsk
		a["power_age"] = micros(max(p.PowerAge, 0))
		a["power"], a["boot_mode"], a["internal"], a["last_error"] = p.Power, p.BootMode, d.dict(p.Internal), failure(p.LastError)
	}
	after.Version++
	return sql, a, after.Snapshot(), d.err
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

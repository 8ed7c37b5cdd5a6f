package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/guards"
	"go.temper.dev/temper/internal/node"
)

var beginSQL = `
UPDATE operations o SET run_id = @run, begun_at = coalesce(o.begun_at, clock_timestamp()),
	phase = CASE o.phase WHEN 'accepted' THEN 'running' ELSE o.phase END
 WHERE o.id = @id AND o.ended_at IS NULL AND ` + unlessDown(guards.BegunAt, "(o.run_id IS NULL OR o.run_id = @run)") + `
RETURNING ` + operationColumns

// claimHeld is the condition under which a step may write, and may go on.
var claimHeld = unlessDown(guards.ClaimCheck, "(o.claim_seq = @seq AND o.claim_attempt = @attempt)")

// unlessDown is a guard's condition; one that is down lets everything pass.
func unlessDown(up bool, condition string) string {
	if up {
		return condition
	}
	return "(" + condition + " OR true)" // the arguments have to stay in use
}

// Begin makes the run the operation's, once and for all: fault.Lost when another
// run has it or it has ended. The same run may begin again.
func (s *Store) Begin(ctx context.Context, id int64, runID string) (*node.Operation, error) {
	var o node.Operation
	found, err := s.one(ctx, "begin an operation", beginSQL, args{"id": id, "run": runID}, func(r pgx.Row) (err error) {
		o, err = scanOperation(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.New(fault.Lost, "operation %d has ended or is another run's", id)
	}
	return &o, nil
}

// The node's columns come from the snapshot before the update, the operation's
// from the updated row: o is the name of both.
var claimSQL = `
WITH o AS (
	UPDATE operations SET claim_seq = @seq, claim_attempt = @attempt, conductor = @conductor, orphaned = false
	 WHERE id = @id AND run_id = @run AND ended_at IS NULL AND ` + unlessDown(guards.ClaimCheck, "(claim_seq, claim_attempt) < (@seq, @attempt)") + `
	RETURNING ` + operationFields + `)
SELECT ` + nodeColumns + ` FROM o JOIN nodes n ON n.id = o.node_id LEFT JOIN agents a ON a.node_id = n.id`

// Claim takes the operation for one attempt at its steps and gives its node.
// fault.Lost when a newer claim is there, the run is another one, or it has
// ended: nothing may be touched then.
func (s *Store) Claim(ctx context.Context, id int64, runID string, c node.Claim, conductor string) (*node.Node, error) {
	var n node.Node
	a := args{"id": id, "run": runID, "seq": c.Seq, "attempt": c.Attempt, "conductor": conductor}
	found, err := s.one(ctx, "claim an operation", claimSQL, a, func(r pgx.Row) (err error) {
		n, err = scanNode(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, lost(id, c)
	}
	return &n, nil
}

func lost(id int64, c node.Claim) error {
	return fault.New(fault.Lost, "operation %d is not held by claim %d.%d any more", id, c.Seq, c.Attempt)
}

var checkClaimSQL = `
SELECT ` + askedNowSQL + ` FROM operations o
 WHERE o.id = @id AND ` + claimHeld + ` AND o.ended_at IS NULL`

// CheckClaim is the last look before a request to hardware: fault.Lost when the
// claim is not the newest, else what is asked of the operation now.
func (s *Store) CheckClaim(ctx context.Context, id int64, c node.Claim) (ask node.Ask, err error) {
	found, err := s.one(ctx, "check a claim", checkClaimSQL, args{"id": id, "seq": c.Seq, "attempt": c.Attempt}, func(r pgx.Row) error {
		return r.Scan(&ask)
	})
	if err == nil && !found {
		err = lost(id, c)
	}
	return ask, err
}

var putDownSQL = `
UPDATE operations o SET rests = true WHERE o.id = @id AND ` + claimHeld + ` AND o.ended_at IS NULL`

// PutDown notes that whoever holds the claim leaves its step in good order;
// fault.Lost when the claim is not the newest.
func (s *Store) PutDown(ctx context.Context, id int64, c node.Claim) error {
	rows, err := s.exec(ctx, "put a step down", putDownSQL, args{"id": id, "seq": c.Seq, "attempt": c.Attempt})
	if err == nil && rows == 0 {
		err = lost(id, c)
	}
	return err
}

const setUndoSQL = `UPDATE operations SET undo = @undo WHERE id = @id AND run_id = @run AND ended_at IS NULL`

// SetUndo writes what has to be put right when the operation ends, for the
// workflow that knows it; fault.Lost when the run is another one or it has ended.
func (s *Store) SetUndo(ctx context.Context, id int64, runID string, undo []node.Undo) error {
	var d dicts
	rows, err := s.exec(ctx, "set an operation's undos", setUndoSQL, args{"id": id, "run": runID, "undo": d.undo(undo)})
	if err == nil && rows == 0 {
		err = fault.New(fault.Lost, "operation %d has ended or is another run's", id)
	}
	return err
}

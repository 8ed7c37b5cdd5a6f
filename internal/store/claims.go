package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Begin records the run of the workflow that works on the operation. The same run may call it again.
// Begin returns fault.Lost if the operation belongs to another workflow or run, or has ended.
func (s *Store) Begin(ctx context.Context, id int64, workflowID, runID string) (*node.Operation, error) {
	var o node.Operation
	a := args{"id": id, "suffix": node.WorkflowSuffix(workflowID), "run": runID}
	found, err := s.one(ctx, "begin an operation", beginSQL, a, func(r pgx.Row) (err error) {
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

// RenameWorkflow gives the workflow of o, which has not begun, another id, because a workflow that is not its own has that of
// o. It returns fault.Lost if o has begun, has ended or has another id meanwhile.
func (s *Store) RenameWorkflow(ctx context.Context, o *node.Operation) (*node.Operation, error) {
	var renamed node.Operation
	a := args{"id": o.ID, "suffix": node.WorkflowSuffix(o.WorkflowID)}
	found, err := s.one(ctx, "give a workflow another id", renameWorkflowSQL, a, func(r pgx.Row) (err error) {
		renamed, err = scanOperation(r)
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.Lost, "operation %d has begun, has ended or has another id meanwhile", o.ID)
	}
	return &renamed, err
}

// afterReset is more attempts than an activity ever has under way at once: one that
// was begun before the activity was reset, and claims late, has a lower number.
const afterReset = 1000

// Claim takes the operation for one attempt at its steps, which Temporal began at
// started (zero = it does not say), and gives its node, whose operation has the
// claim that was taken. fault.Lost when a newer claim is there, the run is another
// one, or it has ended: nothing may be touched then.
//
// Somebody who resets the activity in Temporal has its attempts counted from one
// again. The one that began later is the newer one then, and its claim gets a number
// that no attempt of before the reset has.
func (s *Store) Claim(ctx context.Context, id int64, runID string, c node.Claim, started time.Time, conductor string) (*node.Node, error) {
	var n node.Node
	a := args{"id": id, "run": runID, "seq": c.Seq, "attempt": c.Attempt, "started": nil, "conductor": conductor, "afterReset": afterReset, "enough": node.EnoughSamples, "timeout": micros(s.conductorTimeout)}
	if !started.IsZero() {
		a["started"] = started
	}
	found, err := s.one(ctx, "claim an operation", claimSQL, a, func(r pgx.Row) (err error) {
		var died bool
		var f node.FormerConductor
		var claimed, seen *time.Time
		var usual map[string]node.Usual
		var flight node.BMCRequest
		var left, within, sent int64
		n, err = scanNode(r, &died, &f.Conductor, &f.Incarnation, &claimed, &seen, &f.Replaced, &f.Undoing, &usual, &flight.Name, &flight.Conductor, &flight.Repeated, &left, &within, &sent)
		if err == nil {
			n.Operation.UsualTimes, n.Operation.RequestsSent = usual, sent
			n.Operation.AnswerWithin = time.Duration(within) * time.Microsecond
			if flight.Left = time.Duration(left) * time.Microsecond; left > 0 {
				n.Operation.InFlight = &flight
			}
		}
		if err == nil && died && claimed != nil && seen != nil {
			f.ClaimedAt, f.SeenAt = *claimed, *seen
			n.Operation.Former = &f
		}
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

const checkClaimSQL = `
SELECT asked_now(o) FROM operations o
 WHERE o.id = @id AND claim_held(o, @seq, @attempt) AND o.ended_at IS NULL`

// CheckClaim is called just before a request to the hardware. It returns fault.Lost if the claim is
// not the newest one, else what is asked of the operation now.
func (s *Store) CheckClaim(ctx context.Context, id int64, c node.Claim) (ask node.Ask, err error) {
	found, err := s.one(ctx, "check a claim", checkClaimSQL, args{"id": id, "seq": c.Seq, "attempt": c.Attempt}, func(r pgx.Row) error {
		return r.Scan(&ask)
	})
	if err == nil && !found {
		err = lost(id, c)
	}
	return ask, err
}

// TellWait writes what the running step of an operation waits for, and returns what is asked of the operation now, as
// CheckClaim does. It returns fault.Lost if the claim is not the newest.
func (s *Store) TellWait(ctx context.Context, id int64, c node.Claim, w *node.Wait) (ask node.Ask, err error) {
	var d dicts
	a := args{"id": id, "seq": c.Seq, "attempt": c.Attempt, "step_wait": d.stepWait(w)}
	if d.err != nil {
		return "", d.err
	}
	found, err := s.one(ctx, "tell what a step waits for", tellWaitSQL, a, func(r pgx.Row) error { return r.Scan(&ask) })
	if err == nil && !found {
		err = lost(id, c)
	}
	return ask, err
}

// HandOver records that the holder of the claim has stopped in good order before its step was over,
// so that another attempt can take it up at once. p is the pause in Temporal for which it stopped,
// nil if there is none. What known says of the last request to the BMC (InFlight, AnswerWithin) is recorded, and nothing else
// of it. HandOver returns fault.Lost if the claim is not the newest.
func (s *Store) HandOver(ctx context.Context, id int64, c node.Claim, p *node.Pause, known node.Progress) error {
	a := args{"id": id, "seq": c.Seq, "attempt": c.Attempt, "pause": nil}
	addRequest(a, known)
	if p != nil {
		var d dicts
		if a["pause"] = d.of(p); d.err != nil {
			return d.err
		}
	}
	rows, err := s.exec(ctx, "hand a step over", handOverStepSQL, a)
	if err == nil && rows == 0 {
		err = lost(id, c)
	}
	return err
}

// SetUndo records, for the workflow, what has to be undone when the operation ends, and why it ends
// if it has failed. What a step waited for is forgotten, because the undo waits for other things. It returns fault.Lost if the operation belongs to another run or has ended.
func (s *Store) SetUndo(ctx context.Context, id int64, runID string, undo []node.Undo, why node.Failure) error {
	var d dicts
	why = node.Failure{Error: failure(why.Error), Cause: why.Cause}.Complete() // an error of characters that the database can't store is none
	rows, err := s.exec(ctx, "set an operation's undos", setUndoSQL, args{"id": id, "run": runID, "undo": d.undo(undo), "error": why.Error, "cause": why.Cause})
	if err == nil && rows == 0 {
		err = fault.New(fault.Lost, "operation %d has ended or is another run's", id)
	}
	return err
}

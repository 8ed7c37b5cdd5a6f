package store

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Begin records the run of the workflow that works on the operation, and returns who could work on it (Operation.Cover). The same run may
// call it again.
// Begin returns fault.Lost if the operation belongs to another workflow or run, or has ended.
func (s *Store) Begin(ctx context.Context, id int64, workflowID, runID string) (*node.Operation, error) {
	var o node.Operation
	a := args{"id": id, "suffix": node.WorkflowSuffix(workflowID), "run": runID, "timeout": micros(s.conductorTimeout)}
	found, err := s.one(ctx, "begin an operation", beginSQL, a, func(r pgx.Row) (err error) {
		var covered bool
		var now time.Time
		o, err = scanOperation(r, &covered, &now)
		o.Cover = node.Coverage{Covered: covered, PutOff: o.PutOff(now)}
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

// Claim takes the operation for one attempt at its steps, which Temporal began at
// started (zero = it does not say), and gives its node, whose operation has the
// claim that was taken (node.Operation.Take). fault.Lost when a newer claim is there, the run is another
// one, or it has ended: nothing may be touched then.
func (s *Store) Claim(ctx context.Context, id int64, runID string, c node.Claim, started time.Time, conductor string) (*node.Node, error) {
	var n node.Node
	var o node.Operation
	found, t := false, node.Taking{Claim: c, Started: started, Conductor: conductor}
	err := s.inTx(ctx, "claim an operation", func(b *pgx.Batch) {
		a := args{"id": id, "run": runID, "conductor": conductor, "timeout": micros(s.conductorTimeout), "another_run": node.TimelineRun}
		b.Queue(lockRunSQL, args{"id": id, "run": runID})
		b.Queue(takingSQL, a).QueryRow(maybe(&found, func(r pgx.Row) (err error) {
			o, err = scanTaking(r, &t)
			return err
		}))
	}, func(b *pgx.Batch) error {
		var told []node.Told
		if found {
			told, found = o.Take(t)
		}
		if !found {
			return lost(id, c)
		}
		return queueClaim(b, &o, t, told, &n)
	})
	if err != nil {
		return nil, err
	}
	n.Operation.Former = o.Former
	return &n, nil
}

// scanTaking scans a row of takingSQL.
func scanTaking(r pgx.Row, t *node.Taking) (node.Operation, error) {
	l := &t.Last
	return scanOperation(r, &t.Now, &t.Incarnation, &l.Started, &l.Incarnation, &l.Empty, &l.LostAt, &l.Newest, &l.HeartbeatAt, &l.StoppedAt,
		&t.Outage, &t.DatabaseAway, &t.LeftByRun)
}

// queueClaim writes the claim that was taken of o, and reads its node into n.
func queueClaim(b *pgx.Batch, o *node.Operation, t node.Taking, told []node.Told, n *node.Node) error {
	var d dicts
	a := args{
		"id": o.ID, "seq": o.Claim.Seq, "attempt": o.Claim.Attempt, "started": nil, "claimed_at": o.ClaimedAt, "conductor": o.Conductor,
		"incarnation": t.Incarnation, "orphaned": o.Orphaned, "temporal_pause": d.pause(o.TemporalPause), "usual_until": o.UsualUntil, "enough": node.EnoughSamples,
	}
	if !t.Started.IsZero() {
		a["started"] = t.Started
	}
	addDecided(a, o)
	if err := cmp.Or(d.err, addOperationTold(a, told)); err != nil {
		return err
	}
	b.Queue(claimSQL, a).QueryRow(func(r pgx.Row) (err error) {
		var usual map[string]node.Usual
		var flight node.BMCRequest
		var left, within, sent int64
		if *n, err = scanNode(r, &usual, &flight.Name, &flight.Conductor, &flight.Repeated, &left, &within, &sent); err != nil {
			return err
		}
		n.Operation.UsualTimes, n.Operation.RequestsSent = usual, sent
		n.Operation.AnswerWithin = time.Duration(within) * time.Microsecond
		if flight.Left = time.Duration(left) * time.Microsecond; left > 0 {
			n.Operation.InFlight = &flight
		}
		return nil
	})
	return nil
}

func lost(id int64, c node.Claim) error {
	return fault.New(fault.Lost, "operation %d is not held by claim %d.%d any more", id, c.Seq, c.Attempt)
}

const checkClaimSQL = `
SELECT ` + pending + ` FROM operations o
 WHERE o.id = @id AND claim_held(o, @seq, @attempt) AND o.ended_at IS NULL`

// CheckClaim is called just before a request to the hardware. It returns fault.Lost if the claim is
// not the newest one, else what is asked of the operation now.
func (s *Store) CheckClaim(ctx context.Context, id int64, c node.Claim) (ask node.Ask, err error) {
	found, err := s.one(ctx, "check a claim", checkClaimSQL, args{"id": id, "seq": c.Seq, "attempt": c.Attempt}, scanPending(&ask))
	if err == nil && !found {
		err = lost(id, c)
	}
	return ask, err
}

// pending has the columns of operations o that node.Operation.PendingAsk decides by.
const pending = `o.asked, o.paused, o.temporal_pause`

// scanPending returns a scan of pending that sets ask to what is asked of the operation.
func scanPending(ask *node.Ask) func(pgx.Row) error {
	return func(r pgx.Row) error {
		var o node.Operation
		err := r.Scan(&o.Asked, &o.Paused, &o.TemporalPause)
		*ask = o.PendingAsk()
		return err
	}
}

// TellWait writes what the running step of an operation waits for, and returns what is asked of the operation now, as
// CheckClaim does. known is the operation as its conductor knows its row, and becomes what the row is now. TellWait returns
// fault.Lost if the claim is not the newest.
func (s *Store) TellWait(ctx context.Context, known *node.Operation, c node.Claim, w *node.Wait) (node.Ask, error) {
	after := known.Snapshot()
	after.StepWait = w
	a, err := waitArgs(&after, c)
	if err != nil {
		return "", err
	}
	told, err := s.one(ctx, "tell what a step waits for", tellWaitSQL, a, func(r pgx.Row) error { return r.Scan(nil) })
	if err == nil && !told { // somebody has changed the operation meanwhile, or taken it
		after, err = s.tellWaitLocked(ctx, known.ID, c, w)
	}
	if err != nil {
		return "", err
	}
	*known = after.KeepClaimed(known)
	return after.PendingAsk(), nil
}

func (s *Store) tellWaitLocked(ctx context.Context, id int64, c node.Claim, w *node.Wait) (o node.Operation, err error) {
	found := false
	err = s.inTx(ctx, "tell what a step waits for", func(b *pgx.Batch) {
		b.Queue(lockOperationSQL, args{"id": id}).QueryRow(maybe(&found, func(r pgx.Row) (err error) {
			o, err = scanOperation(r)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if !found || o.EndedAt != nil || o.Claim != c {
			return lost(id, c)
		}
		o.StepWait = w
		a, err := waitArgs(&o, c)
		if err != nil {
			return err
		}
		b.Queue(tellWaitSQL, a).QueryRow(func(r pgx.Row) error { return r.Scan(nil) })
		return nil
	})
	return o, err
}

// waitArgs returns the arguments of tellWaitSQL.
func waitArgs(o *node.Operation, c node.Claim) (args, error) {
	var d dicts
	a := args{"id": o.ID, "seq": c.Seq, "attempt": c.Attempt, "version": o.Version, "step_wait": d.stepWait(o.StepWait)}
	addDecided(a, o)
	return a, d.err
}

// HandOver records that the holder of the claim has stopped in good order before its step was over,
// so that another attempt can take it up at once. p is the pause in Temporal for which it stopped,
// nil if there is none. What known says of the last request to the BMC (InFlight, AnswerWithin) is recorded, and nothing else
// of it. HandOver returns fault.Lost if the claim is not the newest.
func (s *Store) HandOver(ctx context.Context, id int64, c node.Claim, p *node.Pause, known node.Progress) error {
	var o node.Operation
	found := false
	return s.inTx(ctx, "hand a step over", func(b *pgx.Batch) {
		b.Queue(lockOperationSQL, args{"id": id}).QueryRow(maybe(&found, func(r pgx.Row) (err error) {
			o, err = scanOperation(r)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if !found || o.EndedAt != nil || o.Claim != c {
			return lost(id, c)
		}
		before := o.Snapshot()
		o.HandOver(p)
		var d dicts
		a := args{"id": id, "temporal_pause": d.pause(o.TemporalPause)}
		addDecided(a, &o)
		addRequest(a, known)
		if err := cmp.Or(d.err, addOperationTold(a, o.Tell(&before))); err != nil {
			return err
		}
		b.Queue(handOverStepSQL, a)
		return nil
	})
}

// SetUndo records, for the workflow, what has to be undone when the operation ends, and why it ends
// if it has failed. What a step waited for is forgotten, because the undo waits for other things. It returns fault.Lost if the operation belongs to another run or has ended.
func (s *Store) SetUndo(ctx context.Context, id int64, runID string, undo []node.Undo, why node.Failure) error {
	why = node.Failure{Error: failure(why.Error), Cause: why.Cause} // an error of characters that the database can't store is none
	_, err := s.change(ctx, "set an operation's undos", id, runID, func(o *node.Operation, _ time.Time) error {
		o.Undo, o.UsualUntil, o.StepWait = undo, nil, nil
		o.Fail(why)
		return nil
	})
	return err
}

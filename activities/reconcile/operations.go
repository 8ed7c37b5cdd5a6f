package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The bounds of one tick.
const (
	tickLimit  = 1000
	listFrom   = 50              // from so many open operations on, the open workflows are listed
	startAfter = 2 * time.Second // an API that accepted an operation has so long to start it itself
)

// Mass loss: when so many open operations are unknown to Temporal at once, it is
// Temporal that lost something, not the operations. They are left alone until
// each has been unknown for so long to a Temporal that answers, tick after tick.
const (
	massMin      = 10
	massShare    = 5 // more than a fifth
	massPatience = 10 * time.Minute
)

// maxTickGap is how much longer than three intervals there may be no tick until an
// operation that was unknown before counts as unknown from now on only.
const maxTickGap = 15 * time.Second

// operations starts what was accepted and never started, repeats what the rows
// ask for and what agents have said, and closes what has lost its workflow. One
// that fails does not keep the others from their work.
func (r *Reconciler) operations(ctx context.Context, out *TickResult) error {
	never, started := r.start(ctx, out)
	repeated := errors.Join(r.repeatAsks(ctx, out), r.repeatCalls(ctx, out), r.nudgeMisfits(ctx, out))
	return errors.Join(started, repeated, r.recover(ctx, never, out))
}

// start starts what was not begun. It gives back what can't begin any more: its
// workflow was ended before it could, and none is started a second time.
func (r *Reconciler) start(ctx context.Context, out *TickResult) (never []orphan, err error) {
	ops, err := r.Store.NotBegun(ctx, startAfter, tickLimit)
	if err != nil {
		return nil, err
	}
	return never, each(ctx, ops, func(o *node.Operation) error {
		if err := r.Starter.Start(ctx, o); err != nil {
			return err
		}
		st, err := r.Describer.Status(ctx, o.WorkflowID, "")
		switch {
		case err != nil:
			return err
		case st.Known && st.Open && (st.Pause != nil || o.TemporalPause != nil): // started, and paused before it could begin
			return r.recordPause(ctx, o, st.Pause, out)
		case !st.Known || st.Open:
			out.Started++
		case st.Over(time.Now(), r.Safe):
			never = append(never, orphan{op: *o, how: st.How})
		}
		return nil
	})
}

// maxErrorTime bounds the time that a survey spends on failed requests to Temporal.
// Their number has no bound: however many operations can't be read, the others are
// recovered.
const maxErrorTime = 10 * time.Second

func (r *Reconciler) repeatAsks(ctx context.Context, out *TickResult) error {
	ops, err := r.Store.Asked(ctx)
	if err != nil {
		return err
	}
	return each(ctx, ops, func(o *node.Operation) error {
		switch {
		case o.Asked.Interrupts():
			err := r.Controller.Cancel(ctx, o, o.AskedReason)
			if err == nil {
				out.Cancelled++
			}
			return err
		case !o.Listens(): // every signal stays in the history
			return nil
		}
		return r.nudge(ctx, o, out)
	})
}

// repeatCalls tells workflows that still wait for an agent which has called:
// Temporal was away when it did.
func (r *Reconciler) repeatCalls(ctx context.Context, out *TickResult) error {
	ops, err := r.Store.Called(ctx)
	if err != nil {
		return err
	}
	return each(ctx, ops, func(o *node.Operation) error { return r.nudge(ctx, o, out) })
}

// nudgeMisfits tells workflows whose wait is not what it should be: a conductor
// is back, or gone, or maintenance was lifted. Each reads its row and writes
// there what it waits for now; until it has, it is told again.
func (r *Reconciler) nudgeMisfits(ctx context.Context, out *TickResult) error {
	ops, err := r.Store.Misfits(ctx)
	if err != nil {
		return err
	}
	return each(ctx, ops, func(o *node.Operation) error { return r.nudge(ctx, o, out) })
}

// orphan is an open operation whose workflow is closed or unknown.
type orphan struct {
	op  node.Operation
	how string
}

// recover closes what has lost its workflow: it is closed, or unknown to Temporal
// for longer than a moment.
func (r *Reconciler) recover(ctx context.Context, closed []orphan, out *TickResult) error {
	s, err := r.survey(ctx, out)
	if err != nil {
		// Nobody knows what Temporal knew meanwhile.
		return errors.Join(err, r.Store.ForgetMissing(ctx))
	}
	if err := r.Store.ClearMissing(ctx, s.found); err != nil {
		return err
	}
	patience, err := r.patience(ctx, s, out)
	if err != nil {
		return err
	}
	lost, err := r.Store.MarkMissing(ctx, s.missing, 3*r.Interval+maxTickGap)
	if err != nil {
		return err
	}
	closed = append(closed, s.closed...)
	for _, m := range lost {
		if m.For > patience {
			closed = append(closed, orphan{op: m.Operation, how: "lost by Temporal"})
		}
	}
	return errors.Join(s.refusals(), r.close(ctx, closed, out))
}

// survey is what Temporal says of the open operations that have begun.
type survey struct {
	open           int
	found, missing []int64  // known to Temporal, and not
	closed         []orphan // known, and over for so long that nothing of it can act
	refused        []error  // about single operations, which count as found; the first few
	unread         int      // operations that could not be asked about
	wasted         time.Duration
}

// ask calls do, which asks Temporal about one operation, and records its failure.
func (s *survey) ask(do func() error) error {
	began := time.Now()
	err := do()
	if err != nil {
		s.wasted += time.Since(began)
		if s.unread++; len(s.refused) < maxErrors {
			s.refused = append(s.refused, err)
		}
	}
	return err
}

// refusals returns the first errors of a survey, and how many more there were.
func (s *survey) refusals() error {
	if more := s.unread - len(s.refused); more > 0 {
		return errors.Join(errors.Join(s.refused...), fmt.Errorf("and %d other workflows can't be read", more))
	}
	return errors.Join(s.refused...)
}

func (r *Reconciler) survey(ctx context.Context, out *TickResult) (survey, error) {
	var s survey
	var listed map[string]bool
	for after := int64(0); ; {
		ops, err := r.Store.Begun(ctx, tickLimit, after)
		if err != nil {
			return s, err
		}
		if len(ops) > listFrom && listed == nil {
			listed = r.listOpen(ctx)
		}
		for i := range ops {
			after = ops[i].ID
			s.open++
			if listed[ops[i].RunID] && !due(ops[i].ID) && ops[i].TemporalPause == nil {
				s.found = append(s.found, ops[i].ID)
				continue
			}
			if s.ask(func() error { return r.describe(ctx, ops[i], &s, out) }) != nil {
				s.found = append(s.found, ops[i].ID)
			}
			if s.wasted > maxErrorTime {
				return s, s.refusals()
			}
			activity.RecordHeartbeat(ctx)
		}
		if len(ops) < tickLimit {
			return s, nil
		}
	}
}

// describe asks Temporal about one operation.
func (r *Reconciler) describe(ctx context.Context, o node.Operation, s *survey, out *TickResult) error {
	st, err := r.Describer.Status(ctx, o.WorkflowID, o.RunID)
	switch {
	case err != nil:
		return err
	case !st.Known:
		s.missing = append(s.missing, o.ID)
		return nil
	}
	s.found = append(s.found, o.ID)
	if st.Open {
		return r.recordPause(ctx, &o, st.Pause, out)
	}
	if !st.Over(time.Now(), r.Safe) {
		return nil
	}
	reset, err := r.wasReset(ctx, o, out)
	if err == nil && !reset {
		s.closed = append(s.closed, orphan{op: o, how: st.How})
	}
	return err
}

// patience is how long an operation must have been unknown to Temporal. Where
// very many are at once, long, unless somebody has said that they are lost.
func (r *Reconciler) patience(ctx context.Context, s survey, out *TickResult) (time.Duration, error) {
	if len(s.missing) < massMin || len(s.missing)*massShare <= s.open {
		return r.Safe, nil
	}
	said, err := r.Store.SaidLostTemporal(ctx, massPatience)
	if err != nil {
		return 0, err
	}
	patience := r.Safe
	if said == "" {
		patience = max(massPatience, r.Safe)
	}
	out.Alarm = "many open operations are unknown to Temporal at once: they are closed when they have been so for " + patience.String()
	if said == "" {
		out.Alarm += `, or on the word "temper operation recover --lost-temporal --reason WHY"`
	}
	r.Log.Error(out.Alarm, zap.Int("missing", len(s.missing)), zap.Int("open", s.open))
	return patience, nil
}

// listOpen asks for all open runs at once, so that a tick with many open
// operations describes only those that look as if they had lost theirs. Without
// an answer each is described.
func (r *Reconciler) listOpen(ctx context.Context) map[string]bool {
	open, err := r.Describer.Open(ctx)
	if err != nil {
		r.Log.Warn("each open workflow is asked for by itself", zap.Error(err))
		return map[string]bool{}
	}
	return open
}

// due reports whether an operation is described though its run is listed as
// open: each is every few minutes, should the list and the truth ever differ.
func due(id int64) bool {
	const parts = 32
	return id%parts == time.Now().Unix()/10%parts
}

// wasReset reports whether another run of the operation's workflow is open, which
// was reset from the row's in Temporal. It may rest on a timer, and is told to look.
func (r *Reconciler) wasReset(ctx context.Context, o node.Operation, out *TickResult) (bool, error) {
	st, err := r.Describer.Status(ctx, o.WorkflowID, "")
	if err != nil || !st.Open {
		return false, err
	}
	o.RunID = ""
	return true, r.nudge(ctx, &o, out)
}

// close ends orphaned operations in their failed state. What their steps left
// half done is owed.
func (r *Reconciler) close(ctx context.Context, orphans []orphan, out *TickResult) error {
	return each(ctx, orphans, func(o *orphan) error {
		why := fmt.Sprintf("The workflow of operation %d of node %s was %s; reconciliation ended the operation", o.op.ID, o.op.NodeUUID, o.how)
		next, err := r.Operations.CloseOperation(ctx, o.op.EndAbandoned(activities.ByReconciliation, why, r.Defaults))
		switch {
		case fault.Is(err, fault.Lost) || fault.Is(err, fault.Conflict):
			return nil // ended meanwhile
		case err != nil:
			return err
		}
		out.Recovered++
		r.Log.Warn("orphaned operation ended", zap.Int64("operation", o.op.ID), zap.String("node", o.op.NodeUUID), zap.String("workflow", o.how))
		if next != nil {
			return r.Starter.Start(ctx, next)
		}
		return nil
	})
}

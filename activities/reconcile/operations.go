package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The bounds of one tick.
const (
	tickLimit  = 1000
	listFrom   = 50              // with more open operations than this, open workflows are listed instead of described
	startAfter = 2 * time.Second // the API starts the workflow itself within this time
)

// If more than a fifth of the open operations, and at least massMin, are unknown to Temporal
// at once, then Temporal has probably lost data. Each is closed only after Temporal has
// answered for massPatience, at each tick, that it does not know it.
const (
	massMin      = 10
	massShare    = 5 // more than a fifth
	massPatience = 10 * time.Minute
)

// maxTickGap is how much longer than three intervals the time between two ticks may be. After
// a longer gap the time for which an operation has been unknown is counted from zero.
const maxTickGap = 15 * time.Second

// operations starts the workflows of operations that were accepted and never started, signals
// workflows again whose row has news, and closes operations that have lost their workflow. An
// error of one of these does not keep it from the others.
func (r *Reconciler) operations(ctx context.Context, out *TickResult) error {
	listed := sync.OnceValue(func() map[string]bool { return r.listOpen(ctx) })
	never, started := r.start(ctx, listed, out)
	repeated := errors.Join(r.repeatAsks(ctx, out), r.repeatCalls(ctx, out), r.nudgeStaleWaits(ctx, out))
	return errors.Join(started, repeated, r.recover(ctx, never, listed, out))
}

// start starts the workflows of operations that have not begun. It returns the operations that
// never can begin: their workflow was ended before, and no workflow is started twice.
//
// After many requests at once, most of them only wait for their first task. Temporal lists these.
func (r *Reconciler) start(ctx context.Context, listed func() map[string]bool, out *TickResult) (never []orphan, err error) {
	ops, err := r.Store.NotBegun(ctx, startAfter, tickLimit)
	if err != nil {
		return nil, err
	}
	if len(ops) > listFrom {
		open := listed()
		ops = slices.DeleteFunc(ops, func(o node.Operation) bool { return open[o.WorkflowID] && !due(o.ID) && o.TemporalPause == nil })
	}
	return never, each(ctx, ops, func(o *node.Operation) error {
		if err := r.Starter.Start(ctx, o); err != nil {
			return err
		}
		st, err := r.Describer.Status(ctx, o)
		switch {
		case err != nil:
			return err
		case st.Foreign != "":
			return r.startRenamed(ctx, o, st, out)
		case st.Known && st.Open && (st.Pause != nil || o.TemporalPause != nil): // the workflow was paused before it could begin
			return r.recordPause(ctx, o, st.Pause, out)
		case !st.Known || st.Open:
			out.Started++
		case st.Over(time.Now(), r.Safe):
			never = append(never, orphan{op: *o, how: st.How, cause: st.Cause()})
		}
		return nil
	})
}

// startRenamed starts the workflow of an operation under another id, because a workflow that is not its own has its id.
func (r *Reconciler) startRenamed(ctx context.Context, o *node.Operation, st node.RunStatus, out *TickResult) error {
	renamed, err := r.Store.RenameWorkflow(ctx, o)
	switch {
	case fault.Is(err, fault.Lost):
		return nil // it has begun or ended meanwhile, or another reconciliation was first
	case err != nil:
		return err
	}
	r.Log.Warn("an operation got another workflow id, because a workflow that is not its own has the first one",
		zap.Int64("operation", o.ID), zap.String("node", o.NodeUUID), zap.String("foreign", st.Foreign), zap.String("id", renamed.WorkflowID))
	if err := r.Starter.Start(ctx, renamed); err != nil {
		return err
	}
	out.Started++
	return nil
}

// maxErrorTime bounds the time that a survey spends on failed requests to Temporal. Their
// number is not bounded: some workflows that can't be read must not keep the survey from
// the others.
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
		case !o.WorkflowWaits(): // a signal would have no effect, and stays in the history for ever
			return nil
		}
		return r.nudge(ctx, o, out)
	})
}

// repeatCalls signals workflows that still wait for an agent although it has called. The signal
// at the call was lost, because Temporal was unavailable.
func (r *Reconciler) repeatCalls(ctx context.Context, out *TickResult) error {
	ops, err := r.Store.MissedCallbacks(ctx)
	if err != nil {
		return err
	}
	return each(ctx, ops, func(o *node.Operation) error { return r.nudge(ctx, o, out) })
}

// nudgeStaleWaits signals workflows whose row does not say any more why they wait, because a
// conductor came or left, or maintenance began or ended. Each then reads its row and writes
// what it waits for. Until it has, it is signalled at each tick.
func (r *Reconciler) nudgeStaleWaits(ctx context.Context, out *TickResult) error {
	ops, err := r.Store.StaleWaits(ctx)
	if err != nil {
		return err
	}
	return each(ctx, ops, func(o *node.Operation) error { return r.nudge(ctx, o, out) })
}

// orphan is an open operation whose workflow is closed or unknown.
type orphan struct {
	op    node.Operation
	how   string     // the workflow ended, in words
	cause fault.Code // of the operation's end
}

// recover closes operations that have lost their workflow: Temporal says that it is closed, or
// has not known it for some time.
func (r *Reconciler) recover(ctx context.Context, closed []orphan, listed func() map[string]bool, out *TickResult) error {
	s, err := r.survey(ctx, listed, out)
	if err != nil {
		// Whether Temporal knows the others is not known, so their time is counted from zero.
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
			closed = append(closed, orphan{op: m.Operation, how: "lost by Temporal", cause: fault.WorkflowLost})
		}
	}
	return errors.Join(s.refusals(), r.close(ctx, closed, out))
}

// survey is what Temporal says about the open operations that have begun.
type survey struct {
	open           int
	found, missing []int64  // ids of operations that Temporal knows, and does not know
	closed         []orphan // whose workflow is closed for so long that no activity of it can act
	refused        []error  // the first errors about single operations, which count as found
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

func (r *Reconciler) survey(ctx context.Context, listed func() map[string]bool, out *TickResult) (survey, error) {
	var s survey
	var open map[string]bool
	for after := int64(0); ; {
		runs, err := r.Store.OpenRuns(ctx, tickLimit, after)
		if err != nil {
			return s, err
		}
		if len(runs) > listFrom {
			open = listed()
		}
		var unsure []int64
		for _, run := range runs {
			after = run.Operation
			s.open++
			if open[run.RunID] && !due(run.Operation) && !run.Paused {
				s.found = append(s.found, run.Operation)
			} else {
				unsure = append(unsure, run.Operation)
			}
		}
		ops, err := r.Store.OpenOperations(ctx, unsure)
		if err != nil {
			return s, err
		}
		for i := range ops {
			if s.ask(func() error { return r.describe(ctx, ops[i], &s, out) }) != nil {
				s.found = append(s.found, ops[i].ID)
			}
			if s.wasted > maxErrorTime {
				return s, s.refusals()
			}
			activity.RecordHeartbeat(ctx)
		}
		if len(runs) < tickLimit {
			return s, nil
		}
	}
}

// describe asks Temporal about one operation.
func (r *Reconciler) describe(ctx context.Context, o node.Operation, s *survey, out *TickResult) error {
	st, err := r.Describer.Status(ctx, &o)
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
		s.closed = append(s.closed, orphan{op: o, how: st.How, cause: st.Cause()})
	}
	return err
}

// patience returns how long an operation must have been unknown to Temporal before it is
// closed. It is long if very many are unknown at once, unless somebody has said that they
// are lost.
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
		out.Alarm += ", or as soon as " + r.SayLost
	}
	r.Log.Error(out.Alarm, zap.Int("missing", len(s.missing)), zap.Int("open", s.open))
	return patience, nil
}

// listOpen returns the ids of all open runs and of their workflows, so that a tick with many open
// operations describes only those that are not listed. If Temporal can't list them, each is described.
func (r *Reconciler) listOpen(ctx context.Context) map[string]bool {
	open, err := r.Describer.Open(ctx)
	if err != nil {
		r.Log.Warn("open workflows can not be listed, so each is described", zap.Error(err))
		return map[string]bool{}
	}
	return open
}

// due reports whether an operation is described although its run is listed as open. Each is
// every few minutes, in case the list is wrong.
func due(id int64) bool {
	const parts = 32
	return id%parts == time.Now().Unix()/10%parts
}

// wasReset reports whether another run of the operation's workflow is open, because somebody
// has reset the one in the row. That run may wait for a timer, and is signalled.
func (r *Reconciler) wasReset(ctx context.Context, o node.Operation, out *TickResult) (bool, error) {
	o.RunID = ""
	st, err := r.Describer.Status(ctx, &o)
	if err != nil || !st.Open {
		return false, err
	}
	return true, r.nudge(ctx, &o, out)
}

// end returns how an orphaned operation is closed. What its steps left half done is owed. A workflow completes only when its operation has
// succeeded and is closed: if that is open, the database was restored from a backup, and the operation is closed once more.
func (r *Reconciler) end(o *orphan) node.End {
	if o.how == node.RunCompleted {
		return node.End{Operation: o.op.ID, RunID: o.op.RunID, Outcome: node.Succeeded, Again: true, By: activities.ByReconciliation, Defaults: r.Defaults}
	}
	why := fmt.Sprintf("The workflow of operation %d of node %s was %s; reconciliation ended the operation", o.op.ID, o.op.NodeUUID, o.how)
	return o.op.EndAbandoned(activities.ByReconciliation, node.Failure{Error: why, Cause: o.cause}, r.Defaults)
}

// close ends orphaned operations.
func (r *Reconciler) close(ctx context.Context, orphans []orphan, out *TickResult) error {
	return each(ctx, orphans, func(o *orphan) error {
		ctx := ctx
		if o.how == node.RunTerminated {
			ctx, _ = audit.Begin(ctx, audit.InTemporal("terminate", ""))
		}
		next, err := r.Operations.CloseOperation(ctx, r.end(o))
		switch {
		case fault.Is(err, fault.Lost) || fault.Is(err, fault.Conflict):
			return nil // ended meanwhile
		case err != nil:
			return err
		}
		out.Recovered++
		r.Log.Warn("an operation that had lost its workflow was ended", zap.Int64("operation", o.op.ID), zap.String("node", o.op.NodeUUID), zap.String("workflow", o.how))
		if next != nil {
			return r.Starter.Start(ctx, next)
		}
		return nil
	})
}

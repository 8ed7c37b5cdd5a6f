package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

var workflowRows = []row{
	{
		name: "workflow terminated", holds: "fails into the state that the table names, with the reason; what is half done is undone",
		points: atWork, within: 30 * time.Second, judge: failed("terminated"),
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false); err != nil {
				return err
			}
			if err := r.workflows(ctx, terminate); err != nil {
				return err
			}
			return errors.Join(r.victim.release(), r.over(ctx, patience), r.ends(ctx))
		},
	},
	{
		name: "workflow timed out in Temporal", holds: "the same", points: atWork, atOnce: allAtOnce, within: 20 * time.Second, judge: failed("timed out"),
		happen: func(ctx context.Context, r *round) error {
			if err := r.shared.limit(45 * time.Second); err != nil {
				return err
			}
			if err := errors.Join(r.begin(ctx, false), r.shared.limit(0)); err != nil {
				return err
			}
			return errors.Join(r.timedOut(ctx), r.victim.release(), r.over(ctx, patience), r.ends(ctx))
		},
	},
	{
		name: "workflow terminated before it began", holds: "the same, and nothing is started a second time",
		points: named("before it began"), within: 30 * time.Second, judge: failed("terminated"),
		happen: func(ctx context.Context, r *round) error {
			if _, err := r.another(ctx, "heir"); err != nil {
				return err
			}
			if err := r.signal("orchestrator", syscall.SIGSTOP); err != nil {
				return err
			}
			err := r.start(ctx)
			if err == nil {
				err = r.workflows(ctx, terminate)
			}
			return errors.Join(err, r.signal("orchestrator", syscall.SIGCONT), r.over(ctx, patience), r.ends(ctx))
		},
	},
	{
		name:  "workflow cancelled from Temporal's side",
		holds: "undone when the step has returned, and no sooner; ends in the state that the table names", points: atWork, judge: failed(""), atOnce: someTimed, // all cancels and the wait below are to fit into a heartbeat timeout
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, true); err != nil {
				return err
			}
			if err := r.workflows(ctx, cancel); err != nil {
				return err
			}
			// Less than the heartbeat timeout, after which Temporal gives the step away.
			if err := r.stayHeld(ctx, 3*time.Second); err != nil {
				return errors.Join(err, r.victim.release(), r.over(ctx, patience))
			}
			r.happen()
			return errors.Join(r.victim.release(), r.over(ctx, patience), r.ends(ctx))
		},
	},
	{
		name:  "workflow reset from Temporal's side, to its first or its last task",
		holds: "goes on under the new run when nothing of the old one can act any more", points: points, judge: anew,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, true); err != nil {
				return err
			}
			return errors.Join(r.reset(ctx), r.adopted(ctx), r.victim.release(), r.over(ctx, patience))
		},
	},
	{
		name: "Temporal's data gone, with 3 open operations", holds: "fails into the state that the table names; nothing is started a second time",
		points: few, within: 40 * time.Second, judge: failed("lost by Temporal"),
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false); err != nil {
				return err
			}
			r.happen()
			return errors.Join(r.wipe("temporal"), r.victim.release(), r.over(ctx, patience), r.ends(ctx))
		},
	},
	{
		name: "Temporal's data gone, with over 50 open operations", holds: "nothing is ended until somebody says that the data is gone; then the same",
		points: atWork, atOnce: allAtOnce, judge: failed("lost by Temporal"),
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false); err != nil {
				return err
			}
			r.happen()
			if err := errors.Join(r.wipe("temporal"), r.victim.release(), r.answering(ctx)); err != nil {
				return err
			}
			if s := r.stalled(nil); s != nil { // what is said below would hold when the round begins anew, too
				return s
			}
			// Longer than it takes to end a single one.
			if err := r.stay(ctx, 45*time.Second); err != nil {
				return err
			}
			r.happen() // the time is counted from here
			err := r.Call(ctx, http.MethodPost, "/temper/v1/operations/recover", map[string]any{"lost_temporal": true, "reason": "a test took it away"}, nil)
			return errors.Join(err, r.over(ctx, patience), r.ends(ctx))
		},
	},
}

func terminate(ctx context.Context, c client.Client, _ int, o stack.Operation) error {
	return c.TerminateWorkflow(ctx, o.WorkflowID, "", "a test says so")
}

func cancel(ctx context.Context, c client.Client, _ int, o stack.Operation) error {
	return c.CancelWorkflow(ctx, o.WorkflowID, "")
}

// timedOut waits until every workflow has timed out.
func (r *round) timedOut(ctx context.Context) error {
	return r.workflows(ctx, func(ctx context.Context, c client.Client, i int, o stack.Operation) error {
		return stack.Await(ctx, patience, func() error {
			run, err := c.DescribeWorkflowExecution(ctx, o.WorkflowID, o.RunID)
			if err != nil {
				return err
			}
			info := run.GetWorkflowExecutionInfo()
			if s := info.GetStatus(); s != enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT {
				return fmt.Errorf("%s: its workflow is %s", r.trials[i].point, s)
			}
			r.trials[i].from = info.GetCloseTime().AsTime()
			return nil
		})
	})
}

// reset resets every other workflow to its first task, and the others to their last.
func (r *round) reset(ctx context.Context) error {
	return r.workflows(ctx, func(ctx context.Context, c client.Client, i int, o stack.Operation) error {
		var task int64
		all := c.GetWorkflowHistory(ctx, o.WorkflowID, o.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for all.HasNext() && (task == 0 || i%2 == 1) {
			e, err := all.Next()
			if err != nil {
				return err
			}
			if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				task = e.GetEventId()
			}
		}
		r.trials[i].run = o.RunID
		_, err := c.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
			Namespace: r.TemporalNamespace, RequestId: "reset-" + o.ID, Reason: "a test says so", WorkflowTaskFinishEventId: task,
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID, RunId: o.RunID},
		})
		return err
	})
}

// adopted waits until every operation belongs to its new run.
func (r *round) adopted(ctx context.Context) error {
	return stack.Await(ctx, patience, func() error {
		open, err := r.Open(ctx)
		if err != nil {
			return err
		}
		for _, t := range r.trials {
			if o, ok := open[t.id]; ok && o.RunID == t.run {
				return fmt.Errorf("%s is the old run's still: %s", t.point, o)
			}
		}
		return nil
	})
}

// anew judges that an operation went as an undisturbed one, under the run that followed the reset.
func anew(ctx context.Context, l *lab, t *trial) error {
	if err := once(ctx, l, t); err != nil {
		return err
	}
	o, err := l.Operation(ctx, t.id)
	if err == nil && (t.run == "" || o.RunID == t.run) {
		err = fmt.Errorf("it ended under its old run: %s", o)
	}
	return err
}

// few returns one point in the middle of each of three kinds of operation.
func few(k kind) ([]point, error) {
	if k.name != "deploy" && k.name != "undeploy" && k.name != "provide" {
		return nil, nil
	}
	all, err := atWork(k)
	return all[len(all)/2 : len(all)/2+1], err
}

// wipe ends a role and deletes its data before it is started again.
func (l *lab) wipe(role string) error {
	if err := l.signal(role, syscall.SIGSTOP); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Join(l.Dir, "data", role)), l.kill(role))
}

// stay fails if one of the operations ends within some time.
func (r *round) stay(ctx context.Context, d time.Duration) error {
	tick := time.NewTicker(stack.Look)
	defer tick.Stop()
	var err error
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; <-tick.C {
		var early *ended
		if err = r.allOpen(ctx); errors.As(err, &early) {
			return err
		}
	}
	return err // of the last look: the API may have been away before
}

// ended is the error of an operation that has ended too early.
type ended struct{ t *trial }

func (e *ended) Error() string {
	return fmt.Sprintf("%s (operation %s) has ended, and it was too early", e.t.point, e.t.id)
}

// allOpen returns an *ended if one of the operations has ended.
func (r *round) allOpen(ctx context.Context) error {
	open, err := r.Open(ctx)
	if err != nil {
		return err
	}
	for _, t := range r.trials {
		if _, ok := open[t.id]; ok || t.past {
			continue
		}
		// The lists are read one after the other, and it may have changed its state meanwhile.
		o, err := r.Operation(ctx, t.id)
		if err != nil {
			return err
		}
		if o.State == "ended" {
			return &ended{t}
		}
	}
	return nil
}

// temporal is a client of the stack's Temporal.
func (l *lab) temporal() (client.Client, error) {
	return client.Dial(client.Options{HostPort: l.TemporalAddress, Namespace: l.TemporalNamespace, Logger: quiet{}})
}

// workflows does something to the workflows of all operations but those that ended before they could be paused; i is the
// trial's.
func (r *round) workflows(ctx context.Context, do func(ctx context.Context, c client.Client, i int, o stack.Operation) error) error {
	c, err := r.temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	r.happen()
	return each(r.subjects(), func(i int, _ *subject) error {
		if r.trials[i].past {
			return nil
		}
		o, err := r.Operation(ctx, r.trials[i].id)
		if err != nil {
			return err
		}
		return do(ctx, c, i, o)
	})
}

// ends records how long each took to end.
func (r *round) ends(ctx context.Context) error {
	return each(r.subjects(), func(i int, _ *subject) error {
		o, err := r.Operation(ctx, r.trials[i].id)
		if err == nil && o.EndedAt != nil {
			from := r.trials[i].from
			if from.IsZero() {
				from = r.began
			}
			r.trials[i].took = max(o.EndedAt.Sub(from), time.Millisecond)
		}
		return err
	})
}

// failures are the states in which an operation of a kind may end when it does not succeed (Ironic's states).
var failures = map[node.OperationKind][]node.State{
	node.KindManage:   {node.Enroll},
	node.KindProvide:  {node.CleanFailed},
	node.KindClean:    {node.CleanFailed},
	node.KindInspect:  {node.InspectFailed},
	node.KindDeploy:   {node.DeployFailed},
	node.KindRebuild:  {node.DeployFailed},
	node.KindUndeploy: {node.ErrorState, node.CleanFailed},
	node.KindRescue:   {node.RescueFailed},
	node.KindUnrescue: {node.UnrescueFailed},
	node.KindAdopt:    {node.AdoptFailed},
	node.KindService:  {node.ServiceFailed},
	node.KindPower:    {node.Manageable, node.Active},

	node.KindBootDevice: {node.Manageable},
	node.KindNMI:        {node.Active},

	node.KindBMCPassword: {node.Manageable},
	node.KindSecureBoot:  {node.Manageable},
	node.KindAttachMedia: {node.Manageable},
	node.KindDetachMedia: {node.Manageable},
}

// failed judges an operation that was ended from outside: nothing holds the node, which is in its failed state, and nothing is
// left on its server.
func failed(word string) func(ctx context.Context, l *lab, t *trial) error {
	return func(ctx context.Context, l *lab, t *trial) error {
		o, err := l.Operation(ctx, t.id)
		if err != nil {
			return err
		}
		if o.Outcome == string(node.Succeeded) {
			return fmt.Errorf("it succeeded: %s", o)
		}
		return becomes(ctx, func() error {
			n, err := l.Show(ctx, t.s.uuid)
			if err != nil {
				return err
			}
			sv, err := l.Server(ctx, t.s.server)
			if err != nil {
				return err
			}
			if n.Maintenance { // a clean step that was running sets it, and then the hardware is not touched before a person has looked
				if err := l.Call(ctx, http.MethodDelete, "/v1/nodes/"+t.s.uuid+"/maintenance", nil, nil); err != nil {
					return err
				}
			}
			off := t.k.column == node.KindDeploy || t.k.column == node.KindRebuild || t.k.column == node.KindInspect && t.k.inspectBy == "agent"
			switch {
			case !has(failures[t.k.column], node.State(n.State)):
				return fmt.Errorf("the node is %q; %s", n.State, o)
			case n.Reservation != "":
				return fmt.Errorf("the node is held by %q; %s", n.Reservation, o)
			case word != "" && t.k.column.Provisions() && !holds(n.LastError, word):
				return fmt.Errorf("the node says %q; %s", n.LastError, o)
			case sv.Media != t.s.before.Media && sv.Media != "" && t.k.column != node.KindAttachMedia || sv.BootOverride != "" && t.k.column != node.KindBootDevice:
				return fmt.Errorf("media %q is in, and the boot override is %q; %s", sv.Media, sv.BootOverride, o)
			case off && sv.Powered && t.s.before.Powered != sv.Powered || off && sv.Powered && t.k.column != node.KindRebuild:
				return fmt.Errorf("the server is on; %s", o)
			}
			if t.k.column == node.KindBMCPassword {
				if err := l.knowsPassword(ctx, t.s, sv); err != nil {
					return fmt.Errorf("%w; %s", err, o)
				}
			}
			if _, ok := n.Internal["agent_url"]; ok {
				return fmt.Errorf("its agent is not forgotten; %s", o)
			}
			return nil
		})
	}
}

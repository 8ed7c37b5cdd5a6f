package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
	"go.temper.dev/temper/workflows"
)

// quietFor is how long a paused operation is watched: longer than the interval of the reconciliation.
const quietFor = 5 * time.Second

// steps is the type of the activity that runs an operation's steps.
const steps = "RunSteps"

var pauseRows = []row{
	{
		name: "workflow paused in Temporal, and unpaused", holds: "the step that runs ends, the operation rests, says so, and goes on when it is unpaused", points: points,
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false); err != nil {
				return err
			}
			return errors.Join(r.workflows(ctx, r.pauseWorkflow), r.resting(ctx), r.victim.release(), r.stay(ctx, quietFor), r.workflows(ctx, r.unpause), r.over(ctx, patience))
		},
	},
	{
		name: "workflow paused in Temporal while the agent boots, and unpaused", holds: "the same", points: agentAwaited, judge: wentOn,
		happen: func(ctx context.Context, r *round) error {
			err := r.unheard(ctx)
			if err == nil {
				err = errors.Join(r.workflows(ctx, r.pauseWorkflow), r.resting(ctx))
			}
			return errors.Join(err, r.stay(ctx, quietFor), r.workflows(ctx, r.unpause), r.heard(ctx), r.over(ctx, patience))
		},
	},
	{
		name: "workflow paused in Temporal before it began, and unpaused", holds: "the same", points: named("before it began"),
		happen: func(ctx context.Context, r *round) error {
			if _, err := r.another(ctx, "heir"); err != nil {
				return err
			}
			if err := r.signal("orchestrator", syscall.SIGSTOP); err != nil {
				return err
			}
			err := r.start(ctx)
			if err == nil {
				err = r.workflows(ctx, r.pauseWorkflow)
			}
			return errors.Join(err, r.signal("orchestrator", syscall.SIGCONT), r.resting(ctx), r.stay(ctx, quietFor), r.workflows(ctx, r.unpause), r.over(ctx, patience))
		},
	},
	{
		name: "workflow paused in Temporal, and the conductor killed", holds: "nobody goes on with the step before it is unpaused", points: atWork,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, false); err != nil {
				return err
			}
			return errors.Join(r.workflows(ctx, r.pauseWorkflow), r.resting(ctx), r.victim.signal(syscall.SIGKILL),
				r.stay(ctx, 2*quietFor), r.workflows(ctx, r.unpause), r.over(ctx, patience))
		},
	},
	{
		name: "workflow paused in Temporal, and cancelled through the API", holds: "unpaused, undone, ended in the state that the table names", points: atWork, judge: failed(""), atOnce: someTimed,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, true); err != nil {
				return err
			}
			if err := errors.Join(r.workflows(ctx, r.pauseWorkflow), r.resting(ctx)); err != nil {
				return err
			}
			err := each(r.subjects(), func(i int, _ *subject) error {
				return r.Call(ctx, http.MethodPost, "/temper/v1/operations/"+r.trials[i].id+"/cancel", map[string]any{"reason": "a test says so"}, nil)
			})
			// Long enough for the step to learn of the pause, but less than the heartbeat timeout, after which Temporal gives the step away.
			return errors.Join(err, r.stayHeld(ctx, 3*time.Second), r.victim.release(), r.over(ctx, patience))
		},
	},
	{
		name: "activity paused in Temporal, and unpaused", holds: "the step is handed over, the operation rests, says so, and goes on at the same step when it is unpaused", points: points,
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false); err != nil {
				return err
			}
			return errors.Join(r.pauseActivities(ctx), r.victim.release(), r.stay(ctx, quietFor), r.workflows(ctx, r.unpause), r.over(ctx, patience))
		},
	},
	{
		name: "activity paused in Temporal, and then reset", holds: "goes on at the same step, though Temporal counts its attempts from one again", points: points,
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false); err != nil {
				return err
			}
			return errors.Join(r.pauseActivities(ctx), r.victim.release(), r.workflows(ctx, r.resetActivity), r.over(ctx, patience))
		},
	},
	{
		name: "activity reset in Temporal", holds: "the step is handed over, and goes on at once", points: points,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, false); err != nil {
				return err
			}
			return errors.Join(r.workflows(ctx, r.resetActivity), r.victim.release(), r.over(ctx, patience))
		},
	},
	{
		name: "activity given other options in Temporal, and the conductor killed", holds: "put into the right queue again; goes on at the same step", points: atWork, atOnce: someTimed,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, false); err != nil {
				return err
			}
			return errors.Join(r.workflows(ctx, r.otherOptions), r.victim.signal(syscall.SIGKILL), r.over(ctx, patience))
		},
	},
	{
		name: "workflow that waits continued as new, its history being long", holds: "goes on under the new run, with what it waited for", points: agentAwaited, judge: wentOn,
		happen: func(ctx context.Context, r *round) error {
			err := r.unheard(ctx)
			if err == nil {
				err = errors.Join(r.workflows(ctx, r.outgrow), r.adopted(ctx), r.waiting(ctx))
			}
			return errors.Join(err, r.heard(ctx), r.over(ctx, patience))
		},
	},
}

// outgrow signals a workflow until its run has continued as new, which Temporal suggests after some thousands of events.
func (r *round) outgrow(ctx context.Context, c client.Client, i int, o stack.Operation) error {
	r.trials[i].run = o.RunID
	return stack.Await(ctx, patience, func() error {
		for range 500 {
			if err := c.SignalWorkflow(ctx, o.WorkflowID, o.RunID, workflows.LookSignal, nil); err != nil {
				return nil //nolint:nilerr // it has ended
			}
		}
		return fmt.Errorf("workflow %s goes on with a history that is long", o.WorkflowID)
	})
}

// agentAwaited returns the points right before a server is switched on to boot an agent for a deploy: while the operation waits
// for an agent that does not come, the power can be changed, which is refused during cleaning.
func agentAwaited(k kind) ([]point, error) {
	if k.column != node.KindDeploy && k.column != node.KindRebuild {
		return nil, nil
	}
	return booting(k)
}

// unheard brings all operations to the point where they wait for an agent that does not come.
func (r *round) unheard(ctx context.Context) error {
	if err := r.begin(ctx, false); err != nil {
		return err
	}
	err := each(r.subjects(), func(_ int, s *subject) error { return r.Spoil(ctx, s.server, []fault{{"kind": "no_agent"}}) })
	return errors.Join(err, r.victim.release(), r.waiting(ctx))
}

// heard boots the servers once more, this time with agents.
func (r *round) heard(ctx context.Context) error {
	return each(r.subjects(), func(_ int, s *subject) error {
		if err := r.Spoil(ctx, s.server, nil); err != nil {
			return err
		}
		for _, target := range []node.PowerState{node.PowerOff, node.PowerOn} {
			err := stack.Await(ctx, patience, func() error {
				return r.Call(ctx, http.MethodPut, "/v1/nodes/"+s.uuid+"/states/power", map[string]any{"target": target}, nil)
			})
			if err == nil {
				err = stack.Await(ctx, patience, func() error {
					sv, err := r.Server(ctx, s.server)
					if err == nil && sv.Powered != (target == node.PowerOn) {
						err = fmt.Errorf("server %s is not %s", s.server, target)
					}
					return err
				})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// wentOn judges an operation that must succeed, with one more boot of its agent.
func wentOn(ctx context.Context, l *lab, t *trial) error {
	_, err := l.asAsked(ctx, t)
	if o, look := l.Operation(ctx, t.id); err == nil && look == nil && t.run != "" && o.RunID == t.run {
		err = fmt.Errorf("it ended under its old run: %s", o)
	}
	return err
}

func (r *round) pauseWorkflow(ctx context.Context, c client.Client, _ int, o stack.Operation) error {
	_, err := c.WorkflowService().PauseWorkflowExecution(ctx, &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: r.TemporalNamespace, WorkflowId: o.WorkflowID, Identity: "chaos", Reason: "a test says so", RequestId: "pause-" + o.ID,
	})
	return err
}

// pauseActivities pauses the activity of every operation and waits until each is handed over. An activity that has recorded
// all its work ends all the same: its pause came too late. If another one follows, that is paused at once. If none does,
// the operation has ended as it was to, and nothing is left to pause (trial.past).
func (r *round) pauseActivities(ctx context.Context) error {
	if err := r.workflows(ctx, r.pauseActivity); err != nil {
		return err
	}
	c, err := r.temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	left := map[*trial]time.Time{} // when each was read last
	for _, t := range r.trials {
		left[t] = time.Now()
	}
	var ended error // an operation ended although its activity had work left
	err = stack.Await(ctx, patience, func() error {
		open, err := r.Open(ctx)
		if err != nil {
			return err
		}
		for t, at := range left {
			o, ok := open[t.id]
			if !ok {
				if t.past = t.Name == chaos.Recorded; !t.past {
					ended = errors.Join(ended, fmt.Errorf("%s (operation %s) has ended, and was to be handed over", t.point, t.id))
				}
				delete(left, t)
				continue
			}
			if !rests(o) && time.Since(at) < time.Second {
				continue
			}
			left[t] = time.Now()
			down, err := r.handOver(ctx, c, o)
			if err != nil {
				return err
			}
			if down && rests(o) {
				delete(left, t)
			}
		}
		for t := range left {
			return fmt.Errorf("%d of %d are not handed over: %s: %s", len(left), len(r.trials), t.point, open[t.id])
		}
		return nil
	})
	return errors.Join(err, ended)
}

// handOver reports whether the activity of an operation is paused and nobody is at work on it. One that is not paused is
// paused.
func (r *round) handOver(ctx context.Context, c client.Client, o stack.Operation) (bool, error) {
	run, err := c.DescribeWorkflowExecution(ctx, o.WorkflowID, "")
	if err != nil {
		return false, err
	}
	for _, a := range run.GetPendingActivities() {
		if a.GetActivityType().GetName() != steps {
			continue
		}
		if a.GetState() == enums.PENDING_ACTIVITY_STATE_PAUSED {
			return true, nil
		}
		if a.GetPaused() {
			return false, nil
		}
		var gone *serviceerror.NotFound
		if err := r.pauseActivity(ctx, c, 0, o); err != nil && !errors.As(err, &gone) {
			return false, err
		}
	}
	return false, nil
}

func (r *round) pauseActivity(ctx context.Context, c client.Client, _ int, o stack.Operation) error {
	_, err := c.WorkflowService().PauseActivity(ctx, &workflowservice.PauseActivityRequest{
		Namespace: r.TemporalNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID}, Identity: "chaos", Reason: "a test says so",
		Activity: &workflowservice.PauseActivityRequest_Type{Type: steps},
	})
	return err
}

func (r *round) resetActivity(ctx context.Context, c client.Client, _ int, o stack.Operation) error {
	_, err := c.WorkflowService().ResetActivity(ctx, &workflowservice.ResetActivityRequest{
		Namespace: r.TemporalNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID}, Identity: "chaos",
		Activity: &workflowservice.ResetActivityRequest_Type{Type: steps},
	})
	return err
}

// otherOptions moves the next attempt to a queue that nobody polls, and changes timeouts and retries.
func (r *round) otherOptions(ctx context.Context, c client.Client, _ int, o stack.Operation) error {
	_, err := c.WorkflowService().UpdateActivityOptions(ctx, &workflowservice.UpdateActivityOptionsRequest{
		Namespace: r.TemporalNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID}, Identity: "chaos",
		Activity: &workflowservice.UpdateActivityOptionsRequest_Type{Type: steps},
		ActivityOptions: &activitypb.ActivityOptions{
			TaskQueue: &taskqueuepb.TaskQueue{Name: "nobody"}, StartToCloseTimeout: durationpb.New(10 * time.Minute),
			RetryPolicy: &commonpb.RetryPolicy{InitialInterval: durationpb.New(2 * time.Second)},
		},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"task_queue.name", "start_to_close_timeout", "retry_policy.initial_interval"}},
	})
	return err
}

// unpause unpauses every other operation in Temporal, and the rest through the API.
func (r *round) unpause(ctx context.Context, c client.Client, i int, o stack.Operation) error {
	if i%2 == 0 {
		return r.Call(ctx, http.MethodPost, "/temper/v1/operations/"+o.ID+"/unpause", map[string]any{"reason": "a test says so"}, nil)
	}
	run, err := c.DescribeWorkflowExecution(ctx, o.WorkflowID, "")
	if err != nil {
		return err
	}
	if run.GetWorkflowExtendedInfo().GetPauseInfo() != nil {
		_, err = c.WorkflowService().UnpauseWorkflowExecution(ctx, &workflowservice.UnpauseWorkflowExecutionRequest{
			Namespace: r.TemporalNamespace, WorkflowId: o.WorkflowID, Identity: "chaos", RequestId: "unpause-" + o.ID,
		})
		return err
	}
	_, err = c.WorkflowService().UnpauseActivity(ctx, &workflowservice.UnpauseActivityRequest{
		Namespace: r.TemporalNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID}, Identity: "chaos",
		Activity: &workflowservice.UnpauseActivityRequest_Type{Type: steps},
	})
	return err
}

// resting waits until every operation shows that it is paused in Temporal.
func (r *round) resting(ctx context.Context) error {
	return r.all(ctx, rests)
}

// rests reports whether an operation shows that it is paused in Temporal.
func rests(o stack.Operation) bool {
	return o.State == "paused" && strings.HasPrefix(o.WaitingFor, "paused in Temporal since ")
}

// waiting waits until every operation waits for its agent.
func (r *round) waiting(ctx context.Context) error {
	return r.all(ctx, func(o stack.Operation) bool { return o.State == "waiting" })
}

// all waits until all operations are open and so(operation) is true for each.
func (r *round) all(ctx context.Context, so func(stack.Operation) bool) error {
	return stack.Await(ctx, patience, func() error {
		open, err := r.Open(ctx)
		if err != nil {
			return err
		}
		for _, t := range r.trials {
			if o, ok := open[t.id]; !ok || !so(o) {
				return fmt.Errorf("%s (operation %s) is not so far: %s", t.point, t.id, o)
			}
		}
		return nil
	})
}

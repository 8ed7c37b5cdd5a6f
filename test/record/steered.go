package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"syscall"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"go.temper.dev/temper/test/stack"
)

// steered records operations that are disturbed: by decisions, maintenance, a reset, and conductors that are away for some
// time.
func (r *recorder) steered(ctx context.Context, n stack.Node) error {
	for _, one := range []struct {
		what string
		play func(context.Context, stack.Node) error
	}{
		{"hold, decided to retry", r.retried},
		{"undeploy", r.undeployed},
		{"hold, decided to abort", r.aborted},
		{"maintenance in the middle", r.paused},
		{"reset", r.reset},
		{"undeploy again", r.undeployed},
		{"no conductor", r.uncovered},
		{"hold, decided to skip", r.skipped},
	} {
		if err := one.play(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", one.what, err)
		}
	}
	return nil
}

// provision requests a verb; more are other fields of the request.
func (r *recorder) provision(ctx context.Context, n stack.Node, verb, query string, more map[string]any) error {
	body := map[string]any{"target": verb}
	maps.Copy(body, more)
	return r.Call(ctx, http.MethodPut, "/v1/nodes/"+n.UUID+"/states/provision"+query, body, nil)
}

// held waits until the operation holds, and decides.
func (r *recorder) held(ctx context.Context, n stack.Node, action string) error {
	op, err := r.until(ctx, n.UUID, "held", func(o stack.Operation) bool { return o.State == "holding" })
	if err != nil {
		return err
	}
	return r.Call(ctx, http.MethodPost, "/temper/v1/operations/"+op.ID+"/decision", map[string]any{"action": action}, nil)
}

// ended waits for the end of the operation and keeps it.
func (r *recorder) ended(ctx context.Context, n stack.Node, name string) error {
	op, err := r.awaitEnd(ctx, n.UUID)
	if err != nil {
		return err
	}
	return r.keep(ctx, name, op.WorkflowID, op.RunID)
}

// holding begins a deploy whose image arrives damaged once.
func (r *recorder) holding(ctx context.Context, n stack.Node) error {
	if err := r.Faults(ctx, []map[string]any{{"kind": "wrong_checksum", "count": 1}}); err != nil {
		return err
	}
	return r.provision(ctx, n, "active", "?on_failure=hold", nil)
}

func (r *recorder) retried(ctx context.Context, n stack.Node) error {
	if err := r.holding(ctx, n); err != nil {
		return err
	}
	if err := r.held(ctx, n, "retry"); err != nil {
		return err
	}
	return r.ended(ctx, n, "DeployNode-held")
}

// undeployed undeploys the node, and sets the image again, which that removes.
func (r *recorder) undeployed(ctx context.Context, n stack.Node) error {
	if err := r.provision(ctx, n, "deleted", "", nil); err != nil {
		return err
	}
	if err := r.ended(ctx, n, ""); err != nil {
		return err
	}
	digest, err := r.Digest(ctx)
	if err != nil {
		return err
	}
	return r.SetImage(ctx, n.UUID, digest)
}

// aborted holds, is in maintenance for some time, and is then aborted by a decision.
func (r *recorder) aborted(ctx context.Context, n stack.Node) error {
	if err := r.holding(ctx, n); err != nil {
		return err
	}
	if _, err := r.until(ctx, n.UUID, "held", func(o stack.Operation) bool { return o.State == "holding" }); err != nil {
		return err
	}
	if err := r.maintenance(ctx, n, true); err != nil {
		return err
	}
	if _, err := r.until(ctx, n.UUID, "standing still", func(o stack.Operation) bool { return strings.Contains(o.WaitingFor, "paused: maintenance") }); err != nil {
		return err
	}
	if err := r.maintenance(ctx, n, false); err != nil {
		return err
	}
	if _, err := r.until(ctx, n.UUID, "going on", func(o stack.Operation) bool { return !strings.Contains(o.WaitingFor, "paused: maintenance") }); err != nil {
		return err
	}
	if err := r.held(ctx, n, "abort"); err != nil {
		return err
	}
	return r.ended(ctx, n, "DeployNode-aborted")
}

func (r *recorder) maintenance(ctx context.Context, n stack.Node, on bool) error {
	if on {
		return r.Call(ctx, http.MethodPut, "/v1/nodes/"+n.UUID+"/maintenance", map[string]any{"reason": "recorded"}, nil)
	}
	return r.Call(ctx, http.MethodDelete, "/v1/nodes/"+n.UUID+"/maintenance", nil, nil)
}

// resting begins a deploy whose agent does not come up, and waits until the operation waits for the agent.
func (r *recorder) resting(ctx context.Context, n stack.Node) (stack.Operation, error) {
	if err := r.noAgent(ctx); err != nil {
		return stack.Operation{}, err
	}
	if err := r.provision(ctx, n, "active", "", nil); err != nil {
		return stack.Operation{}, err
	}
	return r.until(ctx, n.UUID, "waiting", func(o stack.Operation) bool { return o.State == "waiting" })
}

// cancelled cancels an operation that waits, and lets agents come up again.
func (r *recorder) cancelled(ctx context.Context, n stack.Node, op stack.Operation, name string) error {
	err := r.Call(ctx, http.MethodPost, "/temper/v1/operations/"+op.ID+"/cancel", map[string]any{"reason": "recorded"}, nil)
	if err != nil {
		return err
	}
	if err := r.ended(ctx, n, name); err != nil {
		return err
	}
	return r.Faults(ctx, []map[string]any{})
}

// paused puts a node into maintenance while its operation waits for the agent, and takes it out again.
func (r *recorder) paused(ctx context.Context, n stack.Node) error {
	op, err := r.resting(ctx, n)
	if err != nil {
		return err
	}
	if err := r.maintenance(ctx, n, true); err != nil {
		return err
	}
	if err := r.napped(ctx, op, 2); err != nil {
		return err
	}
	if err := r.maintenance(ctx, n, false); err != nil {
		return err
	}
	if err := r.napped(ctx, op, 3); err != nil {
		return err
	}
	return r.cancelled(ctx, n, op, "DeployNode-paused")
}

// reset resets the workflow, as the button in Temporal's UI does, while it waits for the agent: the new run continues.
func (r *recorder) reset(ctx context.Context, n stack.Node) error {
	op, err := r.resting(ctx, n)
	if err != nil {
		return err
	}
	if err := r.napped(ctx, op, 1); err != nil {
		return err
	}
	var at int64
	err = r.events(ctx, op, func(t enums.EventType, id int64) {
		if t == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED && at == 0 {
			at = id
		}
	})
	if err != nil {
		return err
	}
	_, err = r.temporal.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "temper", RequestId: "reset-" + op.ID, Reason: "recorded", WorkflowTaskFinishEventId: at,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: op.WorkflowID, RunId: op.RunID},
	})
	if err != nil {
		return err
	}
	now, err := r.until(ctx, n.UUID, "the new run's", func(o stack.Operation) bool { return o.RunID != op.RunID && o.State == "waiting" })
	if err != nil {
		return err
	}
	if err := r.napped(ctx, now, 2); err != nil { // until nothing of the old run can act, then for the agent
		return err
	}
	return r.cancelled(ctx, n, now, "DeployNode-reset")
}

// events iterates over the present history of an operation's run.
func (r *recorder) events(ctx context.Context, op stack.Operation, see func(enums.EventType, int64)) error {
	it := r.temporal.GetWorkflowHistory(ctx, op.WorkflowID, op.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			return err
		}
		see(e.GetEventType(), e.GetEventId())
	}
	return nil
}

// napped waits until the operation's workflow has begun to wait for the nth time.
func (r *recorder) napped(ctx context.Context, op stack.Operation, n int) error {
	return stack.Await(ctx, patience, func() error {
		naps := 0
		err := r.events(ctx, op, func(t enums.EventType, _ int64) {
			if t == enums.EVENT_TYPE_TIMER_STARTED {
				naps++
			}
		})
		if err == nil && naps < n {
			err = fmt.Errorf("it has begun to wait %d times, not %d", naps, n)
		}
		return err
	})
}

// uncovered requests an inspection while all conductors are frozen and count as dead, and continues them when the operation
// waits for one.
func (r *recorder) uncovered(ctx context.Context, n stack.Node) error {
	if err := r.provision(ctx, n, "manage", "", nil); err != nil { // at once, without an operation
		return err
	}
	if err := r.Read(); err != nil {
		return err
	}
	all := r.Of("conductor")
	err := errors.Join(tell(all, syscall.SIGSTOP), r.uncoveredMeanwhile(ctx, n), tell(all, syscall.SIGCONT))
	if err != nil {
		return err
	}
	return r.ended(ctx, n, "InspectNode-uncovered")
}

func tell(all []stack.Process, what syscall.Signal) error {
	var failed error
	for _, p := range all {
		failed = errors.Join(failed, syscall.Kill(p.PID, what))
	}
	return failed
}

func (r *recorder) uncoveredMeanwhile(ctx context.Context, n stack.Node) error {
	err := stack.Await(ctx, patience, func() error {
		names, err := r.Alive(ctx)
		if err == nil && len(names) > 0 {
			err = fmt.Errorf("%v are taken for alive", names)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := r.provision(ctx, n, "inspect", "?wait_for_conductor=true", nil); err != nil {
		return err
	}
	op, err := r.until(ctx, n.UUID, "waiting for a conductor", func(o stack.Operation) bool { return strings.HasPrefix(o.WaitingFor, "a conductor") })
	if err != nil {
		return err
	}
	return r.napped(ctx, op, 1)
}

// skipped leaves out a step of cleaning that fails.
func (r *recorder) skipped(ctx context.Context, n stack.Node) error {
	fault := map[string]any{"kind": "unauthorized", "method": http.MethodPost, "path": "ComputerSystem.Reset"}
	if err := r.Faults(ctx, []map[string]any{fault}); err != nil {
		return err
	}
	err := r.provision(ctx, n, "clean", "?on_failure=hold", map[string]any{"disable_ramdisk": true, "clean_steps": []map[string]any{
		{"interface": "deploy", "step": "power_on"}, {"interface": "deploy", "step": "wait", "args": map[string]any{"seconds": 0}},
	}})
	if err != nil {
		return err
	}
	if err := r.held(ctx, n, "skip"); err != nil {
		return err
	}
	if err := r.Faults(ctx, []map[string]any{}); err != nil {
		return err
	}
	return r.ended(ctx, n, "CleanNode-skipped")
}

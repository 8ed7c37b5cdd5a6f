package worker_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/worker"
	"go.temper.dev/temper/workflows"
)

// temporal starts bin/temporal-dev for one test and returns its address.
func temporal(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs("../bin/temporal-dev")
	require.NoError(t, err)
	require.FileExists(t, bin, "run make build")
	ready := filepath.Join(t.TempDir(), "ready.json")
	cmd := exec.Command(bin, "--data", t.TempDir(), "--ready-file", ready, "--ui-listen", "")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var info struct {
		Address string `json:"address"`
	}
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(b, &info) == nil
	}, 30*time.Second, 20*time.Millisecond)
	return info.Address
}

// noStore is a store without operations.
type noStore struct {
	orchestrator.OperationStore
	reconcile.Store
	reconcile.RingStore
}

func (noStore) StartedLast(context.Context, string) (bool, error) { return true, nil }
func (noStore) AddEvent(context.Context, events.Event) error      { return nil }

func (noStore) Witness(context.Context, time.Time, bool) (store.Seen, error) {
	return store.Seen{}, nil
}

// Every orchestrator checks that the namespace, the search attributes and the schedule exist,
// and creates those that are missing.
func TestAnOrchestratorMakesWhatItNeedsInTemporal(t *testing.T) {
	address := temporal(t)
	const namespace = "made-by-temper"
	ctx, cancel := context.WithCancel(t.Context())
	c, err := worker.Dial(ctx, worker.Temporal{Address: address, Namespace: namespace, Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	started := make(chan struct{})
	done := make(chan error, 1)
	// An earlier release has left its schedule among the operations, and a person has paused it.
	require.Eventually(t, func() bool {
		earlier := worker.NewKeeper(worker.Setup{Operations: worker.Place{Client: c, Namespace: namespace}, Interval: time.Hour}, noStore{}, "earlier", time.Minute)
		_ = earlier.Operations(ctx)
		return earlier.Schedule(ctx) == nil
	}, 30*time.Second, 50*time.Millisecond)
	old := c.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule)
	require.NoError(t, old.Pause(ctx, client.SchedulePauseOptions{Note: "by a person"}))
	own, err := worker.InNamespace(ctx, c, namespace+"-reconcile", "test", zap.NewNop())
	require.NoError(t, err)
	defer own.Close()
	at := worker.Setup{
		Operations: worker.Place{Client: c, Namespace: namespace}, Own: worker.Place{Client: own, Namespace: namespace + "-reconcile"}, Interval: time.Hour,
	}
	o := &worker.Orchestrator{
		Temporal: at, Operations: noStore{}, Reconcile: noStore{}, Ring: noStore{}, Setup: noStore{}, Witnesses: noStore{}, Conductors: time.Minute, StopGrace: time.Second,
		Metrics: worker.NewMetrics(prometheus.NewRegistry()), Log: zap.NewNop(), Started: func() { close(started) },
	}
	go func() {
		for {
			// After its creation, it takes a moment until all services of the server know a namespace.
			if err := o.Run(ctx); ctx.Err() != nil || err == nil {
				done <- err
				return
			}
		}
	}()
	<-started
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
		if err != nil {
			return false
		}
		for name, kind := range workflows.SearchAttributes {
			if have.GetCustomAttributes()[name] != kind {
				return false
			}
		}
		return true
	}, 30*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := old.Describe(ctx)
		var gone *serviceerror.NotFound
		return errors.As(err, &gone)
	}, 30*time.Second, 50*time.Millisecond, "it is no operation, and stands elsewhere")
	moved := own.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule)
	d, err := moved.Describe(ctx)
	require.NoError(t, err)
	require.True(t, d.Schedule.State.Paused, "what a person has paused stays so")
	require.Equal(t, "by a person", d.Schedule.State.Note)
	require.NoError(t, at.Trigger(ctx))
	require.Eventually(t, func() bool {
		page, err := own.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'Reconcile'"})
		return err == nil && len(page.GetExecutions()) == 1
	}, 30*time.Second, 50*time.Millisecond)
	page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'Reconcile'"})
	require.NoError(t, err)
	require.Empty(t, page.GetExecutions(), "the operations' list is theirs")
	cancel()
	require.NoError(t, <-done)
}

func TestAWorkflowThatIsUnknownIsToldFromATemporalThatIsAway(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	st, err := worker.Describer{Client: c}.Status(t.Context(), &node.Operation{WorkflowID: "node/x/deploy/1"})
	require.NoError(t, err)
	require.False(t, st.Known)

	other, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "nobody-made-it", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer other.Close()
	_, err = worker.Describer{Client: other}.Status(t.Context(), &node.Operation{WorkflowID: "node/x/deploy/1"})
	require.True(t, fault.Is(err, fault.Unavailable), "a namespace that is gone says nothing about the workflow: %v", err)
}

func TestAnOperationIsStartedOnce(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	s := worker.Starter{Client: c, Namespace: "temper"}
	const uuid = "11111111-1111-1111-1111-111111111111"
	o := &node.Operation{ID: 7, NodeUUID: uuid, Kind: node.KindDeploy, WorkflowID: node.WorkflowID(uuid, node.KindDeploy, 7, "5f0c1d2e")}
	require.NoError(t, s.Start(t.Context(), o))
	first, err := c.DescribeWorkflowExecution(t.Context(), o.WorkflowID, "")
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), o), "started already is success")
	require.NoError(t, c.TerminateWorkflow(t.Context(), o.WorkflowID, "", "test"))
	require.NoError(t, s.Start(t.Context(), o), "and so is started and closed")
	again, err := c.DescribeWorkflowExecution(t.Context(), o.WorkflowID, "")
	require.NoError(t, err)
	require.Equal(t, first.GetWorkflowExecutionInfo().GetExecution().GetRunId(), again.GetWorkflowExecutionInfo().GetExecution().GetRunId())
	require.NoError(t, s.Cancel(t.Context(), o, ""), "cancelling what has ended is no error")
	require.NoError(t, s.Nudge(t.Context(), o))
	require.NoError(t, s.ReportSteps(t.Context(), o.WorkflowID, "", conductor.StepsUpdate{}), "nor is telling it of its steps")
}

// Anybody can start a workflow under any id. It is not the operation's if type, task queue or memo differ, and is left alone.
func TestAWorkflowOfTheRightIDIsNotYetTheOperations(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	s := worker.Starter{Client: c, Namespace: "temper"}
	const uuid = "11111111-1111-1111-1111-111111111111"
	ours, kind := map[string]any{"operation": "7"}, node.KindDeploy.Spec().Workflow
	for name, foreign := range map[string]struct {
		queue, kind string
		memo        map[string]any
	}{
		"another type": {workflows.OrchestratorQueue, "Nobody", ours}, "another queue": {"nobody", kind, ours},
		"no memo": {workflows.OrchestratorQueue, kind, nil}, "another memo": {workflows.OrchestratorQueue, kind, map[string]any{"operation": 7}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &node.Operation{ID: 7, NodeUUID: uuid, Kind: node.KindDeploy, WorkflowID: node.WorkflowID(uuid, node.KindDeploy, 7, name)}
			_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: o.WorkflowID, TaskQueue: foreign.queue, Memo: foreign.memo}, foreign.kind)
			require.NoError(t, err)
			require.NoError(t, s.Start(t.Context(), o))
			st, err := s.Status(t.Context(), o)
			require.NoError(t, err)
			require.False(t, st.Known)
			require.Contains(t, st.Foreign, `of type "`+foreign.kind+`" on task queue "`+foreign.queue+`"`)
			require.NoError(t, s.Cancel(t.Context(), o, ""))
			require.NoError(t, s.Nudge(t.Context(), o))
			require.NoError(t, s.Unpause(t.Context(), o, "ann", ""))
			require.NoError(t, s.Terminate(t.Context(), o, ""))
			h := c.GetWorkflowHistory(t.Context(), o.WorkflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			events := 0
			for ; h.HasNext(); events++ {
				_, err := h.Next()
				require.NoError(t, err)
			}
			require.Equal(t, 2, events, "it was started and has its first task, and nothing else happened")
		})
	}
	o := &node.Operation{ID: 7, NodeUUID: uuid, Kind: node.KindDeploy, WorkflowID: node.WorkflowID(uuid, node.KindDeploy, 7, "own")}
	require.NoError(t, s.Start(t.Context(), o))
	st, err := s.Status(t.Context(), o)
	require.NoError(t, err)
	require.True(t, st.Open)
}

// In Temporal's list a workflow can be found by its node, and its summary says what it does to which node.
func TestAWorkflowIsFoundByItsNodesName(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	const named, nameless = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	for i, o := range []*node.Operation{{NodeUUID: named, NodeName: "rack1-u7"}, {NodeUUID: nameless}} {
		o.ID, o.Kind, o.RequestedBy = int64(i+1), node.KindDeploy, "ann"
		o.WorkflowID = node.WorkflowID(o.NodeUUID, o.Kind, o.ID, "5f0c1d2e")
		require.NoError(t, worker.Starter{Client: c}.Start(t.Context(), o))
		name := cmp.Or(o.NodeName, o.NodeUUID)
		require.Eventually(t, func() bool {
			page, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "TemperNodeName = '" + name + "'"})
			return err == nil && len(page.GetExecutions()) == 1 && page.GetExecutions()[0].GetExecution().GetWorkflowId() == o.WorkflowID
		}, 30*time.Second, 50*time.Millisecond)
		d, err := c.DescribeWorkflowExecution(t.Context(), o.WorkflowID, "")
		require.NoError(t, err)
		said := d.GetExecutionConfig().GetUserMetadata()
		var summary, details string
		require.NoError(t, converter.GetDefaultDataConverter().FromPayload(said.GetSummary(), &summary))
		require.NoError(t, converter.GetDefaultDataConverter().FromPayload(said.GetDetails(), &details))
		require.Equal(t, "deploy "+name, summary)
		require.Contains(t, details, "deploy of node "+name+", operation ")
		require.Contains(t, details, "It was requested by ann.")
	}
}

// A schedule that was deleted is created again. One that a person has paused stays paused, and
// runs only when it is triggered by its id.
func TestTheScheduleIsPutBackAndAPauseIsLeftAlone(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	ctx := t.Context()
	at := worker.Setup{Operations: worker.Place{Client: c, Namespace: "temper"}, Interval: time.Hour}
	k := worker.NewKeeper(at, noStore{}, "o", time.Hour)
	require.NoError(t, k.Schedule(ctx))
	require.NoError(t, k.Schedule(ctx), "there already")
	schedule := c.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule)
	require.NoError(t, schedule.Delete(ctx))
	require.NoError(t, k.Schedule(ctx))
	runs := func() int {
		d, err := schedule.Describe(ctx)
		require.NoError(t, err)
		return d.Info.NumActions
	}
	at.TriggerUnlessPaused(ctx, zap.NewNop())
	require.Eventually(t, func() bool { return runs() == 1 }, 30*time.Second, 50*time.Millisecond)

	require.NoError(t, schedule.Pause(ctx, client.SchedulePauseOptions{Note: "by a person"}))
	require.NoError(t, k.Schedule(ctx))
	at.TriggerUnlessPaused(ctx, zap.NewNop())
	d, err := schedule.Describe(ctx)
	require.NoError(t, err)
	require.True(t, d.Schedule.State.Paused)
	require.NoError(t, c.TerminateWorkflow(ctx, d.Info.RunningWorkflows[0].WorkflowID, "", "the next may begin"))
	require.NoError(t, at.Trigger(ctx), "by name it runs all the same")
	require.Eventually(t, func() bool { return runs() == 2 }, 30*time.Second, 50*time.Millisecond)
}

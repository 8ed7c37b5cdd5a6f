package worker_test

import (
	"context"
	"encoding/json"
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
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
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

// noLedger knows no operations.
type noLedger struct {
	activities.Ledger
	activities.Reconciler
	activities.RingBook
}

func (noLedger) Witness(context.Context, time.Time, bool) (store.Seen, error) {
	return store.Seen{}, nil
}

// The design: every orchestrator checks that namespace, search attributes and
// schedule exist, and makes them again.
func TestAnOrchestratorMakesWhatItNeedsInTemporal(t *testing.T) {
	address := temporal(t)
	const namespace = "made-by-temper"
	ctx, cancel := context.WithCancel(t.Context())
	c, err := worker.Dial(ctx, worker.Temporal{Address: address, Namespace: namespace, Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	started := make(chan struct{})
	done := make(chan error, 1)
	o := &worker.Orchestrator{
		Client: c, Namespace: namespace, Ledger: noLedger{}, Reconciler: noLedger{}, Ring: noLedger{}, Witnesses: noLedger{}, Conductors: time.Minute, Interval: time.Hour, StopGrace: time.Second,
		Metrics: worker.NewMetrics(prometheus.NewRegistry()), Log: zap.NewNop(), Started: func() { close(started) },
	}
	go func() {
		for {
			// A namespace that was just made is not known to all of the server at once.
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
		for _, name := range workflows.SearchAttributes {
			if have.GetCustomAttributes()[name] != enums.INDEXED_VALUE_TYPE_KEYWORD {
				return false
			}
		}
		return true
	}, 30*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := c.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule).Describe(ctx)
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

func TestAWorkflowThatIsUnknownIsToldFromATemporalThatIsAway(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	st, err := worker.Describer{Client: c}.Status(t.Context(), "node/x/deploy/1", "")
	require.NoError(t, err)
	require.False(t, st.Known)

	other, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "nobody-made-it", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer other.Close()
	_, err = worker.Describer{Client: other}.Status(t.Context(), "node/x/deploy/1", "")
	require.True(t, fault.Is(err, fault.Unavailable), "a namespace that is gone says nothing about the workflow: %v", err)
}

func TestAnOperationIsStartedOnce(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	s := worker.Starter{Client: c}
	const uuid = "11111111-1111-1111-1111-111111111111"
	o := &node.Operation{ID: 7, NodeUUID: uuid, Kind: node.KindDeploy, WorkflowID: node.WorkflowID(uuid, node.KindDeploy, 7)}
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
}

// A schedule that is gone is put back; one that a person has paused stays paused,
// and runs only when it is asked for by name.
func TestTheScheduleIsPutBackAndAPauseIsLeftAlone(t *testing.T) {
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	ctx := t.Context()
	require.NoError(t, worker.MakeSchedule(ctx, c, time.Hour))
	require.NoError(t, worker.MakeSchedule(ctx, c, time.Hour), "there already")
	schedule := c.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule)
	require.NoError(t, schedule.Delete(ctx))
	require.NoError(t, worker.MakeSchedule(ctx, c, time.Hour))
	runs := func() int {
		d, err := schedule.Describe(ctx)
		require.NoError(t, err)
		return d.Info.NumActions
	}
	worker.TriggerUnlessPaused(ctx, c, zap.NewNop())
	require.Eventually(t, func() bool { return runs() == 1 }, 30*time.Second, 50*time.Millisecond)

	require.NoError(t, schedule.Pause(ctx, client.SchedulePauseOptions{Note: "by a person"}))
	require.NoError(t, worker.MakeSchedule(ctx, c, time.Hour))
	worker.TriggerUnlessPaused(ctx, c, zap.NewNop())
	d, err := schedule.Describe(ctx)
	require.NoError(t, err)
	require.True(t, d.Schedule.State.Paused)
	require.NoError(t, c.TerminateWorkflow(ctx, d.Info.RunningWorkflows[0].WorkflowID, "", "the next may begin"))
	require.NoError(t, worker.Trigger(ctx, c), "by name it runs all the same")
	require.Eventually(t, func() bool { return runs() == 2 }, 30*time.Second, 50*time.Millisecond)
}

package worker_test

import (
	"context"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/help"
	parts "go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/worker"
	"go.temper.dev/temper/workflows"
)

// kept is a Temporal with the keeper of one orchestrator, and a database for its events.
type kept struct {
	*worker.Keeper
	t     *testing.T
	setup worker.Setup
	db    *store.Store
	c     client.Client

	address string // of Temporal
}

func keeping(t *testing.T) *kept {
	t.Helper()
	keys, err := store.NewKeyset()
	require.NoError(t, err)
	db, err := store.Open(t.Context(), store.Config{URL: testenv.Postgres(t), Keyset: keys, ConductorTimeout: time.Hour})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	address := temporal(t)
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: address, Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	k := &kept{t: t, db: db, c: c, address: address, setup: worker.Setup{Operations: worker.Place{Client: c, Namespace: "temper"}, Interval: 10 * time.Second}}
	k.Keeper = worker.NewKeeper(k.setup, db, "o", time.Hour)
	require.NoError(t, k.Schedule(t.Context()))
	return k
}

// told returns the events so far, without those of the creation.
func (k *kept) told() (out []map[string]any) {
	k.t.Helper()
	list, _, err := k.db.Events(k.t.Context(), events.Query{Through: 1 << 40, Limit: 1000, Filter: events.Filter{Types: []string{events.TemporalChanged}}})
	require.NoError(k.t, err)
	for _, e := range list {
		if e.Data["action"] != "created" {
			out = append(out, e.Data)
		}
	}
	return out
}

func (k *kept) schedule() *workflowservice.DescribeScheduleResponse {
	k.t.Helper()
	d, err := k.c.WorkflowService().DescribeSchedule(k.t.Context(), &workflowservice.DescribeScheduleRequest{Namespace: "temper", ScheduleId: workflows.ReconcileSchedule})
	require.NoError(k.t, err)
	return d
}

// edit changes the schedule as a person does.
func (k *kept) edit(change func(*schedulepb.Schedule)) {
	k.t.Helper()
	s := k.schedule().GetSchedule()
	change(s)
	_, err := k.c.WorkflowService().UpdateSchedule(k.t.Context(), &workflowservice.UpdateScheduleRequest{Namespace: "temper", ScheduleId: workflows.ReconcileSchedule, Schedule: s, RequestId: time.Now().String()})
	require.NoError(k.t, err)
}

// differs waits until Temporal shows, as it does soon after a change, whether something differs.
func (k *kept) differs(does bool) *parts.Setup {
	k.t.Helper()
	var look *parts.Setup
	require.Eventually(k.t, func() bool {
		look = k.setup.Look(k.t.Context())
		return look != nil && (len(look.Differences) > 0) == does
	}, 30*time.Second, 20*time.Millisecond)
	return look
}

// Whatever a person changes in the schedule, an orchestrator puts it right and says so, and a pause is kept.
func TestAScheduleThatAPersonHasChangedIsPutRight(t *testing.T) {
	k := keeping(t)
	k.differs(false)
	require.NoError(t, k.Schedule(t.Context()))
	require.Empty(t, k.told(), "what Temporal returns is what was written")
	start := func(s *schedulepb.Schedule) *schedulepb.ScheduleAction_StartWorkflow {
		return s.GetAction().GetAction().(*schedulepb.ScheduleAction_StartWorkflow)
	}
	for field, change := range map[string]func(*schedulepb.Schedule){
		"spec.interval": func(s *schedulepb.Schedule) {
			s.Spec.Interval[0].Interval = durationpb.New(365 * 24 * time.Hour)
		},
		"spec.structured_calendar":              func(s *schedulepb.Schedule) { s.Spec.CronString = []string{"0 0 1 1 *"} },
		"spec.end_time":                         func(s *schedulepb.Schedule) { s.Spec.EndTime = timestamppb.New(time.Now().Add(-time.Hour)) },
		"spec.jitter":                           func(s *schedulepb.Schedule) { s.Spec.Jitter = durationpb.New(time.Hour) },
		"action.start_workflow.task_queue.name": func(s *schedulepb.Schedule) { start(s).StartWorkflow.TaskQueue.Name = "nobody-polls" },
		"action.start_workflow.workflow_type.name": func(s *schedulepb.Schedule) {
			start(s).StartWorkflow.WorkflowType.Name = "Other"
		},
		"action.start_workflow.workflow_id": func(s *schedulepb.Schedule) { start(s).StartWorkflow.WorkflowId = "other" },
		"action.start_workflow.workflow_execution_timeout": func(s *schedulepb.Schedule) {
			start(s).StartWorkflow.WorkflowExecutionTimeout = nil
		},
		"action.start_workflow.input.payloads": func(s *schedulepb.Schedule) {
			start(s).StartWorkflow.Input = &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte("1")}}}
		},
		"policies.overlap_policy":   func(s *schedulepb.Schedule) { s.Policies.OverlapPolicy = enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL },
		"policies.catchup_window":   func(s *schedulepb.Schedule) { s.Policies.CatchupWindow = durationpb.New(time.Hour) },
		"policies.pause_on_failure": func(s *schedulepb.Schedule) { s.Policies.PauseOnFailure = true },
		"state.limited_actions":     func(s *schedulepb.Schedule) { s.State.LimitedActions = true },
	} {
		before := len(k.told())
		k.edit(change)
		k.differs(true)
		require.NoError(t, k.Schedule(t.Context()), field)
		k.differs(false)
		changes := k.told()[before:]
		require.Len(t, changes, 1, field)
		require.Equal(t, field, changes[0]["field"])
		require.NotEqual(t, changes[0]["from"], changes[0]["to"])
		require.Equal(t, "o", changes[0]["orchestrator"])
	}
	before := len(k.told())
	require.NoError(t, k.c.ScheduleClient().GetHandle(t.Context(), workflows.ReconcileSchedule).Pause(t.Context(), client.SchedulePauseOptions{Note: "ann: moving racks, see http://ann:hunter2" + strings.Repeat("x", 300) + "@wiki/x"}))
	k.edit(func(s *schedulepb.Schedule) { s.Spec = nil })
	k.differs(true)
	require.NoError(t, k.Schedule(t.Context()))
	look := k.differs(false)
	require.NotNil(t, look.Paused)
	require.Contains(t, look.PauseNote, "ann: moving racks")
	require.NotContains(t, look.PauseNote, "hunter2")
	require.Len(t, k.told(), before+1)
}

// A schedule that was deleted is missing until it is created again. Triggers and backfills change nothing of it.
func TestAScheduleThatIsDeletedTriggeredOrBackfilled(t *testing.T) {
	k := keeping(t)
	h := k.c.ScheduleClient().GetHandle(t.Context(), workflows.ReconcileSchedule)
	require.NoError(t, h.Delete(t.Context()))
	look := k.differs(true)
	require.True(t, look.Differences[0].Missing())
	require.NoError(t, k.Schedule(t.Context()))
	k.differs(false)
	now := time.Now()
	require.NoError(t, h.Trigger(t.Context(), client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL}))
	require.NoError(t, h.Backfill(t.Context(), client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{
		{Start: now.Add(-time.Hour), End: now, Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL},
	}}))
	require.NoError(t, k.Schedule(t.Context()))
	require.Empty(t, k.differs(false).Differences)
	require.Empty(t, k.told())
}

// A run without a time limit, on a queue that nobody polls, would keep all others from starting.
func TestAReconciliationThatHangsIsTerminated(t *testing.T) {
	k := keeping(t)
	k.edit(func(s *schedulepb.Schedule) {
		start := s.GetAction().GetStartWorkflow()
		start.WorkflowExecutionTimeout, start.TaskQueue.Name = nil, "nobody-polls"
	})
	h := k.c.ScheduleClient().GetHandle(t.Context(), workflows.ReconcileSchedule)
	require.NoError(t, h.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
	var hangs *commonpb.WorkflowExecution
	require.Eventually(t, func() bool {
		running := k.schedule().GetInfo().GetRunningWorkflows()
		if len(running) > 0 {
			hangs = running[0]
		}
		return hangs != nil
	}, 30*time.Second, 20*time.Millisecond)
	require.NoError(t, k.Schedule(t.Context()))
	state := func() enums.WorkflowExecutionStatus {
		d, err := k.c.DescribeWorkflowExecution(t.Context(), hangs.GetWorkflowId(), hangs.GetRunId())
		require.NoError(t, err)
		return d.GetWorkflowExecutionInfo().GetStatus()
	}
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, state(), "it may still end")
	k.Keeper = worker.NewKeeper(k.setup, k.db, "o", time.Nanosecond)
	require.Eventually(t, func() bool {
		require.NoError(t, k.Schedule(t.Context()))
		return state() == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	}, 30*time.Second, 20*time.Millisecond)
	all := k.told()
	require.Equal(t, "terminated", all[len(all)-1]["action"])
	require.Equal(t, hangs.GetWorkflowId(), all[len(all)-1]["name"])
}

// Of two orchestrators that want different schedules, the one that has started last changes it, and the other one
// only when that is gone.
func TestTwoOrchestratorsDoNotFightForTheSchedule(t *testing.T) {
	k := keeping(t)
	other := k.setup
	other.Interval = 20 * time.Second
	newer := &kept{Keeper: worker.NewKeeper(other, k.db, "p", time.Hour), t: t, setup: other, db: k.db, c: k.c}
	for _, name := range []string{"o", "p"} {
		_, err := k.db.SeeProcess(t.Context(), coverage.Process{Role: coverage.RoleOrchestrator, Name: name, Version: "1"}, true)
		require.NoError(t, err)
	}
	_, err := k.db.SeeProcess(t.Context(), coverage.Process{Role: coverage.RoleAPI, Name: "q", Version: "1"}, true)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, k.Schedule(t.Context()))
		require.NoError(t, newer.Schedule(t.Context()))
		newer.differs(false)
	}
	require.Len(t, k.told(), 1)
	require.NoError(t, k.db.ForgetProcess(t.Context(), coverage.Process{Role: coverage.RoleOrchestrator, Name: "p"}))
	require.NoError(t, k.Schedule(t.Context()))
	k.differs(false)
	require.Len(t, k.told(), 2)
}

// A namespace that was deleted is made again, with its search attributes and its schedule.
func TestANamespaceThatIsDeletedIsMadeAgain(t *testing.T) {
	k := keeping(t)
	const gone = "gone"
	c, err := worker.InNamespace(t.Context(), k.c, gone, "test", zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	k.setup.Operations = worker.Place{Client: c, Namespace: gone}
	k.Keeper = worker.NewKeeper(k.setup, k.db, "o", time.Hour)
	made := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			if k.Operations(t.Context()) != nil || k.Schedule(t.Context()) != nil {
				return false // a new namespace is not known everywhere at once
			}
			look := k.setup.Look(t.Context())
			return look != nil && len(look.Differences) == 0
		}, 60*time.Second, 100*time.Millisecond)
	}
	require.NotEmpty(t, k.setup.Look(t.Context()).Differences)
	made()
	_, err = k.c.OperatorService().DeleteNamespace(t.Context(), &operatorservice.DeleteNamespaceRequest{Namespace: gone})
	require.NoError(t, err)
	look := k.differs(true)
	require.Equal(t, help.TemporalNamespace, look.Differences[0].Object)
	require.True(t, look.Differences[0].Missing())
	made()
}

// A namespace gets what it lacks. A longer retention stays, and a type that can't be changed is named.
func TestANamespaceThatAPersonHasChanged(t *testing.T) {
	k := keeping(t)
	ctx := t.Context()
	retain := func(d time.Duration) {
		_, err := k.c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
			Namespace: "temper", Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(d)},
		})
		require.NoError(t, err)
	}
	retention := func() time.Duration {
		d, err := k.c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: "temper"})
		require.NoError(t, err)
		return d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	}
	retain(24 * time.Hour)
	require.Equal(t, "24h0m0s", k.differs(true).Differences[0].Have)
	require.NoError(t, k.Operations(ctx))
	require.Equal(t, 72*time.Hour, retention())
	require.Equal(t, "retention", k.told()[0]["field"])
	retain(1000 * time.Hour)
	require.NoError(t, k.Operations(ctx))
	require.Equal(t, 1000*time.Hour, retention())

	remove := func(name string) {
		_, err := k.c.OperatorService().RemoveSearchAttributes(ctx, &operatorservice.RemoveSearchAttributesRequest{Namespace: "temper", SearchAttributes: []string{name}})
		require.NoError(t, err)
	}
	remove("TemperHeld")
	require.True(t, k.differs(true).Differences[0].Missing())
	require.NoError(t, k.Operations(ctx))
	k.differs(false)

	remove("TemperHeld")
	k.differs(true)
	_, err := k.c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: "temper", SearchAttributes: map[string]enums.IndexedValueType{"TemperHeld": enums.INDEXED_VALUE_TYPE_INT},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		all := k.differs(true).Differences
		return all[0].Have == "Int" && all[0].Want == "Bool" && all[0].Name == "TemperHeld"
	}, 30*time.Second, 20*time.Millisecond)
	remove("TemperStep")
	require.Eventually(t, func() bool { return len(k.differs(true).Differences) == 2 }, 30*time.Second, 20*time.Millisecond)
	require.ErrorContains(t, k.Operations(ctx), "TemperHeld")
	require.Eventually(t, func() bool { return len(k.differs(true).Differences) == 1 }, 30*time.Second, 20*time.Millisecond, "the other one is added all the same")
}

// What Temporal does not let an orchestrator change keeps it from nothing else, and stays visible.
func TestWhatAnOrchestratorMayNotChange(t *testing.T) {
	k := keeping(t)
	_, err := k.c.WorkflowService().UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: "temper", Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(24 * time.Hour)},
	})
	require.NoError(t, err)
	_, err = k.c.OperatorService().RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{Namespace: "temper", SearchAttributes: []string{"TemperHeld"}})
	require.NoError(t, err)
	k.edit(func(s *schedulepb.Schedule) { s.Policies.PauseOnFailure = true })
	limited, err := client.DialContext(t.Context(), client.Options{HostPort: k.address, Namespace: "temper", ConnectionOptions: client.ConnectionOptions{
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			if name := path.Base(method); name == "UpdateNamespace" || name == "UpdateSchedule" {
				return status.Error(codes.PermissionDenied, "Request unauthorized.")
			}
			return invoke(ctx, method, req, reply, cc, o...)
		})},
	}})
	require.NoError(t, err)
	defer limited.Close()
	setup := k.setup
	setup.Operations.Client = limited
	one := worker.NewKeeper(setup, k.db, "o", time.Hour)
	require.ErrorContains(t, one.Operations(t.Context()), "retention of namespace temper")
	require.ErrorContains(t, one.Schedule(t.Context()), "unauthorized")
	require.Eventually(t, func() bool { return len(k.differs(true).Differences) == 2 }, 30*time.Second, 20*time.Millisecond, "the search attribute is there again")
	require.Empty(t, k.told())
}

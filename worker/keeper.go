package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.uber.org/zap"
	"google.golang.org/protobuf/types/known/durationpb"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/workflows"
)

// SetupStore is what the keeper needs of the database.
type SetupStore interface {
	// StartedLast reports whether no live orchestrator has started after the one of that name.
	StartedLast(ctx context.Context, name string) (bool, error)
	AddEvent(ctx context.Context, e events.Event) error
}

// keeper puts right what differs in Temporal from what this version wants, and records each change as an event.
//
// Orchestrators of two versions, or with two settings, want different schedules. So only the one that has started last
// changes a schedule. Namespaces only get more: a longer retention, further search attributes.
type keeper struct {
	setup Setup
	store SetupStore
	name  string        // of this orchestrator, in the table of processes
	stuck time.Duration // age from which on a reconciliation is terminated
	log   *zap.Logger

	untold []events.Event // changes that the database has not taken yet
}

// stuckAfter is the age from which on a reconciliation is terminated. Temporal ends it after reconcileTimeout, unless
// a person took that limit out of the schedule.
const stuckAfter = 2 * reconcileTimeout

// callTimeout bounds the calls about one namespace.
const callTimeout = 10 * time.Second

// errWrongType says that a search attribute has another type, which Temporal can't change.
var errWrongType = errors.New("it has another type, which Temporal can't change")

// hopeless reports whether trying again soon can't help.
func hopeless(err error) bool { return forbidden(err) || errors.Is(err, errWrongType) }

// keepOperations keeps the namespace of operations and its search attributes.
func (k *keeper) keepOperations(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p := k.setup.Operations
	d, err := k.makeNamespace(ctx, p, retention)
	if err != nil {
		return err
	}
	return errors.Join(k.keepRetention(ctx, p, d, retention), k.keepAttributes(ctx, p))
}

// makeNamespace creates the namespace if it is missing. It returns its description if it was there.
func (k *keeper) makeNamespace(ctx context.Context, p Place, keep time.Duration) (*workflowservice.DescribeNamespaceResponse, error) {
	service := p.Client.WorkflowService()
	d, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: p.Namespace})
	if noNamespace(err) {
		_, err = service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: p.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(keep),
		})
		var there *serviceerror.NamespaceAlreadyExists
		if errors.As(err, &there) {
			return nil, nil // another orchestrator was faster
		}
		if err == nil {
			k.tell(ctx, created, p.missingNamespace(keep))
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", p.Namespace, err)
	}
	return d, nil
}

// keepRetention lengthens the retention of a namespace if it is too short.
func (k *keeper) keepRetention(ctx context.Context, p Place, d *workflowservice.DescribeNamespaceResponse, keep time.Duration) error {
	if d == nil {
		return nil // it was created right now
	}
	differ := p.namespaceDifferences(d, keep)
	if len(differ) == 0 {
		return nil
	}
	_, err := p.Client.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: p.Namespace, Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(keep)},
	})
	if err != nil {
		return fmt.Errorf("retention of namespace %s: %w", p.Namespace, err)
	}
	k.tell(ctx, changed, differ...)
	return nil
}

// keepAttributes adds the search attributes that are missing.
func (k *keeper) keepAttributes(ctx context.Context, p Place) error {
	have, err := p.attributes(ctx)
	if err != nil {
		return err
	}
	missing, wrong := map[string]enums.IndexedValueType{}, []error(nil)
	var added []help.Difference
	for _, d := range p.attributeDifferences(have) {
		if d.Have != "" {
			wrong = append(wrong, fmt.Errorf("search attribute %s of namespace %s: %w", d.Name, p.Namespace, errWrongType))
			continue
		}
		missing[d.Name] = workflows.SearchAttributes[d.Name]
		added = append(added, d)
	}
	if len(missing) > 0 {
		_, err = p.Client.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: p.Namespace, SearchAttributes: missing})
		var there *serviceerror.AlreadyExists
		switch {
		case err == nil:
			k.tell(ctx, created, added...)
		case !errors.As(err, &there):
			wrong = append(wrong, fmt.Errorf("add search attributes to namespace %s: %w", p.Namespace, err))
		}
	}
	return errors.Join(wrong...)
}

// keepSchedule creates the reconciliation's schedule if it is missing, and puts right what differs. If it replaces another
// schedule, before is that one's state, whose pause is kept.
func (k *keeper) keepSchedule(ctx context.Context, p Place, before *schedulepb.ScheduleState) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := p.schedule(ctx)
	if notFound(err) {
		return k.createSchedule(ctx, p, before)
	}
	if err != nil {
		return fmt.Errorf("schedule of the reconciliations: %w", err)
	}
	if differ := p.scheduleDifferences(d.GetSchedule(), k.setup.Interval); len(differ) > 0 {
		last, err := k.store.StartedLast(ctx, k.name)
		if err != nil || !last {
			return err
		}
		_, err = p.Client.WorkflowService().UpdateSchedule(ctx, &workflowservice.UpdateScheduleRequest{
			Namespace: p.Namespace, ScheduleId: workflows.ReconcileSchedule, Identity: k.name, RequestId: uuid.NewString(),
			Schedule: wantedSchedule(k.setup.Interval, d.GetSchedule().GetState()), ConflictToken: d.GetConflictToken(),
		})
		if err != nil {
			return fmt.Errorf("put the schedule of the reconciliations right: %w", err)
		}
		k.tell(ctx, changed, differ...)
	}
	return k.endStuck(ctx, p, d.GetInfo().GetRunningWorkflows())
}

func (k *keeper) createSchedule(ctx context.Context, p Place, before *schedulepb.ScheduleState) error {
	_, err := p.Client.WorkflowService().CreateSchedule(ctx, &workflowservice.CreateScheduleRequest{
		Namespace: p.Namespace, ScheduleId: workflows.ReconcileSchedule, Identity: k.name, RequestId: uuid.NewString(),
		Schedule: wantedSchedule(k.setup.Interval, before),
	})
	var there *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &there) {
		return nil // another orchestrator was faster
	}
	if err != nil {
		return fmt.Errorf("create the schedule of the reconciliations: %w", err)
	}
	k.tell(ctx, created, p.missingSchedule(k.setup.Interval))
	return nil
}

// endStuck terminates reconciliations that hang, because no other one is started meanwhile.
func (k *keeper) endStuck(ctx context.Context, p Place, running []*commonpb.WorkflowExecution) error {
	for _, run := range running {
		d, err := p.Client.DescribeWorkflowExecution(ctx, run.GetWorkflowId(), run.GetRunId())
		if notFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at reconciliation %s: %w", run.GetWorkflowId(), err)
		}
		info := d.GetWorkflowExecutionInfo()
		if info.GetCloseTime() != nil || time.Since(info.GetStartTime().AsTime()) < k.stuck {
			continue
		}
		err = p.Client.TerminateWorkflow(ctx, run.GetWorkflowId(), run.GetRunId(), "it hangs, and no other reconciliation is started meanwhile")
		if notFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("end reconciliation %s, which hangs: %w", run.GetWorkflowId(), err)
		}
		k.tell(ctx, terminated, help.Difference{Namespace: p.Namespace, Object: help.TemporalWorkflow, Name: run.GetWorkflowId()})
	}
	return nil
}

// What an orchestrator does in Temporal, as events name it.
const (
	created    = "created"
	changed    = "changed"
	terminated = "terminated"
)

// tell logs a change of one object, or of several of a kind, and records it as an event.
func (k *keeper) tell(ctx context.Context, action string, all ...help.Difference) {
	for _, d := range all {
		k.log.Warn("changed in Temporal", zap.String("action", action), zap.String("namespace", d.Namespace), zap.String("what", d.What()), zap.String("field", d.Field),
			zap.String("from", d.Have), zap.String("to", d.Want))
	}
	for _, d := range all {
		k.untold = append(k.untold, events.Event{Type: events.TemporalChanged, Data: map[string]any{
			"orchestrator": k.name, "action": action, "namespace": d.Namespace, "object": d.Object, "name": d.Name, "field": d.Field, "from": d.Have, "to": d.Want,
		}})
	}
	_ = k.flush(ctx)
}

// flush records the changes that are not recorded yet.
func (k *keeper) flush(ctx context.Context) error {
	for len(k.untold) > 0 {
		if err := k.store.AddEvent(ctx, k.untold[0]); err != nil {
			return fmt.Errorf("record what was changed in Temporal: %w", err)
		}
		k.untold = k.untold[1:]
	}
	return nil
}

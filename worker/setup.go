package worker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/workflows"
)

// Place is a namespace of Temporal and a client of it.
type Place struct {
	Client    client.Client
	Namespace string
}

// Setup is what Temper has made in Temporal: its namespaces, their search attributes, and the reconciliation's schedule.
// Orchestrators keep it as their version wants it (keeper). APIs only compare it (Look).
type Setup struct {
	Operations Place
	Own        Place // of the reconciliations; without a client they run among the operations
	Interval   time.Duration
}

// retention is how long Temporal keeps closed workflows at least. It is much longer than the interval of the
// reconciliation, which has to find them.
const retention = 72 * time.Hour

// reconcileRetention is how long reconciliations stay readable at least. There is one every few seconds.
const reconcileRetention = 24 * time.Hour

// Look compares what is in Temporal with what this version wants. It leaves out what Temporal does not let this client
// read. It returns nil if Temporal does not answer.
func (s Setup) Look(ctx context.Context) *status.Setup {
	out := &status.Setup{}
	at, d, err := s.findSchedule(ctx)
	errs := []error{err, s.Operations.lookAtNamespace(ctx, retention, out), s.Operations.lookAtAttributes(ctx, out)}
	if at.Namespace != s.Operations.Namespace {
		errs = append(errs, at.lookAtNamespace(ctx, reconcileRetention, out))
	}
	for _, err := range errs {
		if err != nil && !unreadable(err) {
			return nil
		}
	}
	switch state := d.GetSchedule().GetState(); {
	case notFound(err):
		out.Differences = append(out.Differences, at.missingSchedule(s.Interval))
	case err == nil:
		out.Differences = append(out.Differences, at.scheduleDifferences(d.GetSchedule(), s.Interval)...)
		if state.GetPaused() {
			out.Paused = &help.Difference{Namespace: at.Namespace, Object: help.TemporalSchedule, Name: workflows.ReconcileSchedule, Field: help.PausedField}
			out.PauseNote = bounded(state.GetNotes())
		}
	}
	return out
}

// unreadable reports whether the error means that what was to be read is missing, or that this client may not read it.
func unreadable(err error) bool { return notFound(err) || noNamespace(err) || forbidden(err) }

func (p Place) lookAtNamespace(ctx context.Context, keep time.Duration, out *status.Setup) error {
	d, err := p.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: p.Namespace})
	if noNamespace(err) {
		out.Differences = append(out.Differences, p.missingNamespace(keep))
	}
	if err == nil {
		out.Differences = append(out.Differences, p.namespaceDifferences(d, keep)...)
	}
	return err
}

func (p Place) lookAtAttributes(ctx context.Context, out *status.Setup) error {
	have, err := p.attributes(ctx)
	if err == nil {
		out.Differences = append(out.Differences, p.attributeDifferences(have)...)
	}
	return err
}

func (p Place) missingNamespace(keep time.Duration) help.Difference {
	return help.Difference{Namespace: p.Namespace, Object: help.TemporalNamespace, Want: keep.String()}
}

// namespaceDifferences compares a namespace. A longer retention is an operator's choice.
func (p Place) namespaceDifferences(d *workflowservice.DescribeNamespaceResponse, keep time.Duration) (out []help.Difference) {
	if have := d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); have < keep {
		out = append(out, help.Difference{Namespace: p.Namespace, Object: help.TemporalNamespace, Field: "retention", Have: have.String(), Want: keep.String()})
	}
	return out
}

func (p Place) attributes(ctx context.Context) (map[string]enums.IndexedValueType, error) {
	have, err := p.Client.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: p.Namespace})
	if err != nil {
		return nil, fmt.Errorf("search attributes of namespace %s: %w", p.Namespace, err)
	}
	return have.GetCustomAttributes(), nil
}

// attributeDifferences returns the search attributes that are missing, whose Have is "", and those of another type.
func (p Place) attributeDifferences(have map[string]enums.IndexedValueType) (out []help.Difference) {
	for _, name := range slices.Sorted(maps.Keys(workflows.SearchAttributes)) {
		want := workflows.SearchAttributes[name]
		d := help.Difference{Namespace: p.Namespace, Object: help.TemporalAttribute, Name: name, Field: "type", Want: want.String()}
		if is, ok := have[name]; ok {
			d.Have = is.String()
		}
		if d.Have != d.Want {
			out = append(out, d)
		}
	}
	return out
}

func (p Place) schedule(ctx context.Context) (*workflowservice.DescribeScheduleResponse, error) {
	return p.Client.WorkflowService().DescribeSchedule(ctx, &workflowservice.DescribeScheduleRequest{Namespace: p.Namespace, ScheduleId: workflows.ReconcileSchedule})
}

func (p Place) missingSchedule(interval time.Duration) help.Difference {
	return help.Difference{Namespace: p.Namespace, Object: help.TemporalSchedule, Name: workflows.ReconcileSchedule, Flags: scheduleFlags(interval, nil)}
}

// scheduleDifferences returns the fields of the schedule that differ. A pause and its note are a person's.
func (p Place) scheduleDifferences(have *schedulepb.Schedule, interval time.Duration) (out []help.Difference) {
	for _, f := range differ("", have.ProtoReflect(), wantedSchedule(interval, have.GetState()).ProtoReflect()) {
		out = append(out, help.Difference{
			Namespace: p.Namespace, Object: help.TemporalSchedule, Name: workflows.ReconcileSchedule, Field: f.name,
			Have: cmp.Or(f.have, "none"), Want: cmp.Or(f.want, "none"), Flags: scheduleFlags(interval, have.GetState()),
		})
	}
	return out
}

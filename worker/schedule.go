package worker

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/workflows"
)

// ensureInterval is how often each orchestrator looks at what Temper has made in Temporal.
const ensureInterval = 15 * time.Second

// ensureRetry is the pause after something could not be put right for now.
const ensureRetry = time.Second

// ensureTemporal keeps the namespaces, their search attributes and the reconciliation's schedule as this version wants them,
// until ctx ends. It does not end a pause of the schedule.
func (o *Orchestrator) ensureTemporal(ctx context.Context, rec *reconcileWorker) error {
	next := time.NewTimer(0)
	defer next.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		err := errors.Join(rec.keeper.keepOperations(ctx), rec.ensureSchedule(ctx), rec.keeper.flush(ctx))
		pause, words := ensureInterval, ""
		if err != nil {
			words = err.Error()
			if !hopeless(err) {
				pause = ensureRetry
			}
		}
		if words != "" && words != logged && ctx.Err() == nil {
			o.Log.Warn("what Temper needs in Temporal could not be put right; \"temper status\" says what a person can do", zap.Error(err))
		}
		logged = words
		next.Reset(pause)
	}
}

// findSchedule describes the reconciliation's schedule where it is: in the namespace of the reconciliations, or among the
// operations if that namespace can't be had, or if an older release has created it there. If it is missing in both, it
// returns that of the two in which it is to be.
func (s Setup) findSchedule(ctx context.Context) (Place, *workflowservice.DescribeScheduleResponse, error) {
	if s.Own.Client == nil {
		d, err := s.Operations.schedule(ctx)
		return s.Operations, d, err
	}
	own, ownErr := s.Own.schedule(ctx)
	if ownErr == nil || !unreadable(ownErr) {
		return s.Own, own, ownErr
	}
	d, err := s.Operations.schedule(ctx)
	if notFound(err) && notFound(ownErr) {
		return s.Own, nil, ownErr
	}
	return s.Operations, d, err
}

func noNamespace(err error) bool {
	var missing *serviceerror.NamespaceNotFound
	return errors.As(err, &missing)
}

// forbidden reports whether Temporal does not let this client do it, or does not let any client.
func forbidden(err error) bool {
	var denied *serviceerror.PermissionDenied
	var missing *serviceerror.Unimplemented
	return errors.As(err, &denied) || errors.As(err, &missing)
}

// Trigger starts a reconciliation now or, if one is running, after it.
func (s Setup) Trigger(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	at, _, err := s.findSchedule(ctx)
	if err == nil {
		err = at.trigger(ctx)
	}
	if err != nil {
		return fault.New(fault.Unavailable, "run the reconciliation: %w", err)
	}
	return nil
}

// triggerUnlessPaused is Trigger for callers that are no person: it does nothing if a person has
// paused the schedule. An error is logged, because the schedule triggers the next one anyway.
func (s Setup) triggerUnlessPaused(ctx context.Context, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	at, d, err := s.findSchedule(ctx)
	if err == nil && !d.GetSchedule().GetState().GetPaused() {
		err = at.trigger(ctx)
	}
	if err != nil {
		log.Info("no reconciliation could be triggered; the next one is as scheduled", zap.Error(err))
	}
}

// trigger starts a reconciliation now or, if one is running, after it.
func (p Place) trigger(ctx context.Context) error {
	return p.Client.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule).Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
}

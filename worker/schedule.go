package worker

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
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

// Reconciliation is where the reconciliation's schedule is.
type Reconciliation struct {
	Own        client.Client // of the namespace of reconciliations; nil = they run in the operations' namespace
	Operations client.Client
}

// places returns the clients of the namespaces in which the schedule may be, the likelier first. It
// is in the operations' namespace if its own can't be created, or if an older release has
// created it.
func (r Reconciliation) places() []client.Client {
	if r.Own == nil {
		return []client.Client{r.Operations}
	}
	return []client.Client{r.Own, r.Operations}
}

// find describes the schedule, in whichever namespace it is.
func (r Reconciliation) find(ctx context.Context) (h client.ScheduleHandle, d *client.ScheduleDescription, err error) {
	for _, c := range r.places() {
		h = c.ScheduleClient().GetHandle(ctx, workflows.ReconcileSchedule)
		if d, err = h.Describe(ctx); err == nil || !notFound(err) && !noNamespace(err) && !forbidden(err) {
			break
		}
	}
	return h, d, err
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
func (r Reconciliation) Trigger(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, _, err := r.find(ctx)
	if err == nil {
		err = h.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
	}
	if err != nil {
		return fault.New(fault.Unavailable, "run the reconciliation: %w", err)
	}
	return nil
}

// triggerUnlessPaused is Trigger for callers that are no person: it does nothing if a person has
// paused the schedule. An error is logged, because the schedule triggers the next one anyway.
func (r Reconciliation) triggerUnlessPaused(ctx context.Context, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	h, d, err := r.find(ctx)
	if err == nil && !d.Schedule.State.Paused {
		err = h.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE})
	}
	if err != nil {
		log.Info("no reconciliation could be triggered; the next one is as scheduled", zap.Error(err))
	}
}

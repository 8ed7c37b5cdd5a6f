package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"

	"go.temper.dev/temper/internal/chaos"
)

// stalled is the error of a round that tried nothing: before anything had happened to the conductor of its cases, the
// machine stood still for so long that Temporal did not get the heartbeats of a step, and gave the step to another conductor.
type stalled struct{ why error }

func (s *stalled) Error() string { return "the machine stood still: " + s.why.Error() }

// mostTries is how often a round begins before its cases count as late, because the machine stood still each time.
const mostTries = 3

// again tries a group of cases, anew if the machine stood still.
func (l *lab) again(ctx context.Context, r row, cases []point) ([]*trial, error) {
	for try := 1; ; try++ {
		trials, err := l.round(ctx, r, cases)
		var s *stalled
		if !errors.As(err, &s) || try == mostTries {
			return trials, err
		}
		l.say("%s: %d cases begin anew: %v", r.name, len(cases), s)
		if err := l.restore(ctx); err != nil {
			l.say("servers that can't be used any more: %v", err)
		}
	}
}

// stalled returns the reason why the round has tried nothing; nil if it has. err is how the round ended.
func (r *round) stalled(err error) *stalled {
	var s *stalled
	if errors.As(err, &s) || r.victim == nil || r.first.IsZero() {
		return s
	}
	passed, err := r.victim.trace()
	if err != nil {
		return nil // whoever needs the trace reports this
	}
	early := slices.IndexFunc(passed, func(p chaos.Passed) bool { return p.Name == chaos.HandedOver && p.At.Before(r.first) })
	if early < 0 {
		return nil
	}
	return &stalled{fmt.Errorf("%s handed operation %d over %s before anything happened to it", r.victim.name, passed[early].Operation,
		r.first.Sub(passed[early].At).Round(time.Millisecond))}
}

// abandon gives up the cases of a round that the machine has stalled.
func (r *round) abandon(s *stalled) {
	for _, t := range r.trials {
		t.err = &missed{s}
		r.discard(t.s)
	}
}

// stayHeld is stay for operations whose conductor is alive and keeps its steps. If Temporal has given a step away all the
// same, the error is a *stalled.
func (r *round) stayHeld(ctx context.Context, d time.Duration) error {
	err := r.stay(ctx, d)
	var early *ended
	if !errors.As(err, &early) {
		return err
	}
	silent, look := r.silent(ctx, early.t)
	if look != nil || !silent {
		return errors.Join(err, look)
	}
	return &stalled{fmt.Errorf("no heartbeats of %s (operation %s) reached Temporal", early.t.point, early.t.id)}
}

// silent reports whether an attempt of the trial's operation has ended because Temporal got no heartbeats of it.
func (r *round) silent(ctx context.Context, t *trial) (bool, error) {
	c, err := r.temporal()
	if err != nil {
		return false, err
	}
	defer c.Close()
	o, err := r.Operation(ctx, t.id)
	if err != nil {
		return false, err
	}
	all := c.GetWorkflowHistory(ctx, o.WorkflowID, o.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for all.HasNext() {
		e, err := all.Next()
		if err != nil {
			return false, err
		}
		if e.GetActivityTaskTimedOutEventAttributes().GetFailure().GetTimeoutFailureInfo().GetTimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT {
			return true, nil
		}
	}
	return false, nil
}

package conductor

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Steps are the activities that touch hardware. They run on conductors.
type Steps struct {
	Records  Records
	Drivers  map[string]bmc.Driver // by hardware type
	Settings Settings
	Log      *zap.Logger
	Observe  Observer
	// OpenAgent opens the conversation with a node's ramdisk agent.
	OpenAgent func(t agent.Target, s agent.Settings) (Agent, error)
	// Image makes of instance_info what the agent has to fetch; a checksum that
	// is given as a URL is fetched, so that the agent gets a digest.
	Image func(ctx context.Context, nodeUUID string, instance, driver map[string]any) (agent.ImageInfo, error)
	// Tell tells the calling workflow which of its steps runs; nil = it is not told.
	Tell func(ctx context.Context, workflowID, runID string, told Told) error
	// Fake delays a step of a fake interface as the settings say.
	Fake func(ctx context.Context, iface string) error
}

// Observer is told what happened, for the metrics. Fields may be nil.
type Observer struct {
	Step func(interfaceName, step, outcome string, d time.Duration)
	// Wait is how long steps stood in the queue of a group's driver.
	Wait func(group, driver string, d time.Duration)
	// Lost is told of each write or look that was refused because another claim is
	// newer: "claim", "guard", "save" (Counted).
	Lost func(what string)
	// LeftOut is called with the number of MACs that an inspection found and that got no port.
	LeftOut func(n int)
}

// StepsInput names the operation; what to do is in its row.
type StepsInput struct {
	Operation int64  `json:"operation"`
	Node      string `json:"node"`
	Seq       int64  `json:"seq"` // raised by the workflow with every activity it schedules
	// Tried are the conductors that got no answer from the hardware in this round.
	Tried []string `json:"tried,omitempty"`
}

// Next says what the workflow is to do after the steps that could be run.
type Next string

// What comes next.
const (
	NextClose Next = "close" // every step is done
	NextAgent Next = "agent" // wait for the agent to call
	NextHold  Next = "hold"  // wait for a person
	NextAsked Next = "asked" // cancel, abort or delete was asked for: undo
	// NextElsewhere: this conductor got no answer from the hardware, and another
	// one that covers the node has not tried yet.
	NextElsewhere Next = "elsewhere"
	// NextReady: nothing may be done before somebody can go on (Operations.Ready).
	NextReady Next = "ready"
	// NextOrphaned: paused in the middle of a step whose conductor died.
	NextOrphaned Next = "orphaned"
	// NextFailed: the step that is next has failed for good before, and nobody has
	// decided about it.
	NextFailed Next = "failed"
)

// StepsResult tells the workflow how far the operation is. Steps are for people.
type StepsResult struct {
	Next      Next       `json:"next"`
	Until     *time.Time `json:"until,omitempty"` // NextAgent: when to give up
	Conductor string     `json:"conductor"`
	Error     string     `json:"error,omitempty"` // NextFailed
	// Hold means, with NextFailed, that the operation holds for a decision whatever
	// its on_failure is, because conductors died of the step.
	Hold  bool                  `json:"hold,omitempty"`
	Steps []activities.StepLine `json:"steps"`
}

// RunSteps claims the operation and runs its steps from the first that is not
// over, until one has to wait, one fails or none is left. Each step is recorded
// before it begins and when it is over, so that whoever runs this next goes on
// at the same step.
func (s *Steps) RunSteps(ctx context.Context, in StepsInput) (StepsResult, error) {
	ctx, stop := s.alive(ctx)
	defer stop()
	t, err := s.claim(ctx, in)
	switch {
	case errors.Is(err, errElsewhere):
		return StepsResult{Next: NextReady, Conductor: s.Settings.Conductor}, nil
	case err != nil:
		return StepsResult{}, s.verdict(ctx, nil, err)
	}
	defer t.close()
	if err := t.countDeath(ctx); err != nil {
		return StepsResult{}, s.verdict(ctx, nil, err)
	}
	next, err := t.runAll(ctx)
	for t.forgoes(ctx, err) {
		if err = t.forgo(ctx, err); err == nil {
			next, err = t.runAll(ctx)
		}
	}
	if fault.Is(err, fault.NotAllowed) && t.overtaken(ctx) {
		return t.result(NextAsked), nil
	}
	if t.passesOn(ctx, err) {
		return t.result(NextElsewhere), nil
	}
	if err != nil {
		return StepsResult{}, s.verdict(ctx, t, err)
	}
	return t.result(next), nil
}

// Why a step is left before its end, without anybody wanting it to end.
var (
	errStopping = errors.New("this conductor is stopping")
	errFrozen   = errors.New("this conductor stood still for longer than a step may be silent")
	errCutOff   = errors.New("temporal does not take this conductor's heartbeats, or has given the step to another one")
	errPaused   = errors.New("somebody has paused the activity in Temporal")
	errReset    = errors.New("somebody has reset the activity in Temporal")
)

// alive heartbeats until stop is called. It cancels the context, so that the step
// returns at once and goes on elsewhere, when the worker is being stopped, and when
// this process has stood still (SIGSTOP, a sleeping host): the step is another's
// by now. Where Temporal does not take heartbeats the SDK cancels the context,
// after the throttle interval and one request (internal_task_handlers.go,
// internalHeartBeat): before the server gives the step to another.
func (s *Steps) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	stopping := activity.GetWorkerStopChannel(ctx)
	// The activity's own timeout, because somebody may have changed it in Temporal.
	silent := cmp.Or(activity.GetInfo(ctx).HeartbeatTimeout, s.Settings.HeartbeatTimeout)
	go func() {
		beat := time.NewTicker(silent / 5)
		defer beat.Stop()
		last := time.Now()
		for {
			select {
			case <-done:
				return
			case <-stopping:
				cancel(errStopping)
				return
			case <-beat.C:
				if time.Since(last) > silent {
					cancel(errFrozen)
					return
				}
				last = time.Now() // before the request, which may take a while
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	activity.RecordHeartbeat(ctx)
	return ctx, func() { close(done); cancel(nil) }
}

// enoughAttempts is the attempt from which on a database that took the claim and then
// does not answer counts as a failure of the step. What the step reads or writes then
// takes longer than it may, and would be tried for ever.
const enoughAttempts = 20

func (s *Steps) claim(ctx context.Context, in StepsInput) (*task, error) {
	info := activity.GetInfo(ctx)
	c := node.Claim{Seq: in.Seq, Attempt: info.Attempt}
	n, err := s.Records.Claim(ctx, in.Operation, info.WorkflowExecution.RunID, c, info.StartedTime, s.Settings.Conductor)
	if err != nil {
		return nil, err
	}
	if s.Observe.Wait != nil && info.Attempt == 1 {
		s.Observe.Wait(n.Operation.Group, n.Operation.Driver, info.StartedTime.Sub(info.ScheduledTime))
	}
	if elsewhere(info.TaskQueue, n.Operation) {
		return nil, errElsewhere
	}
	driver, ok := s.Drivers[n.Driver]
	if !ok {
		return nil, fault.New(fault.NoValidHost, "conductor %s has no driver %s", s.Settings.Conductor, n.Driver)
	}
	sealed, err := s.Records.Credentials(ctx, n)
	if err != nil {
		return nil, err
	}
	t := newTask(s, n, n.Operation.Claim, driver, sealed)
	t.tried = in.Tried
	return t, nil
}

// verdict turns the end of a run into what Temporal does next. A step that is
// to be tried again has been recorded as failed already.
func (s *Steps) verdict(ctx context.Context, t *task, err error) error {
	cause := context.Cause(ctx)
	switch {
	case fault.Is(err, fault.Lost):
		return activities.NonRetryable(err)
	case errors.Is(cause, errStopping):
		if t != nil {
			t.putDown(nil)
		}
		return handOver(errStopping)
	case errors.Is(cause, activity.ErrActivityPaused):
		info := activity.GetInfo(ctx)
		if t != nil {
			t.putDown(&node.Pause{What: node.PauseOfActivity, At: time.Now().UTC(), Activity: info.ActivityID})
		}
		return handOver(errPaused)
	case errors.Is(cause, activity.ErrActivityReset):
		if t != nil {
			t.putDown(nil)
		}
		return handOver(errReset)
	case temporal.IsCanceledError(cause): // as the SDK tells the workflow's cancel from its own
		return cancelled()
	case errors.Is(ctx.Err(), context.Canceled):
		if !errors.Is(cause, errFrozen) {
			cause = errCutOff
		}
		if t != nil {
			// Whether another one has it by now is worth knowing, and is counted.
			t.log.Warn("step left", zap.NamedError("why", cause), zap.Bool("taken over", t.putDown(nil)))
		}
		return handOver(cause)
	case fault.Is(err, fault.Unavailable) && (t == nil || activity.GetInfo(ctx).Attempt < enoughAttempts):
		return activities.RetryAfter(err, time.Second) // the database is away, which is not the hardware's fault
	case t == nil && lasts(err) && activity.GetInfo(ctx).Attempt >= StepLimit:
		// Nobody could even begin, the secrets do not open: there is no step to
		// note it on, and it would be tried for ever without a word.
		return activities.NonRetryable(err)
	case t == nil:
		return activities.RetryAfter(err, time.Second)
	}
	return t.verdict(err)
}

package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/chaos"
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
	// Image makes of instance_info what the agent has to fetch; a checksum that
	// is given as a URL is fetched, so that the agent gets a digest.
	Image func(ctx context.Context, nodeUUID string, instance, driver map[string]any) (agent.ImageInfo, error)
	// Fake delays a step of a fake interface as the settings say.
	Fake func(ctx context.Context, iface string) error
}

// Observer is told what happened, for the metrics. Fields may be nil.
type Observer struct {
	Step func(interfaceName, step, outcome string, d time.Duration)
	// Wait is how long steps stood in the queue of a group's driver.
	Wait func(group, driver string, d time.Duration)
	Lost func()
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
	Steps     []StepLine `json:"steps"`
}

// StepLine is a step as the workflow shows it.
type StepLine struct {
	Name      string         `json:"name"`
	State     node.StepState `json:"state"`
	Attempts  int            `json:"attempts"`
	Conductor string         `json:"conductor,omitempty"`
	LastError string         `json:"last_error,omitempty"`
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
	t.at(ctx, chaos.Claimed, t.phase())
	next, err := t.runAll(ctx)
	if fault.Is(err, fault.NotAllowed) && t.overtaken(ctx) {
		return t.result(NextAsked), nil
	}
	if t.passesOn(ctx, err) {
		return t.result(NextElsewhere), nil
	}
	if err != nil {
		return StepsResult{}, s.verdict(ctx, t, err)
	}
	t.at(ctx, chaos.Recorded, "")
	return t.result(next), nil
}

// errStopping says that this worker is being stopped and hands its step over.
var errStopping = errors.New("this conductor is stopping")

// alive heartbeats until stop is called and cancels the context when the
// worker is being stopped: the step returns at once and goes on elsewhere.
func (s *Steps) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	stopping := activity.GetWorkerStopChannel(ctx)
	go func() {
		beat := time.NewTicker(s.Settings.HeartbeatTimeout / 5)
		defer beat.Stop()
		for {
			select {
			case <-done:
				return
			case <-stopping:
				cancel(errStopping)
				return
			case <-beat.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	activity.RecordHeartbeat(ctx)
	return ctx, func() { close(done); cancel(nil) }
}

func (s *Steps) claim(ctx context.Context, in StepsInput) (*task, error) {
	info := activity.GetInfo(ctx)
	c := node.Claim{Seq: in.Seq, Attempt: info.Attempt}
	n, err := s.Records.Claim(ctx, in.Operation, info.WorkflowExecution.RunID, c, s.Settings.Conductor)
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
	sealed, err := s.Records.Credentials(ctx, n.UUID)
	if err != nil {
		return nil, err
	}
	t := newTask(s, n, c, driver, sealed)
	t.tried = in.Tried
	return t, nil
}

// verdict turns the end of a run into what Temporal does next. A step that is
// to be tried again has been recorded as failed already.
func (s *Steps) verdict(ctx context.Context, t *task, err error) error {
	switch {
	case fault.Is(err, fault.Lost):
		if s.Observe.Lost != nil {
			s.Observe.Lost()
		}
		return never(err)
	case errors.Is(context.Cause(ctx), errStopping):
		if t != nil {
			t.putDown()
		}
		return handOver(errStopping)
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return cancelled()
	case t == nil:
		return again(err, time.Second)
	}
	return t.verdict(err)
}

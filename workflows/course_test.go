package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// course is a way that an operation can take.
type course struct {
	name    string
	blocked bool // no conductor covers the node at first
	hold    bool // a step that fails waits for a decision
	silent  bool // what it waits for does not come, and nobody decides; half of the time the node is in maintenance
	reset   bool // the run was reset in Temporal, and its operation belongs to another run at first
	runs    []func() (conductor.StepsResult, error)
	undo    bool // there is something to undo
	hosts   []node.Host
	ends    node.Outcome
}

func agentCall() (conductor.StepsResult, error) {
	return conductor.StepsResult{Next: conductor.NextAgent, Conductor: "c1"}, nil
}

var refusal = fails(fault.Refused, "the BMC refuses")

var courses = []course{
	{name: "steps, a wait for the agent, steps", runs: steps(agentCall, done), ends: node.Succeeded},
	{name: "a step that fails", runs: steps(agentCall, refusal), undo: true, ends: node.Failed},
	{name: "somebody asks for the end", runs: steps(asked), undo: true, ends: node.Cancelled},
	{name: "a conductor that gets no answer", runs: steps(silentTo("c1"), done), hosts: two, ends: node.Succeeded},
	{name: "nobody covers the node at first", blocked: true, runs: steps(done), ends: node.Succeeded},
	{name: "a step that fails and is tried again by decision", hold: true, runs: steps(refusal, done), ends: node.Succeeded},
	{name: "a step that fails, and nobody decides", hold: true, silent: true, runs: steps(refusal), undo: true, ends: node.Failed},
	{name: "an agent that never calls", silent: true, runs: steps(agentCall), undo: true, ends: node.Failed},
	{name: "a conductor that dies in maintenance", runs: steps(orphaned), ends: node.Failed},
	{name: "a run that was reset", reset: true, runs: steps(agentCall, done), ends: node.Succeeded},
	{name: "a run that was reset, and a step that fails", reset: true, runs: steps(refusal), undo: true, ends: node.Failed},
}

func orphaned() (conductor.StepsResult, error) {
	return conductor.StepsResult{Next: conductor.NextOrphaned, Conductor: "c1"}, nil
}

func steps(s ...func() (conductor.StepsResult, error)) []func() (conductor.StepsResult, error) {
	return s
}

func asked() (conductor.StepsResult, error) {
	return conductor.StepsResult{Next: conductor.NextAsked, Conductor: "c1"}, nil
}

// row stands for the database, the hardware and the conductors of one operation. Like the real activities, one that runs
// twice under the same claim returns the same result twice.
type row struct {
	course
	env *testsuite.TestWorkflowEnvironment
	at  int    // which call is disturbed, from 1; 0 = none
	how string // which of disturbances
	nap int    // in which wait the workflow is cancelled, from 1; 0 = in none

	mu        sync.Mutex
	calls     []string // every try, in order
	hit       bool     // the disturbance took place
	cancelled bool
	disturbed string   // the activity that saw the cancel, while it runs
	seqs      []int64  // the number of each claim, in the order in which they were taken
	late      []string // what began on hardware after the cancel
	results   map[int64]func() (conductor.StepsResult, error)
	undone    int
	waitReads int
	until     time.Time // when the wait ends
	naps      []string  // the waits that began, by the call before each
	own       bool      // this run has adopted the operation
	heldLooks int
	decided   bool
	closed    []orchestrator.EndInput
	started   []int64
}

var errPassing = errors.New("connection refused")

// call is one try of an activity.
func (r *row) call(name string, effect func() error) error {
	r.mu.Lock()
	r.calls = append(r.calls, name)
	if len(r.calls) > 100 {
		r.mu.Unlock()
		return temporal.NewNonRetryableApplicationError("it goes round in circles", fault.Lost.String(), nil)
	}
	now := len(r.calls) == r.at
	r.hit = r.hit || now
	r.mu.Unlock()
	if !now {
		return effect()
	}
	switch r.how {
	case "fails once":
		return errPassing
	case "runs twice":
		if err := effect(); err != nil {
			return err
		}
		return errPassing
	case "fails for good":
		return temporal.NewNonRetryableApplicationError("it is wrong", fault.Invalid.String(), nil)
	case "is not its own any more":
		return temporal.NewNonRetryableApplicationError("it is another run's", fault.Lost.String(), nil)
	case "sees a cancel":
		r.mu.Lock()
		r.cancelled, r.disturbed = true, name
		r.mu.Unlock()
		r.env.CancelWorkflow()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.disturbed = ""
		}()
	}
	return effect()
}

// claim records the claim of an activity on hardware.
func (r *row) claim(name string, seq int64) {
	if slices.Contains(r.seqs, seq) {
		return
	}
	r.seqs = append(r.seqs, seq)
	if r.cancelled && name != "Undo" && name != r.disturbed { // the workflow may go on before the disturbed activity does
		r.late = append(r.late, name)
	}
}

func (r *row) runSteps(_ context.Context, in conductor.StepsInput) (res conductor.StepsResult, err error) {
	err = r.call("RunSteps", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claim("RunSteps", in.Seq)
		do, again := r.results[in.Seq]
		if !again {
			do = done // after the course's runs, all steps succeed
			if k := len(r.results); k < len(r.runs) {
				do = r.runs[k]
			}
			r.results[in.Seq] = do
		}
		res, err = do()
		return err
	})
	return res, err
}

func (r *row) runUndo(_ context.Context, in conductor.UndoInput) (conductor.UndoResult, error) {
	return conductor.UndoResult{}, r.call("Undo", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claim("Undo", in.Seq)
		r.undone++
		return nil
	})
}

// waitState answers a workflow that reads whether it may go on: not at first, and then it may.
func (r *row) waitState(name string) (s orchestrator.WaitState, err error) {
	err = r.call(name, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waitReads++
		if r.waitReads == 1 {
			r.until = r.env.Now().Add(time.Hour)
		}
		if s = (orchestrator.WaitState{GoOn: r.waitReads > 1 && !r.silent, Group: "g1", Driver: "redfish", WaitForConductor: time.Hour}); !s.GoOn {
			s.Until, s.WaitingFor = &r.until, "what is to come"
		}
		return nil
	})
	return s, err
}

func (r *row) end(_ context.Context, in orchestrator.EndInput) (c orchestrator.Closed, err error) {
	err = r.call("Close", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Contains(r.closed, in) { // closing an operation again with the same outcome succeeds
			r.closed = append(r.closed, in)
		}
		c.FollowUp = 8
		return nil
	})
	return c, err
}

func (r *row) hold(_ context.Context, in orchestrator.HoldInput) (h orchestrator.Held, err error) {
	err = r.call("Hold", func() error {
		h = orchestrator.Held{Until: r.env.Now().Add(in.Wait), WaitingFor: "a decision", Step: "deploy.write_image"}
		return nil
	})
	return h, err
}

func (r *row) heldSight(context.Context, int64) (s orchestrator.HoldState, err error) {
	err = r.call("LookHeld", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.Unhold = !r.decided && !r.silent
		r.heldLooks++
		s.Paused = r.silent && r.heldLooks <= 2
		return nil
	})
	return s, err
}

func (r *row) standStill(_ context.Context, in orchestrator.StillInput) (waitingFor string, err error) {
	err = r.call("StandStill", func() error {
		waitingFor = fmt.Sprint("a decision until ", in.Until)
		return nil
	})
	return waitingFor, err
}

func (r *row) begin(context.Context, int64) (orchestrator.WorkflowSettings, error) {
	err := r.call("Begin", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.reset && !r.own {
			return temporal.NewNonRetryableApplicationError("it is another run's", fault.Lost.String(), nil)
		}
		return nil
	})
	return orchestrator.WorkflowSettings{
		Driver: "redfish", HeartbeatTimeout: 5 * time.Second, ConductorTimeout: 15 * time.Second, WaitForConductor: 15 * time.Minute, StepsTimeout: 24 * time.Hour,
		Blocked: r.blocked, Hold: r.course.hold, DecisionWait: time.Hour,
	}, err
}

// adopt gives the operation to this run, with the claim number of the run before.
func (r *row) adopt(context.Context, int64) (orchestrator.Adopted, error) {
	return orchestrator.Adopted{Took: true, Seq: 40, Wait: 9 * time.Second}, r.call("Adopt", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.own = true
		return nil
	})
}

// operate is the workflow. It sets the run's OriginalRunID, because the test environment has no resets.
func (r *row) operate(ctx workflow.Context, in workflows.Input) error {
	if r.reset {
		workflow.GetInfo(ctx).OriginalRunID = "the run before"
	}
	return workflows.Operate(ctx, in)
}

func (r *row) decide(context.Context, orchestrator.DecideInput) error {
	return r.call("Decide", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.decided = true
		return nil
	})
}

// activities returns all activities that a workflow of an operation calls.
func (r *row) activities() map[string]any {
	return map[string]any{
		"Begin": r.begin, "Adopt": r.adopt, "StandStill": r.standStill,
		"RunSteps": r.runSteps, "Undo": r.runUndo, "Close": r.end,
		"Look": func(context.Context, int64) (orchestrator.WaitState, error) { return r.waitState("Look") },
		"Ready": func(context.Context, orchestrator.ReadyInput) (orchestrator.WaitState, error) {
			return r.waitState("Ready")
		},
		"PlanUndo": func(context.Context, int64, node.Outcome, node.Failure) (orchestrator.UndoPlan, error) {
			return orchestrator.UndoPlan{Needed: r.undo, Covered: true}, r.call("PlanUndo", func() error { return nil })
		},
		"Elsewhere": func(_ context.Context, _ int64, tried []string) (h node.Host, err error) {
			err = r.call("Elsewhere", func() error {
				for _, x := range r.hosts {
					if !slices.Contains(tried, x.Name) {
						h = x
					}
				}
				return nil
			})
			return h, err
		},
		"StartOperation": func(_ context.Context, id int64) error {
			return r.call("StartOperation", func() error { r.started = append(r.started, id); return nil })
		},
		"Hold": r.hold, "LookHeld": r.heldSight, "Decide": r.decide,
	}
}

// run runs the course with an operation of a kind, and returns its row.
func (r *row) run(kind node.OperationKind) error {
	var s testsuite.WorkflowTestSuite
	r.env, r.results = s.NewTestWorkflowEnvironment(), map[int64]func() (conductor.StepsResult, error){}
	r.env.SetTestTimeout(30 * time.Second)
	for name, f := range r.activities() {
		r.env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	r.env.SetOnTimerScheduledListener(func(string, time.Duration) {
		r.mu.Lock()
		r.naps = append(r.naps, r.calls[len(r.calls)-1])
		now := len(r.naps) == r.nap
		r.cancelled = r.cancelled || now
		r.mu.Unlock()
		if now {
			r.env.CancelWorkflow()
		}
	})
	in := input
	in.Kind = kind
	r.env.ExecuteWorkflow(r.operate, in)
	if !r.env.IsWorkflowCompleted() {
		return errors.New("it did not come to an end")
	}
	return nil
}

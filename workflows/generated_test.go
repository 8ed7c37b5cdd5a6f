package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// The course of an operation is run once undisturbed, and then again with every activity of it, one at a time, disturbed
// in every way: the cases are made from what the undisturbed run did, so that a course that grows has more of them.

// disturbances are what can happen to an activity.
var disturbances = []string{
	"fails once",              // before it did anything; Temporal tries it again
	"runs twice",              // its effect is there, and its answer is lost
	"fails for good",          // with an error that trying again can't help
	"is not its own any more", // another run, or reconciliation, has the operation
	"sees a cancel",           // which comes while it runs
}

// course is a way that an operation can take.
type course struct {
	name    string
	stalled bool // nobody covers the node at first
	hold    bool // a step that fails waits for a decision
	runs    []func() (activities.StepsResult, error)
	undo    bool // there is something to undo
	hosts   []node.Host
	ends    node.Outcome
}

func agentCall() (activities.StepsResult, error) {
	return activities.StepsResult{Next: activities.NextAgent, Conductor: "c1"}, nil
}

var refusal = fails(fault.Refused, "the BMC refuses")

var courses = []course{
	{name: "steps, a wait for the agent, steps", runs: steps(agentCall, done), ends: node.Succeeded},
	{name: "a step that fails", runs: steps(agentCall, refusal), undo: true, ends: node.Failed},
	{name: "somebody asks for the end", runs: steps(asked), undo: true, ends: node.Cancelled},
	{name: "a conductor that gets no answer", runs: steps(silentTo("c1"), done), hosts: two, ends: node.Succeeded},
	{name: "nobody covers the node at first", stalled: true, runs: steps(done), ends: node.Succeeded},
	{name: "a step that fails and is tried again by decision", hold: true, runs: steps(refusal, done), ends: node.Succeeded},
}

func steps(s ...func() (activities.StepsResult, error)) []func() (activities.StepsResult, error) {
	return s
}

func asked() (activities.StepsResult, error) {
	return activities.StepsResult{Next: activities.NextAsked, Conductor: "c1"}, nil
}

// row is the database, the hardware and the conductors of one operation. What is done twice under one claim gives the same
// answer twice, as the real ones do.
type row struct {
	course
	env *testsuite.TestWorkflowEnvironment
	at  int    // which call is disturbed, from 1; 0 = none
	how string // in which way

	mu        sync.Mutex
	calls     []string // every try, in order
	hit       bool     // the disturbance took place
	cancelled bool
	seqs      []int64  // claims in the order in which they were taken first
	late      []string // what began on hardware after the cancel
	results   map[int64]func() (activities.StepsResult, error)
	undone    int
	looks     int
	decided   bool
	closed    []activities.EndInput
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
		r.cancelled = true
		r.mu.Unlock()
		r.env.CancelWorkflow()
	}
	return effect()
}

// claim notes the claim of an activity on hardware.
func (r *row) claim(name string, seq int64) {
	if slices.Contains(r.seqs, seq) {
		return
	}
	r.seqs = append(r.seqs, seq)
	if r.cancelled && name != "Undo" && !(len(r.calls) == r.at) {
		r.late = append(r.late, name)
	}
}

func (r *row) runSteps(_ context.Context, in activities.StepsInput) (res activities.StepsResult, err error) {
	err = r.call("RunSteps", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claim("RunSteps", in.Seq)
		do, again := r.results[in.Seq]
		if !again {
			do = done // what is done is done
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

func (r *row) runUndo(_ context.Context, in activities.UndoInput) (activities.UndoResult, error) {
	return activities.UndoResult{}, r.call("Undo", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claim("Undo", in.Seq)
		r.undone++
		return nil
	})
}

// sight is what a wait sees: nothing at first, then that it may go on.
func (r *row) sight(name string) (s activities.Sight, err error) {
	err = r.call(name, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.looks++
		if s = (activities.Sight{GoOn: r.looks > 1, Group: "g1", Driver: "redfish", WaitForConductor: time.Hour}); !s.GoOn {
			until := r.env.Now().Add(time.Hour)
			s.Until, s.WaitingFor = &until, "what is to come"
		}
		return nil
	})
	return s, err
}

func (r *row) end(_ context.Context, in activities.EndInput) (c activities.Closed, err error) {
	err = r.call("Close", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Contains(r.closed, in) { // closing what is closed with the same outcome succeeds
			r.closed = append(r.closed, in)
		}
		c.FollowUp = 8
		return nil
	})
	return c, err
}

func (r *row) hold(_ context.Context, in activities.HoldInput) (h activities.Held, err error) {
	err = r.call("Hold", func() error {
		h = activities.Held{Until: r.env.Now().Add(in.Wait), WaitingFor: "a decision", Step: "deploy.write_image"}
		return nil
	})
	return h, err
}

func (r *row) heldSight(context.Context, int64) (s activities.HeldSight, err error) {
	err = r.call("LookHeld", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.Unhold = !r.decided
		return nil
	})
	return s, err
}

func (r *row) decide(context.Context, activities.DecideInput) error {
	return r.call("Decide", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.decided = true
		return nil
	})
}

// run takes the course with a kind of operation, and returns what came of it.
func (r *row) run(kind node.Kind) error {
	var s testsuite.WorkflowTestSuite
	r.env, r.results = s.NewTestWorkflowEnvironment(), map[int64]func() (activities.StepsResult, error){}
	r.env.SetTestTimeout(30 * time.Second)
	for name, f := range map[string]any{
		"Begin": func(context.Context, int64) (b activities.Brief, err error) {
			return activities.Brief{
				Driver: "redfish", HeartbeatTimeout: 5 * time.Second, WaitForConductor: 15 * time.Minute, StepsTimeout: 24 * time.Hour,
				Stalled: r.stalled, Hold: r.course.hold, DecisionWait: time.Hour,
			}, r.call("Begin", func() error { return nil })
		},
		"RunSteps": r.runSteps, "Undo": r.runUndo, "Close": r.end,
		"Look":  func(context.Context, int64) (activities.Sight, error) { return r.sight("Look") },
		"Ready": func(context.Context, activities.ReadyInput) (activities.Sight, error) { return r.sight("Ready") },
		"PlanUndo": func(context.Context, int64, node.Outcome) (activities.UndoPlan, error) {
			return activities.UndoPlan{Needed: r.undo, Covered: true}, r.call("PlanUndo", func() error { return nil })
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
	} {
		r.env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	in := input
	in.Kind = kind
	r.env.ExecuteWorkflow(workflows.Operate, in)
	if !r.env.IsWorkflowCompleted() {
		return errors.New("it did not come to an end")
	}
	return nil
}

// wrong says what of the promises did not hold.
func (r *row) wrong() error {
	name := r.calls[r.at-1]
	atTheEnd := slices.Contains([]string{"PlanUndo", "Undo", "Close", "StartOperation"}, name)
	want := []node.Outcome{r.ends}
	switch {
	case !slices.IsSorted(r.seqs):
		return fmt.Errorf("claims are not newer each time: %v", r.seqs)
	case len(r.late) > 0:
		return fmt.Errorf("%v began on hardware after the cancel", r.late)
	case r.how == "is not its own any more" && name != "StartOperation" && name != "Undo":
		if len(r.calls) > r.at {
			return fmt.Errorf("after it was lost: %v", r.calls[r.at:])
		}
		return nil
	case r.how == "fails for good" && (name == "Begin" || name == "Close"):
		if len(r.calls) > r.at || r.env.GetWorkflowError() == nil {
			return fmt.Errorf("it went on: %v, %w", r.calls[r.at:], r.env.GetWorkflowError())
		}
		return nil // reconciliation ends the operation
	case r.how == "fails for good" && !atTheEnd:
		want = []node.Outcome{node.Failed}
	case r.how == "sees a cancel" && !atTheEnd:
		want = []node.Outcome{node.Cancelled, r.ends} // steps that are over by then are over
	}
	if len(r.closed) != 1 || !slices.Contains(want, r.closed[0].Outcome) {
		return fmt.Errorf("closed as %v, want one of %v", r.closed, want)
	}
	if planned := slices.Contains(r.calls, "PlanUndo"); planned != (r.closed[0].Outcome != node.Succeeded) {
		return fmt.Errorf("whether anything is to be undone was asked: %v", planned)
	}
	if r.undo && name != "PlanUndo" && r.closed[0].Outcome != node.Succeeded && !slices.Contains(r.calls, "Undo") {
		return errors.New("what was half done was not undone")
	}
	if len(r.started) == 0 && !(name == "StartOperation") {
		return errors.New("what was asked to follow was not started")
	}
	return nil
}

// A failure, a repetition, a loss and a cancel at each activity of each course of each kind of operation.
func TestEveryActivityOfEveryCourseMayFailRunTwiceOrSeeACancel(t *testing.T) {
	cases, expected := 0, 0
	perKind := map[node.Kind]int{}
	for kind := range workflows.Types {
		for _, c := range courses {
			calm := &row{course: c}
			require.NoError(t, calm.run(kind), c.name)
			require.Len(t, calm.closed, 1, c.name)
			require.Equal(t, c.ends, calm.closed[0].Outcome, "%s: %v", c.name, calm.closed)
			expected += len(calm.calls) * len(disturbances)
			for at := range calm.calls {
				for _, how := range disturbances {
					r := &row{course: c, at: at + 1, how: how}
					what := fmt.Sprintf("%s, %s: %s (call %d) %s", kind, c.name, calm.calls[at], at+1, how)
					require.NoError(t, r.run(kind), what)
					require.True(t, r.hit, "%s: it did not come to that: %v", what, r.calls)
					require.Equal(t, calm.calls[:at+1], r.calls[:at+1], what)
					require.NoError(t, r.wrong(), "%s: %v", what, r.calls)
					cases++
					perKind[kind]++
				}
			}
		}
	}
	require.Equal(t, expected, cases)
	require.Len(t, perKind, len(workflows.Types))
	for kind, n := range perKind {
		require.GreaterOrEqual(t, n, 200, "%s has fewer cases than its courses make", kind)
	}
	t.Logf("%d cases", cases)
}

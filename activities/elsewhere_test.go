package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func hosts(names ...string) []node.Host {
	var out []node.Host
	for i, n := range names {
		out = append(out, node.Host{Name: n, Incarnation: int64(i + 1)})
	}
	return out
}

func TestAConductorThatGetsNoAnswerPassesTheStepOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		covering []string
		tried    []string
		passed   bool
	}{
		"another one covers the node":               {[]string{"c1", "c2"}, nil, true},
		"it is the only one":                        {[]string{"c1"}, nil, false},
		"the others have tried":                     {[]string{"c1", "c2"}, []string{"c2"}, false},
		"one of many has not":                       {[]string{"c1", "c2", "c3"}, []string{"c2"}, true},
		"three are enough to say that nobody does":  {[]string{"c1", "c2", "c3", "c4"}, []string{"c2", "c3"}, false},
		"one that left the coverage is not counted": {[]string{"c2"}, []string{"c2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
			b.machine.silent, b.tried = true, c.tried
			b.book.covered(c.covering...)
			r, err := b.run()
			step := b.op().Steps[0]
			require.Contains(t, step.LastError, "no answer in time")
			require.Equal(t, node.StepRunning, step.State)
			if !c.passed {
				require.Error(t, err)
				require.False(t, final(err))
				require.Equal(t, 1, step.Failures, "the round is over, and counts")
				return
			}
			require.NoError(t, err)
			require.Equal(t, conductor.NextElsewhere, r.Next)
			require.Equal(t, "c1", r.Conductor)
			require.Zero(t, step.Failures, "the round is not over")
		})
	}
}

// With a dead BMC the step fails after as many rounds of all conductors as a single conductor would make tries.
func TestARoundIsOneFailureOfTheStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.silent = true
	b.book.covered("c1", "c2")
	for i := 1; i <= conductor.StepLimit; i++ {
		b.steps.Settings.Conductor, b.tried = "c1", nil
		r, err := b.run()
		require.NoError(t, err)
		require.Equal(t, conductor.NextElsewhere, r.Next)
		b.steps.Settings.Conductor, b.tried = "c2", []string{"c1"}
		_, err = b.run()
		require.Equal(t, i == conductor.StepLimit, final(err), "round %d", i)
	}
}

// The BMC stops answering after a request was sent. A conductor that can hand the step over to another one does so, and
// does not wait until the time for the power change has passed.
func TestAWatchOfThePowerThatGetsNoAnswerIsPassedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		covering []string
		passed   bool
	}{"another one covers the node": {[]string{"c1", "c2"}, true}, "nobody else does": {[]string{"c1"}, false}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
			b.steps.Settings.PowerTimeout = 10 * time.Second
			b.book.covered(c.covering...)
			b.machine.answer = func(bmc.PowerRequest) (bool, error) {
				b.machine.silent = true
				if !c.passed {
					time.AfterFunc(50*time.Millisecond, func() { b.machine.mu.Lock(); b.machine.silent = false; b.machine.mu.Unlock() })
				}
				return true, fault.New(fault.Unreachable, "lost: %w", fault.NoAnswerError("no answer in time"))
			}
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
			if !c.passed {
				require.Equal(t, conductor.NextClose, r.Next, "it waited, and saw it")
				return
			}
			require.Equal(t, conductor.NextElsewhere, r.Next)
			b.machine.silent, b.steps.Settings.Conductor, b.tried = false, "c2", []string{"c1"}
			r, err = b.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextClose, r.Next)
			require.Len(t, b.machine.asked, 1, "read back, not repeated")
		})
	}
}

// A request gets no answer. A conductor that can hand the step over does so at once, and does not send another request
// that would time out as well.
func TestWhatALostAnswerSaidIsReadByAnotherConductor(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.book.covered("c1", "c2")
	b.machine.answer = func(bmc.PowerRequest) (bool, error) {
		return true, fault.New(fault.Unreachable, "lost: %w", fault.NoAnswerError("no answer in time"))
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextElsewhere, r.Next)
	require.Equal(t, string(bmc.RequestForceOff), b.op().Steps[0].Issued.Command, "whoever goes on knows that it was sent")
	b.steps.Settings.Conductor, b.tried = "c2", []string{"c1"}
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Len(t, b.machine.asked, 1, "read back, not repeated")
}

func TestAnUndoThatGetsNoAnswerIsPassedOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) { o.Undo = []node.Undo{node.UndoPowerOff} })
	b.machine.silent = true
	b.book.covered("c1", "c2")
	r, err := b.undoResult()
	require.NoError(t, err)
	require.Equal(t, conductor.UndoResult{Elsewhere: true, Conductor: "c1"}, r)
	require.Equal(t, []node.Undo{node.UndoPowerOff}, b.op().Undo, "it is still to be done")
	b.tried = []string{"c2"}
	_, err = b.undoResult()
	require.ErrorContains(t, err, "no answer in time")
}

func TestAnotherConductorIsOneThatCoversTheNodeAndHasNotTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation int64
		tried     []string
		want      node.Host
	}{
		"one of those that are left":      {4, []string{"c1"}, node.Host{Name: "c2", Incarnation: 2}},
		"the next operation, another one": {5, []string{"c1"}, node.Host{Name: "c3", Incarnation: 3}},
		"nobody is left":                  {4, []string{"c1", "c2", "c3"}, node.Host{}},
	} {
		t.Run(name, func(t *testing.T) {
			var s testsuite.WorkflowTestSuite
			env := s.NewTestActivityEnvironment()
			ops := &orchestrator.Operations{Store: &crew{hosts: hosts("c1", "c2", "c3")}}
			env.RegisterActivity(ops)
			for range 2 { // it may run twice
				v, err := env.ExecuteActivity(ops.Elsewhere, c.operation, c.tried)
				require.NoError(t, err)
				var got node.Host
				require.NoError(t, v.Get(&got))
				require.Equal(t, c.want, got)
			}
		})
	}
}

// crew is a database with conductors.
type crew struct {
	page
	hosts []node.Host
}

func (c *crew) Covering(context.Context, string) ([]node.Host, error) {
	return c.hosts, nil
}

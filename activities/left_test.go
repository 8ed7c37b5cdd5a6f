package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// The SDK cancels a step's context for several reasons, and only one of them is a cancel of the operation. If Temporal was
// only away, the operation must not end.
func TestAStepThatTheSDKStopsIsHandedOverUnlessTheWorkflowCancelsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause     error
		cancelled bool
	}{
		"temporal does not take heartbeats":       {serviceerror.NewUnavailable("connection refused"), false},
		"temporal does not answer":                {serviceerror.NewDeadlineExceeded("context deadline exceeded"), false},
		"the step was given to another":           {serviceerror.NewNotFound("invalid activityID or activity already timed out"), false},
		"the worker was shut down under the step": {context.Canceled, false},
		"the workflow is cancelled":               {temporal.NewCanceledError(), true},
	} {
		for _, taken := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
				ctx, cancel := context.WithCancelCause(t.Context())
				b.machine.answer = func(bmc.PowerRequest) (bool, error) {
					if taken {
						b.changeOp(func(o *node.Operation) { o.Claim = node.Claim{Seq: 99, Attempt: 1} })
					}
					cancel(c.cause)
					return false, nil
				}
				var s testsuite.WorkflowTestSuite
				env := s.NewTestActivityEnvironment()
				env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
				env.RegisterActivity(b.steps)
				_, err := env.ExecuteActivity(b.steps.RunSteps, conductor.StepsInput{Operation: b.book.op, Node: uuid, Seq: 1})
				require.Equal(t, c.cancelled, temporal.IsCanceledError(err), "%v", err)
				require.Zero(t, b.op().Steps[0].Failures, "it is no failure of the step")
				if !c.cancelled {
					require.Equal(t, "handed over", kindOf(err))
					require.False(t, final(err))
				}
				require.Equal(t, taken, b.lost > 0, "what is another's by now is counted")
				require.Equal(t, !taken, b.op().Rests, "this conductor says that it has left the step, so that nobody takes it for lost")
			})
		}
	}
}

// If the database is away and a save fails, that does not count as a failure of the step.
func TestADatabaseThatIsAwayIsNoFailureOfAStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.steps.Store = &away{book: b.book, at: 2}
	_, err := b.run()
	require.Equal(t, fault.Unavailable.String(), kindOf(err))
	require.False(t, final(err))
	require.Empty(t, b.machine.asked, "what can't be written down is not sent")
	b.steps.Store = b.book
	_, err = b.run()
	require.NoError(t, err)
	require.Zero(t, b.op().Steps[0].Failures)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
}

// away is a database that can't be reached at the nth save.
type away struct {
	*book
	at int
}

func (a *away) SaveSteps(ctx context.Context, id int64, c node.Claim, p node.Progress) (node.Ask, error) {
	if a.at--; a.at == 0 {
		return "", fault.New(fault.Unavailable, "save steps: the database is away")
	}
	return a.book.SaveSteps(ctx, id, c, p)
}

package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestErrorsAreRetriedByClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		final bool
	}{
		"a BMC that says later":       {bmc.Busy(3*time.Second, "503"), false},
		"a BMC that refuses":          {fault.New(fault.Refused, "400"), true},
		"a wrong password":            {fault.New(fault.Denied, "401"), true},
		"a certificate nobody signed": {fault.New(fault.Untrusted, "x509"), true},
		"settings that make no sense": {fault.New(fault.Invalid, "redfish_address"), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
			b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, c.err }
			_, err := b.run()
			require.Error(t, err)
			require.Equal(t, c.final, final(err))
			require.Equal(t, c.err.Error(), b.op().Steps[0].LastError)
			want := node.StepRunning
			if c.final {
				want = node.StepFailed
			}
			require.Equal(t, want, b.op().Steps[0].State)
		})
	}
}

func TestAStepFailsForGoodAfterItsLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.reads = func() error { return fault.New(fault.Unreachable, "connection reset") }
	for i := 1; i <= conductor.StepLimit; i++ {
		_, err := b.run()
		require.Equal(t, i == conductor.StepLimit, final(err), "failure %d", i)
	}
}

func TestAnswersThatSayLaterAreNoFailuresForAWhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind    node.OperationKind
		state   node.State
		power   node.PowerState
		patient func(s *conductor.Settings, d time.Duration)
	}{
		"of a step":         {node.KindManage, node.Verifying, "", func(s *conductor.Settings, d time.Duration) { s.BusyPatience = d }},
		"of a power change": {node.KindPower, node.Active, node.PowerOff, func(s *conductor.Settings, d time.Duration) { s.PowerTimeout = d }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.kind, c.state, bmc.PowerOn, fakes, plan.Options{Power: c.power})
			b.machine.reads = func() error { return bmc.Busy(0, "503") }
			c.patient(&b.steps.Settings, time.Hour)
			for range 3 * conductor.StepLimit {
				_, err := b.run()
				require.False(t, final(err), err)
			}
			step := b.op().Steps[0]
			require.Zero(t, step.Failures)
			require.Equal(t, "503", step.LastError)
			require.NotNil(t, step.BusySince)
			c.patient(&b.steps.Settings, time.Nanosecond)
			for i := 1; i <= conductor.StepLimit; i++ {
				_, err := b.run()
				require.Equal(t, i == conductor.StepLimit, final(err), "failure %d", i)
			}
		})
	}
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.machine.reads = func() error { return bmc.Busy(0, "503") }
	_, err := b.run()
	require.Error(t, err)
	b.machine.reads = func() error { return fault.New(fault.Unreachable, "connection reset") }
	_, err = b.run()
	require.Error(t, err)
	require.Nil(t, b.op().Steps[0].BusySince, "it is counted anew from the next such answer")
}

func TestAPauseThatABMCAsksForIsNoLongerThanTheTimeForSuchAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.steps.Settings.BusyPatience = time.Minute
	b.machine.reads = func() error { return bmc.Busy(time.Hour, "503") }
	_, err := b.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.LessOrEqual(t, app.NextRetryDelay(), time.Minute)
	require.GreaterOrEqual(t, app.NextRetryDelay(), time.Second)
}

func TestAPanicIsAFailureOfItsStep(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, &node.Node{
		UUID: uuid, ProvisionState: node.Verifying, Interfaces: fakes, DriverInfo: map[string]any{"redfish_password": mask.Masked, "other_password": mask.Masked},
	}, node.Secrets{"driver_info/redfish_password": "hunter2", "driver_info/other_password": "hunter"}, node.KindManage, bmc.PowerOn, plan.Options{})
	b.machine.reads = func() error { panic("no such key hunter2 in http://admin:pass@bmc/x") }
	_, err := b.run()
	require.True(t, final(err), "it is a defect, which a person has to see")
	step := b.op().Steps[0]
	require.Equal(t, node.StepFailed, step.State)
	require.Equal(t, 1, step.Failures)
	require.Contains(t, step.LastError, "step power.verify panicked: no such key ****** in http://")
	require.NotContains(t, step.LastError+err.Error(), "hunter2")
	require.NotContains(t, step.LastError+err.Error(), "pass@")

	b = newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, fakes, plan.Options{})
	b.changeOp(func(o *node.Operation) { o.Undo = []node.Undo{node.UndoPowerOff} })
	b.machine.reads = func() error { panic("no such key") }
	err = b.undo()
	require.True(t, final(err))
	require.ErrorContains(t, err, "the undo panicked: no such key")
}

// A conductor without the right keys fails before any step has begun in which the failure could be recorded.
func TestSecretsThatNeverOpenAreNotTriedForEver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  fault.Kind
		tries int32
		final bool
	}{
		"keys that are not there": {fault.Internal, conductor.StepLimit, true},
		"a database that is away": {fault.Unavailable, 3 * conductor.StepLimit, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
			b.steps.Store = sealed{b.book, fault.New(c.kind, "secret driver_info/redfish_password does not open")}
			var s testsuite.WorkflowTestSuite
			env := s.NewTestWorkflowEnvironment()
			env.RegisterActivity(b.steps)
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 3 * conductor.StepLimit},
				})
				return workflow.ExecuteActivity(ctx, b.steps.RunSteps, conductor.StepsInput{Operation: b.book.op, Node: uuid, Seq: 1}).Get(ctx, nil)
			})
			err := env.GetWorkflowError()
			require.ErrorContains(t, err, "does not open")
			require.Equal(t, c.final, final(err))
			require.Equal(t, c.tries, b.op().Claim.Attempt)
			require.Empty(t, b.machine.asked)
		})
	}
}

// sealed is a database whose secrets can't be read.
type sealed struct {
	*book
	why error
}

func (s sealed) Credentials(context.Context, *node.Node) (node.Secrets, error) { return nil, s.why }

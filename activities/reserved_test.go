package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestAnUnholdWhileAPowerRequestRunsInTheHoldIsTakenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, fakes, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "deploy", Step: node.StepHold, Source: node.SourceDriver, State: node.StepPending}}
	})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextHold, r.Next)
	require.Equal(t, node.DeployHold, b.node().ProvisionState)

	b.book.ask(node.PowerOn)
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextHold, r.Next, "power is no reason to go on")
	require.Equal(t, "somebody to unhold the node", b.op().WaitingFor)

	b.book.ask(node.PowerOff)
	before := b.book.saves
	b.book.onSave = func(n int) {
		if n == before+2 { // while the power step is at work
			b.change(func(n *node.Node) { n.Operation.Asked, n.ProvisionState = node.AskUnhold, node.DeployWait })
		}
	}
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, node.Deploying, b.node().ProvisionState)
	require.Equal(t, node.AskNone, b.op().Asked)
}

// The row has room for one ask. What is asked while the power request runs is done after it.
func TestAnUnholdWhileAPowerRequestRunsBeforeAStepThatFailedIsLeftToTheWorkflow(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.DeployHold, bmc.PowerOff, fakes, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "deploy", Step: node.StepWriteImage, Source: node.SourceDriver, State: node.StepFailed, LastError: "no disk"}}
		o.Phase = node.Holding
	})
	b.book.ask(node.PowerOn)
	b.book.onSave = func(n int) {
		if n == 2 { // while the power step is at work
			b.change(func(n *node.Node) { n.Operation.Asked, n.ProvisionState = node.AskUnhold, node.DeployWait })
		}
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
	require.Equal(t, conductor.NextFailed, r.Next)
	require.Equal(t, node.AskUnhold, b.op().Asked, "it was accepted, and is still to be done")
}

// The failed step is not running, so it can't be left to that step to switch the server on.
func TestARebootBeforeAStepThatFailedIsDoneWholeAndTheStepBootsAnewWhenItRunsAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.DeployHold, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "deploy", Step: node.StepDeploy, Source: node.SourceDriver, State: node.StepFailed, Phase: "booted"}}
		o.Phase = node.Holding
	})
	b.book.ask(node.Rebooting)
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextFailed, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)

	b.change(func(n *node.Node) {
		b.machine.asked, n.ProvisionState = nil, node.DeployWait
		n.Operation.Steps[2].Again()
	})
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked, "into the ramdisk")
}

func TestALookSeesThatTheHoldWasLiftedAlsoWithoutTheAsk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phase node.Phase
		state node.State
		want  bool
	}{
		"it is lifted":            {node.Holding, node.DeployWait, true},
		"it is not":               {node.Holding, node.DeployHold, false},
		"the agent is waited for": {node.Waiting, node.DeployWait, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{op: node.Operation{ID: 7, Kind: node.KindDeploy, RunID: "default-test-run-id", Phase: c.phase}, state: c.state}
			var s testsuite.WorkflowTestSuite
			env := s.NewTestActivityEnvironment()
			ops := &orchestrator.Operations{Store: p}
			env.RegisterActivity(ops)
			v, err := env.ExecuteActivity(ops.Look, int64(7))
			require.NoError(t, err)
			var seen orchestrator.WaitState
			require.NoError(t, v.Get(&seen))
			require.Equal(t, c.want, seen.GoOn)
		})
	}
}

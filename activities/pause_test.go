package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestAPausedOperationBeginsNoStep(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for name, c := range map[string]struct {
		step node.Step // the first step as recorded
		rest bool
		want conductor.Next
		owed []node.Undo
	}{
		"that nobody has begun":                        {node.Step{State: node.StepPending}, false, conductor.NextReady, nil},
		"not even what an earlier operation owes":      {node.Step{State: node.StepPending}, false, conductor.NextReady, []node.Undo{node.UndoPowerOff}},
		"that was handed over":                         {node.Step{State: node.StepRunning, StartedAt: &began}, true, conductor.NextReady, nil},
		"that waits for its agent":                     {node.Step{State: node.StepWaiting, StartedAt: &began}, false, conductor.NextReady, nil},
		"that was at work when its conductor has died": {node.Step{State: node.StepRunning, StartedAt: &began}, false, conductor.NextOrphaned, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
			b.change(func(n *node.Node) {
				n.Operation.Paused, n.Operation.Rests, n.Owed = true, c.rest, c.owed
				n.Operation.Steps[0].State, n.Operation.Steps[0].StartedAt = c.step.State, c.step.StartedAt
			})
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, c.want, r.Next)
			require.Empty(t, b.machine.asked)
			require.Equal(t, c.step.State, b.op().Steps[0].State)
			require.Equal(t, node.Deploying, b.node().ProvisionState)

			b.changeOp(func(o *node.Operation) { o.Paused = false })
			_, err = b.run()
			require.NoError(t, err)
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked, "lifted, it goes on")
		})
	}
}

func TestTheStepThatRunsEndsBeforeThePause(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, fakes, plan.Options{})
	b.book.onSave = func(n int) {
		if n == 1 {
			b.changeOp(func(o *node.Operation) { o.Paused = true })
		}
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextReady, r.Next)
	require.Equal(t, node.StepDone, b.op().Steps[0].State)
	require.Equal(t, node.StepPending, b.op().Steps[1].State)
}

func TestAPowerRequestIsDoneInAPausedOperation(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.DeployWait, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) { o.Paused, o.Asked, o.AskedPower = true, node.AskPower, node.PowerOff })
	began := time.Now()
	b.changeOp(func(o *node.Operation) { o.Steps[0].State, o.Steps[0].StartedAt = node.StepWaiting, &began })
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextReady, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
	require.Equal(t, "power.off", b.op().Steps[0].Name())
	require.Equal(t, node.StepDone, b.op().Steps[0].State)
}

func TestAPowerRequestLeavesTheStepThatWasHandedOverToTheNextConductor(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Paused, o.Asked, o.AskedPower, o.Rests = true, node.AskPower, node.PowerOff, true
	})
	began := time.Now()
	b.changeOp(func(o *node.Operation) { o.Steps[0].State, o.Steps[0].StartedAt = node.StepRunning, &began })
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextReady, r.Next, "no conductor has died")
	require.Equal(t, node.StepDone, b.op().Steps[0].State)
	require.Equal(t, []any{node.StepRunning, true}, []any{b.op().Steps[1].State, b.op().Rests})
}

func TestAStepThatIsTriedAgainRests(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, nil }
	_, err := b.run()
	require.Error(t, err)
	require.False(t, final(err))
	require.True(t, b.op().Rests)
	b.changeOp(func(o *node.Operation) { o.Paused = true })
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextReady, r.Next, "its conductor lives")
}

// A look must agree with the query that finds operations whose recorded wait is wrong:
// reconciliation signals a workflow until its row is right.
func TestALookWritesWhyTheOperationCannotGoOn(t *testing.T) {
	t.Parallel()
	ready := func(t *testing.T, p *page, policy orchestrator.Policy) orchestrator.WaitState {
		var s testsuite.WorkflowTestSuite
		env := s.NewTestActivityEnvironment()
		ops := &orchestrator.Operations{Store: p, Policy: policy}
		env.RegisterActivity(ops)
		v, err := env.ExecuteActivity(ops.Ready, orchestrator.ReadyInput{Operation: 7, Seq: 5})
		require.NoError(t, err)
		var seen orchestrator.WaitState
		require.NoError(t, v.Get(&seen))
		return seen
	}
	quarter := orchestrator.Policy{WaitForConductor: 15 * time.Minute, WaitInGroup: map[string]time.Duration{"": time.Minute, "never": 0}}
	op := node.Operation{ID: 7, Kind: node.KindDeploy, Group: "g", Driver: "redfish", Phase: node.Running, Conductor: "c1", RunID: run}
	began := time.Now()

	p := &page{op: op, uncovered: true}
	seen := ready(t, p, quarter)
	require.Equal(t, node.BlockedNoConductor, seen.Blocked)
	require.Equal(t, `a conductor with driver redfish in conductor group "g"`, seen.WaitingFor)
	require.WithinDuration(t, time.Now().Add(15*time.Minute), *seen.Until, time.Minute)
	require.False(t, seen.GiveUp)
	require.Equal(t, int64(5), p.claimed)
	p.uncovered = false
	seen = ready(t, p, quarter)
	require.True(t, seen.GoOn)
	require.Equal(t, node.NotBlocked, p.op.Blocked)

	never := op
	never.Group = "never"
	require.True(t, ready(t, &page{op: never, uncovered: true}, quarter).GiveUp, "0 is at once")

	paused := op
	paused.Paused = true
	p = &page{op: paused, uncovered: true, last: node.LastConductor{Known: true}}
	seen = ready(t, p, quarter)
	require.Equal(t, node.PausedForMaintenance, seen.WaitingFor)
	require.Nil(t, seen.Until)
	require.False(t, seen.Orphaned, "no step has begun")
	paused.Steps = []node.Step{{State: node.StepDone, StartedAt: &began}}
	require.True(t, ready(t, &page{op: paused, last: node.LastConductor{Known: true}}, quarter).Orphaned, "it died")
	require.True(t, ready(t, &page{op: paused}, quarter).Orphaned, "it was forgotten")
	require.False(t, ready(t, &page{op: paused, last: node.LastConductor{Known: true, Alive: true}}, quarter).Orphaned)
	require.True(t, ready(t, &page{op: paused, uncovered: true, last: node.LastConductor{Known: true, Alive: true}}, quarter).Orphaned, "it serves others now")
	stopped := node.LastConductor{Known: true, Draining: true, StoppedFor: time.Minute}
	require.False(t, ready(t, &page{op: paused, uncovered: true, last: stopped}, quarter).Orphaned, "it left in good order")
	stopped.StoppedFor = time.Hour
	require.True(t, ready(t, &page{op: paused, uncovered: true, last: stopped}, quarter).Orphaned, "and does not come back")

	paused.Asked = node.AskAbort
	require.True(t, ready(t, &page{op: paused, last: node.LastConductor{Known: true}}, quarter).EndAsked, "an end is asked for first")
}

func TestAnUndoHoldsNoNodeInMaintenance(t *testing.T) {
	t.Parallel()
	p := &page{op: node.Operation{ID: 7, Kind: node.KindUndo, RunID: run, Phase: node.Running, Paused: true}}
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	ops := &orchestrator.Operations{Store: p}
	env.RegisterActivity(ops)
	v, err := env.ExecuteActivity(ops.Ready, orchestrator.ReadyInput{Operation: 7, Seq: 5})
	require.NoError(t, err)
	var seen orchestrator.WaitState
	require.NoError(t, v.Get(&seen))
	require.True(t, seen.EndAsked)
	require.Equal(t, node.NotBlocked, p.op.Blocked)
}

func TestAPowerRequestInAHoldWaitsForAConductorWithoutEndingTheHold(t *testing.T) {
	t.Parallel()
	p := &page{op: node.Operation{ID: 7, Kind: node.KindDeploy, RunID: run, Phase: node.Holding, Asked: node.AskPower}, uncovered: true}
	ops := &orchestrator.Operations{Store: p}
	look := func() (seen orchestrator.HoldState) {
		var s testsuite.WorkflowTestSuite
		env := s.NewTestActivityEnvironment()
		env.RegisterActivity(ops)
		v, err := env.ExecuteActivity(ops.LookHeld, int64(7))
		require.NoError(t, err)
		require.NoError(t, v.Get(&seen))
		return seen
	}
	require.False(t, look().Power)
	p.uncovered = false
	require.True(t, look().Power)

	// It is the same with a hold step that the request named.
	p.state = node.DeployHold
	goesOn := func() bool {
		var s testsuite.WorkflowTestSuite
		env := s.NewTestActivityEnvironment()
		env.RegisterActivity(ops)
		v, err := env.ExecuteActivity(ops.Look, int64(7))
		require.NoError(t, err)
		var seen orchestrator.WaitState
		require.NoError(t, v.Get(&seen))
		return seen.GoOn
	}
	require.True(t, goesOn())
	p.uncovered = true
	require.False(t, goesOn())
	p.op.Asked, p.state = node.AskUnhold, node.DeployWait
	require.True(t, goesOn(), "a person needs no conductor")
}

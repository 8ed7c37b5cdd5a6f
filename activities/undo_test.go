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

// page has the row of one operation.
type page struct {
	orchestrator.OperationStore // what a test does not use is not there
	op                          node.Operation
	undo                        []node.Undo
	why                         node.Failure
	state                       node.State
	uncovered                   bool
	last                        node.LastConductor

	claimed int64
	wentOn  bool
}

func (p *page) Operation(context.Context, int64) (*node.Operation, error) { return &p.op, nil }

func (p *page) Node(context.Context, string) (*node.Node, error) {
	return &node.Node{ProvisionState: p.state}, nil
}

func (p *page) Watch(context.Context, int64) (*node.Node, node.Coverage, error) {
	op := p.op
	return &node.Node{ProvisionState: p.state, Operation: &op}, node.Coverage{Covered: !p.uncovered, Last: p.last}, nil
}

func (p *page) Block(_ context.Context, _ int64, _ string, seq int64, blocked node.BlockReason, waitingFor string, within *time.Duration) (*node.Operation, error) {
	p.op.Blocked, p.op.WaitingFor, p.op.WaitingUntil, p.claimed = blocked, waitingFor, nil, seq
	if within != nil {
		until := time.Now().Add(*within)
		p.op.WaitingUntil = &until
	}
	op := p.op
	return &op, nil
}

func (p *page) GoOn(context.Context, int64, string) error {
	p.wentOn = true
	return nil
}

func (p *page) SetUndo(_ context.Context, _ int64, _ string, undo []node.Undo, why node.Failure) error {
	p.undo, p.why = undo, why
	return nil
}

func TestADeployThatBeganEndsPoweredOffWhateverItsStepsLeft(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		kind  node.OperationKind
		begun *time.Time
		left  []node.Undo
		want  []node.Undo
	}{
		"a deploy that failed after the server was switched on": {node.KindDeploy, &now, nil, []node.Undo{node.UndoPowerOff}},
		"a rebuild, the same way":                               {node.KindRebuild, &now, nil, []node.Undo{node.UndoPowerOff}},
		"once is enough":                                        {node.KindDeploy, &now, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia}, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia}},
		"a rebuild that never began leaves the instance alone":  {node.KindRebuild, nil, nil, nil},
		"cleaning leaves the power as it is":                    {node.KindClean, &now, []node.Undo{node.UndoPowerOff}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{op: node.Operation{ID: 7, Kind: c.kind, Undo: c.left, Steps: []node.Step{{State: node.StepDone, StartedAt: c.begun}}}}
			var s testsuite.WorkflowTestSuite
			env := s.NewTestActivityEnvironment()
			ops := &orchestrator.Operations{Store: p}
			env.RegisterActivity(ops)
			v, err := env.ExecuteActivity(ops.PlanUndo, int64(7), node.Failed, node.Failure{Error: "boom", Cause: fault.BMCSilent})
			require.NoError(t, err)
			var plan orchestrator.UndoPlan
			require.NoError(t, v.Get(&plan))
			require.Equal(t, c.want, p.undo)
			require.Equal(t, fault.BMCSilent, p.why.Cause)
			require.Equal(t, len(c.want) > 0, plan.Needed)
		})
	}
}

func TestAnUndoTouchesNoNodeInMaintenanceUnlessSomebodyEndsItsOperation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paused  bool
		asked   node.Ask
		outcome node.Outcome
		want    bool
	}{
		"a step failed while it was paused":      {true, node.AskNone, node.Failed, true},
		"somebody ended it meanwhile":            {true, node.AskCancel, node.Cancelled, false},
		"its workflow was cancelled in Temporal": {true, node.AskNone, node.Cancelled, true},
		"it is not paused":                       {false, node.AskNone, node.Failed, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{op: node.Operation{ID: 7, Kind: node.KindDeploy, Paused: c.paused, Asked: c.asked, Undo: []node.Undo{node.UndoPowerOff}}}
			var s testsuite.WorkflowTestSuite
			env := s.NewTestActivityEnvironment()
			ops := &orchestrator.Operations{Store: p}
			env.RegisterActivity(ops)
			v, err := env.ExecuteActivity(ops.PlanUndo, int64(7), c.outcome, node.Failure{})
			require.NoError(t, err)
			var plan orchestrator.UndoPlan
			require.NoError(t, v.Get(&plan))
			require.True(t, plan.Needed)
			require.Equal(t, c.want, plan.Paused)
		})
	}
}

func TestAnUndoThatMaintenanceOvertakesTouchesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked  node.Ask
		paused bool
	}{
		"nobody asked for the end":       {node.AskNone, true},
		"somebody asked for the power":   {node.AskPower, true},
		"somebody has asked for the end": {node.AskCancel, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindDeploy, node.DeployWait, bmc.PowerOn, fakes, plan.Options{})
			b.changeOp(func(o *node.Operation) { o.Undo, o.Paused, o.Asked = []node.Undo{node.UndoPowerOff}, true, c.asked })
			r, err := b.undoResult()
			require.NoError(t, err)
			require.Equal(t, c.paused, r.Paused)
			if c.paused {
				require.Empty(t, b.machine.asked)
				require.Equal(t, []node.Undo{node.UndoPowerOff}, b.op().Undo, "it is owed")
				return
			}
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
		})
	}
}

// A conductor dies right after it has requested power off, and the server switches off slowly.
func TestAnUndoThatGoesOnElsewhereSwitchesOffOnce(t *testing.T) {
	t.Parallel()
	owing := func(b *bench) { b.change(func(n *node.Node) { n.Owed = []node.Undo{node.UndoPowerOff} }) }
	run := func(b *bench) error { _, err := b.run(); return err }
	for name, c := range map[string]struct {
		kind  node.OperationKind
		state node.State
		leave func(*bench)
		do    func(*bench) error
	}{
		"of an operation that ends": {node.KindDeploy, node.DeployWait, func(b *bench) {
			now := time.Now()
			b.changeOp(func(o *node.Operation) {
				o.Undo, o.Steps[0].State, o.Steps[0].StartedAt = []node.Undo{node.UndoPowerOff}, node.StepFailed, &now
			})
		}, (*bench).undo},
		"of one whose steps are all done": {node.KindDeploy, node.DeployWait, func(b *bench) {
			b.changeOp(func(o *node.Operation) { o.Undo = []node.Undo{node.UndoPowerOff} })
			for i := range b.op().Steps {
				b.changeOp(func(o *node.Operation) { o.Steps[i].State = node.StepDone })
			}
		}, (*bench).undo},
		"that reconciliation has opened":      {node.KindUndo, node.DeployFailed, owing, run},
		"that is owed before another is done": {node.KindProvide, node.Cleaning, owing, run},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.kind, c.state, bmc.PowerOn, fakes, plan.Options{AutomatedClean: true})
			b.steps.Settings.PowerSettle = time.Second
			c.leave(b)
			b.machine.answer = func(bmc.PowerRequest) (bool, error) {
				b.changeOp(func(o *node.Operation) {
					o.Claim = node.Claim{Seq: b.seq, Attempt: 2} // the dead conductor can't write any more
				})
				return false, fault.New(fault.Lost, "it is dead")
			}
			require.Error(t, c.do(b))
			time.AfterFunc(30*time.Millisecond, func() { b.machine.mu.Lock(); b.machine.power = bmc.PowerOff; b.machine.mu.Unlock() })
			require.NoError(t, c.do(b))
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
			require.Empty(t, b.node().Owed)
			require.Empty(t, b.op().Undo)
			for _, s := range b.op().Steps {
				require.Nil(t, s.Issued, s.Name())
			}
		})
	}
}

func TestAPowerOffIsNotOwedOnceTheServerMayNotBeSwitchedOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindUndo, node.Manageable, bmc.PowerOn, fakes, plan.Options{})
	b.change(func(n *node.Node) { n.Owed, n.DisablePowerOff = []node.Undo{node.UndoPowerOff}, true })
	_, err := b.run()
	require.NoError(t, err)
	require.Empty(t, b.node().Owed, "else reconciliation opens an undo again and again")
	require.Empty(t, b.machine.asked)
}

func TestUndoLeavesTheServerOffWithoutMediaAndMayRunTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	_, err := b.run()
	require.NoError(t, err)
	require.NoError(t, b.undo())
	require.Equal(t, bmc.PowerOff, b.machine.power)
	require.False(t, b.machine.media.Inserted)
	require.Empty(t, b.op().Undo)
	writes := b.machine.writes
	require.NoError(t, b.undo())
	require.Equal(t, writes, b.machine.writes, "the second one finds nothing to do")
}

func TestUndoWaitsForAServerThatIsAboutToComeUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		comes bool // before PowerSettle is over
		want  []bmc.PowerRequest
	}{
		"one that comes up in time is seen, and off": {true, []bmc.PowerRequest{bmc.RequestForceOff}},
		"one that does not is told to stay off":      {false, []bmc.PowerRequest{bmc.RequestForceOff}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
			b.changeOp(func(o *node.Operation) {
				o.Undo = []node.Undo{node.UndoPowerOff}
				o.Steps[0].State = node.StepRunning
				o.Steps[0].Issued = &node.Issued{At: time.Now(), Command: string(bmc.RequestOn)}
			})
			if c.comes {
				time.AfterFunc(20*time.Millisecond, func() { b.machine.mu.Lock(); b.machine.power = bmc.PowerOn; b.machine.mu.Unlock() })
			}
			require.NoError(t, b.undo())
			require.Equal(t, c.want, b.machine.asked)
			require.Equal(t, bmc.PowerOff, b.machine.power)
			require.NoError(t, b.undo())
			require.Equal(t, c.want, b.machine.asked, "the second one finds nothing to do")
		})
	}
}

func TestAnUndoOfAConductorThatStopsGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) { o.Undo = []node.Undo{node.UndoPowerOff} })
	stop := make(chan struct{})
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { close(stop); return false, nil }
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.SetWorkerStopChannel(stop)
	env.RegisterActivity(b.steps)
	_, err := env.ExecuteActivity(b.steps.Undo, conductor.UndoInput{Operation: b.book.op, Node: uuid, Seq: 1})
	require.Equal(t, "handed over", kindOf(err))
	require.False(t, final(err))
	require.True(t, b.op().Rests)
}

// Whoever tries an undo next must not take the conductor for lost whose try has failed.
func TestATryOfAnUndoThatFailsIsRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) { o.Undo = []node.Undo{node.UndoPowerOff} })
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, fault.New(fault.Busy, "later") }
	for range 2 {
		require.Error(t, b.undo())
		require.True(t, b.op().Rests)
	}
	b.machine.answer = nil
	require.NoError(t, b.undo())
	require.False(t, b.op().Rests)
	require.Empty(t, b.op().Undo)
}

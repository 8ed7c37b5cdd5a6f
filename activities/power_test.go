package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestAPowerRequestThatComesWhileAStepRunsIsTheOneThatWasAskedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, fakes, plan.Options{})
	b.change(func(n *node.Node) { n.ProvisionState = node.DeployWait })
	b.book.onSave = func(n int) {
		if n == 1 {
			b.book.ask(node.PowerOff)
		}
	}
	b.machine.power = bmc.PowerOn
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, node.AskNone, b.op().Asked)
	var names []string
	for _, s := range b.op().Steps {
		names = append(names, s.Name())
	}
	require.Contains(t, names, "power.off")
	require.NotContains(t, names, "power.on")
}

func TestSwitchingOnAServerThatIsOnEndsNoAgent(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		target node.PowerState
		agent  bool
	}{
		"on stays with it":         {node.PowerOn, true},
		"off forgets it":           {node.PowerOff, false},
		"a soft off, the same way": {node.SoftPowerOff, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindDeploy, node.DeployWait, bmc.PowerOn, fakes, plan.Options{})
			b.change(func(n *node.Node) {
				n.Operation.Steps = []node.Step{{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepPending}}
				n.PowerState = node.PowerOn
				n.Agent = &node.Agent{URL: "https://192.0.2.1:9999", FirstHeartbeatAt: &now, LastHeartbeatAt: &now}
			})
			b.book.ask(c.target)
			_, err := b.run()
			require.NoError(t, err)
			require.Equal(t, c.agent, b.node().Agent != nil)
		})
	}
}

func TestAServerThatIsFoundOffIsSwitchedOnInsteadOfRestartedAlsoAfterACrash(t *testing.T) {
	t.Parallel()
	for name, shows := range map[string]bmc.Power{"nothing was sent": bmc.PowerOff, "it was sent": bmc.PowerOn} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, shows, fakes, plan.Options{})
			b.changeOp(func(o *node.Operation) {
				o.Steps = []node.Step{{
					Interface: "power", Step: "reset", Source: node.SourceCore, State: node.StepRunning,
					Issued: &node.Issued{At: time.Now(), Command: string(bmc.RequestOn)},
				}}
			})
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextClose, r.Next)
			require.Equal(t, bmc.PowerOn, b.machine.power)
			require.Zero(t, b.machine.restarts, "switched on is restarted enough")
		})
	}
}

func TestAPowerRequestThatFailsForGoodFailsNothingElse(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for name, c := range map[string]struct {
		target  node.PowerState
		stuck   bmc.PowerRequest
		skipped []string
		want    []bmc.PowerRequest
	}{
		"off":         {node.PowerOff, bmc.RequestForceOff, []string{"power.off"}, []bmc.PowerRequest{bmc.RequestForceOff}},
		"soft off":    {node.SoftPowerOff, bmc.RequestSoftOff, []string{"power.soft_off"}, []bmc.PowerRequest{bmc.RequestSoftOff}},
		"reboot":      {node.Rebooting, bmc.RequestForceOff, []string{"power.off"}, []bmc.PowerRequest{bmc.RequestForceOff}},
		"soft reboot": {node.SoftRebooting, bmc.RequestSoftOff, []string{"power.soft_off"}, []bmc.PowerRequest{bmc.RequestSoftOff}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindDeploy, node.DeployWait, bmc.PowerOn, direct, plan.Options{})
			b.change(func(n *node.Node) {
				n.PowerState = node.PowerOn
				n.Operation.Steps = []node.Step{{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepWaiting, Phase: "booted", StartedAt: &began}}
			})
			b.machine.answer = func(r bmc.PowerRequest) (bool, error) { return false, fault.New(fault.Refused, "not now") }
			b.book.ask(c.target)
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextAgent, r.Next, "it waits as before")
			require.Equal(t, node.DeployWait, b.node().ProvisionState)
			require.Equal(t, c.want, b.machine.asked)
			var skipped []string
			for _, s := range b.op().Steps {
				if s.State == node.StepSkipped {
					require.NotEmpty(t, s.Note)
					skipped = append(skipped, s.Name())
				}
			}
			require.Equal(t, c.skipped, skipped)
			last := b.op().Steps[len(b.op().Steps)-1]
			require.Equal(t, node.StepWaiting, last.State)
			require.Equal(t, "booted", last.Phase)
			require.Equal(t, "Failed to change the power state by "+skipped[0]+": not now", b.node().LastError)
		})
	}
}

func TestARebootWhoseFirstHalfFailsIsLeftWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindClean, node.CleanHold, bmc.PowerOn, fakes, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "deploy", Step: node.StepHold, Source: node.SourceDriver, State: node.StepWaiting, Phase: "held"}}
	})
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, fault.New(fault.Refused, "not now") }
	b.book.ask(node.Rebooting)
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextHold, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
	require.Equal(t, node.StepSkipped, b.op().Steps[0].State)
	require.Equal(t, node.StepSkipped, b.op().Steps[1].State)
}

func TestAPowerRequestIsTriedAsOftenAsAnyStepBeforeItIsGivenUp(t *testing.T) {
	t.Parallel()
	began := time.Now()
	b := newBench(t, node.KindDeploy, node.DeployWait, bmc.PowerOn, direct, plan.Options{})
	b.change(func(n *node.Node) {
		n.PowerState = node.PowerOn
		n.Operation.Steps = []node.Step{{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepWaiting, Phase: "booted", StartedAt: &began}}
	})
	b.machine.reads = func() error { return fault.New(fault.Unreachable, "connection reset") }
	b.book.ask(node.PowerOff)
	for range conductor.StepLimit - 1 {
		_, err := b.run()
		require.Error(t, err)
		require.False(t, final(err))
		require.Empty(t, b.node().LastError)
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.NotEmpty(t, b.node().LastError)
}

func TestAPowerRequestThatFailsIsDecidedAboutWhereThatWasAskedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.DeployWait, bmc.PowerOn, fakes, plan.Options{})
	b.changeOp(func(o *node.Operation) { o.OnFailure = node.HoldOnFailure })
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, fault.New(fault.Refused, "not now") }
	b.book.ask(node.PowerOff)
	_, err := b.run()
	require.True(t, final(err))
	require.Equal(t, node.StepFailed, b.op().Steps[0].State)
}

func TestAPowerOperationThatFailsFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, fault.New(fault.Refused, "not now") }
	_, err := b.run()
	require.True(t, final(err))
}

func TestAPauseThatABMCAsksForDoesNotOutlastTheWaitForPower(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.reads = func() error {
		if len(b.machine.asked) > 0 {
			return bmc.Busy(10*time.Minute, "503")
		}
		return nil
	}
	begun := time.Now()
	_, err := b.run()
	require.Regexp(t, `power state is not "power off" \S+s after`, err)
	require.Less(t, time.Since(begun), 5*time.Minute)
}

func TestPowerRequestsLookBeforeTheyAct(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target node.PowerState
		from   bmc.Power
		want   []bmc.PowerRequest
	}{
		"on when off":        {node.PowerOn, bmc.PowerOff, []bmc.PowerRequest{bmc.RequestOn}},
		"on when on":         {node.PowerOn, bmc.PowerOn, nil},
		"off when on":        {node.PowerOff, bmc.PowerOn, []bmc.PowerRequest{bmc.RequestForceOff}},
		"reboot when on":     {node.Rebooting, bmc.PowerOn, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}},
		"reboot when off":    {node.Rebooting, bmc.PowerOff, []bmc.PowerRequest{bmc.RequestOn}},
		"soft off when on":   {node.SoftPowerOff, bmc.PowerOn, []bmc.PowerRequest{bmc.RequestSoftOff}},
		"soft reboot":        {node.SoftRebooting, bmc.PowerOn, []bmc.PowerRequest{bmc.RequestSoftOff, bmc.RequestOn}},
		"on while coming up": {node.PowerOn, bmc.PowerOn, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, c.from, fakes, plan.Options{Power: c.target})
			_, err := b.run()
			require.NoError(t, err)
			require.Equal(t, c.want, b.machine.asked)
		})
	}
}

func TestALostAnswerToAPowerRequestIsReadBackNotRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return true, fault.New(fault.Unreachable, "connection reset") }
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
}

func TestAPowerRequestThatIsIgnoredFailsTheStepAndMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	ignored := 1
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { ignored--; return ignored < 0, nil }
	_, err := b.run()
	require.ErrorContains(t, err, `power state is not "power off"`)
	require.False(t, final(err))
	require.Equal(t, 1, b.op().Steps[0].Failures)
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOff, b.machine.power)
}

func TestAConductorThatDiedAfterSendingIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{Power: node.PowerOn})
	b.changeOp(func(o *node.Operation) {
		o.Steps[0].State = node.StepRunning
		o.Steps[0].Issued = &node.Issued{At: time.Now(), Command: string(bmc.RequestOn)}
	})
	time.AfterFunc(10*time.Millisecond, func() { b.machine.mu.Lock(); b.machine.power = bmc.PowerOn; b.machine.mu.Unlock() })
	_, err := b.run()
	require.NoError(t, err)
	require.Empty(t, b.machine.asked, "what the dead one sent showed in time")
}

func TestAConductorThatDiedBeforeSendingIsMadeUpFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{Power: node.PowerOn})
	b.changeOp(func(o *node.Operation) {
		o.Steps[0].State = node.StepRunning
		o.Steps[0].Issued = &node.Issued{At: time.Now(), Command: string(bmc.RequestOn)}
	})
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
}

func TestARestartThatCannotBeReadBackIsSentAtMostOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "power", Step: "reset", Source: node.SourceCore, State: node.StepPending}}
	})
	b.machine.answer = nil
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, 1, b.machine.restarts)

	b = newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "power", Step: "reset", Source: node.SourceCore, State: node.StepRunning, Issued: &node.Issued{At: time.Now(), Command: "ForceRestart"}}}
	})
	_, err = b.run()
	require.ErrorContains(t, err, "its outcome is unknown")
	require.True(t, final(err))
	require.Zero(t, b.machine.restarts)
}

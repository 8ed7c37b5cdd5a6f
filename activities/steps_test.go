package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

const uuid = "11111111-1111-1111-1111-111111111111"

// bench is a conductor with one machine and its book.
type bench struct {
	*testing.T
	book    *book
	machine *machine
	steps   *conductor.Steps
	lost    int
	seq     int64
	tried   []string // conductors that have tried before and got no answer
}

// newBench plans an operation of kind k on a node in state s with the given power state.
func newBench(t *testing.T, k node.OperationKind, s node.State, power bmc.Power, interfaces map[string]string, o plan.Options) *bench {
	driver := "redfish"
	if interfaces["boot"] == "fake" {
		driver = "fake-hardware"
	}
	n := node.Node{UUID: uuid, Driver: driver, ProvisionState: s, Interfaces: interfaces, DriverInfo: map[string]any{"deploy_iso": "http://images/deploy.iso"}}
	steps, err := plan.Steps(k, &n, nil, o)
	require.NoError(t, err)
	b := &bench{T: t, book: newBook(n, node.Operation{ID: 7, NodeUUID: uuid, Kind: k, Steps: steps}), machine: &machine{power: power}}
	b.steps = &conductor.Steps{
		Store: conductor.CountLostClaims(b.book, func(string) { b.lost++ }), Drivers: map[string]bmc.Driver{driver: b.machine}, Log: zap.NewNop(),
		OpenAgent: conductor.OpenAgent,
		Settings: conductor.Settings{
			Conductor: "c1", PowerTimeout: 300 * time.Millisecond, PowerPoll: 5 * time.Millisecond, PowerSettle: 50 * time.Millisecond,
			MediaTimeout: 50 * time.Millisecond, MediaPoll: 5 * time.Millisecond,
			SoftPowerTimeout: 100 * time.Millisecond, AgentPoll: 5 * time.Millisecond,
		}.WithDefaults(),
	}
	return b
}

// run runs one activity with a newer claim.
func (b *bench) run() (conductor.StepsResult, error) {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.RegisterActivity(b.steps)
	b.seq++
	v, err := env.ExecuteActivity(b.steps.RunSteps, conductor.StepsInput{Operation: 7, Node: uuid, Seq: b.seq, Tried: b.tried})
	if err != nil {
		return conductor.StepsResult{}, err
	}
	var r conductor.StepsResult
	require.NoError(b, v.Get(&r))
	return r, nil
}

func (b *bench) undo() error {
	_, err := b.undoResult()
	return err
}

func (b *bench) undoResult() (conductor.UndoResult, error) {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.RegisterActivity(b.steps)
	b.seq++
	v, err := env.ExecuteActivity(b.steps.Undo, conductor.UndoInput{Operation: 7, Node: uuid, Seq: b.seq, Tried: b.tried})
	if err != nil {
		return conductor.UndoResult{}, err
	}
	var r conductor.UndoResult
	require.NoError(b, v.Get(&r))
	return r, nil
}

var fakes = map[string]string{"deploy": "fake", "boot": "fake", "network": "noop"}

var direct = map[string]string{"deploy": "direct", "boot": "redfish-virtual-media", "network": "noop"}

func kindOf(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type()
	}
	return ""
}

func final(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.NonRetryable()
}

func TestAFakeDeployEndsPoweredOn(t *testing.T) {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, fakes, plan.Options{})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, node.PowerOn, b.book.node.PowerState)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked, "it was off already")
	require.Empty(t, b.book.op.Undo)
	for _, s := range b.book.op.Steps {
		require.Equal(t, node.StepDone, s.State, s.Name())
		require.Equal(t, 1, s.Attempts, s.Name())
	}
}

func TestPowerRequestsLookBeforeTheyAct(t *testing.T) {
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
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return true, fault.New(fault.Unreachable, "connection reset") }
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
}

func TestAPowerRequestThatIsIgnoredFailsTheStepAndMayBeTriedAgain(t *testing.T) {
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	ignored := 1
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { ignored--; return ignored < 0, nil }
	_, err := b.run()
	require.ErrorContains(t, err, `power state is not "power off"`)
	require.False(t, final(err))
	require.Equal(t, 1, b.book.op.Steps[0].Failures)
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOff, b.machine.power)
}

func TestAConductorThatDiedAfterSendingIsNotRepeated(t *testing.T) {
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{Power: node.PowerOn})
	b.book.op.Steps[0].State = node.StepRunning
	b.book.op.Steps[0].Issued = &node.Issued{At: time.Now(), Command: string(bmc.RequestOn)}
	time.AfterFunc(10*time.Millisecond, func() { b.machine.mu.Lock(); b.machine.power = bmc.PowerOn; b.machine.mu.Unlock() })
	_, err := b.run()
	require.NoError(t, err)
	require.Empty(t, b.machine.asked, "what the dead one sent showed in time")
}

func TestAConductorThatDiedBeforeSendingIsMadeUpFor(t *testing.T) {
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{Power: node.PowerOn})
	b.book.op.Steps[0].State = node.StepRunning
	b.book.op.Steps[0].Issued = &node.Issued{At: time.Now(), Command: string(bmc.RequestOn)}
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
}

func TestARestartThatCannotBeReadBackIsSentAtMostOnce(t *testing.T) {
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{})
	b.book.op.Steps = []node.Step{{Interface: "power", Step: "reset", Source: node.SourceCore, State: node.StepPending}}
	b.machine.answer = nil
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, 1, b.machine.restarts)

	b = newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{})
	b.book.op.Steps = []node.Step{{Interface: "power", Step: "reset", Source: node.SourceCore, State: node.StepRunning, Issued: &node.Issued{At: time.Now(), Command: "ForceRestart"}}}
	_, err = b.run()
	require.ErrorContains(t, err, "its outcome is unknown")
	require.True(t, final(err))
	require.Zero(t, b.machine.restarts)
}

func TestASupersededClaimTouchesNothing(t *testing.T) {
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	// A newer attempt takes the claim right before the request is sent.
	b.book.onSave = func(n int) {
		if n == 2 {
			b.book.op.Claim = node.Claim{Seq: 99, Attempt: 1}
		}
	}
	_, err := b.run()
	require.Equal(t, fault.Lost.String(), kindOf(err))
	require.True(t, final(err))
	require.Empty(t, b.machine.asked)
	require.Equal(t, 1, b.lost, "it is counted")
	_, err = b.run()
	require.Equal(t, fault.Lost.String(), kindOf(err), "an older claim is refused at once")
	require.Equal(t, 1, b.machine.opened, "and opens no conversation")
}

func TestErrorsAreRetriedByClass(t *testing.T) {
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
			require.Equal(t, c.err.Error(), b.book.op.Steps[0].LastError)
			want := node.StepRunning
			if c.final {
				want = node.StepFailed
			}
			require.Equal(t, want, b.book.op.Steps[0].State)
		})
	}
}

func TestAStepFailsForGoodAfterItsLimit(t *testing.T) {
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.reads = func() error { return fault.New(fault.Unreachable, "connection reset") }
	for i := 1; i <= conductor.StepLimit; i++ {
		_, err := b.run()
		require.Equal(t, i == conductor.StepLimit, final(err), "failure %d", i)
	}
}

func TestAnswersThatSayLaterAreNoFailuresForAWhile(t *testing.T) {
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
			step := b.book.op.Steps[0]
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
	require.Nil(t, b.book.op.Steps[0].BusySince, "it is counted anew from the next such answer")
}

func TestAPauseThatABMCAsksForIsNoLongerThanTheTimeForSuchAnswers(t *testing.T) {
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
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.book.secrets = node.Secrets{"driver_info/redfish_password": "hunter2", "driver_info/other": "hunter"}
	b.machine.reads = func() error { panic("no such key hunter2 in http://admin:pass@bmc/x") }
	_, err := b.run()
	require.True(t, final(err), "it is a defect, which a person has to see")
	step := b.book.op.Steps[0]
	require.Equal(t, node.StepFailed, step.State)
	require.Equal(t, 1, step.Failures)
	require.Contains(t, step.LastError, "step power.verify panicked: no such key ****** in http://")
	require.NotContains(t, step.LastError+err.Error(), "hunter2")
	require.NotContains(t, step.LastError+err.Error(), "pass@")

	b = newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, fakes, plan.Options{})
	b.book.op.Undo = []node.Undo{node.UndoPowerOff}
	b.machine.reads = func() error { panic("no such key") }
	err = b.undo()
	require.True(t, final(err))
	require.ErrorContains(t, err, "the undo panicked: no such key")
}

// This BMC reports off while the server is being switched off, and on again when the medium is inserted.
func TestAServerThatIsOnAgainEachTimeIsNoProgressForEver(t *testing.T) {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	reads := 0
	b.machine.reads = func() error {
		b.machine.power = bmc.PowerOff
		if boot := b.book.op.Steps[1]; boot.Phase == node.PhaseOff {
			b.machine.power = bmc.PowerOn
		}
		reads++
		return nil
	}
	for i := 1; i <= conductor.StepLimit; i++ {
		_, err := b.run()
		require.ErrorContains(t, err, "on again 4 times after it was seen off")
		require.Equal(t, i == conductor.StepLimit, final(err), "failure %d", i)
	}
	require.Less(t, reads, 100)
	require.Empty(t, b.machine.images)
}

func TestACancelBetweenStepsStopsThere(t *testing.T) {
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.Rebooting})
	b.machine.answer = func(r bmc.PowerRequest) (bool, error) {
		b.book.mu.Lock()
		defer b.book.mu.Unlock()
		b.book.op.Asked = node.AskCancel
		return true, nil
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAsked, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
}

func TestTheAgentIsBootedWithMediaSetWhileTheServerIsOff(t *testing.T) {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.NotNil(t, r.Until)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
	require.Equal(t, "http://images/deploy.iso", b.machine.media.Image)
	require.Equal(t, node.DeployWait, b.book.node.ProvisionState)
	require.ElementsMatch(t, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot}, b.book.op.Undo)

	// It runs again, as after a crash: it repeats nothing and still waits.
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Len(t, b.machine.asked, 2)
	require.Equal(t, node.DeployWait, b.book.node.ProvisionState)
}

func TestEveryCrashWhileBootingIsMadeUpForWithoutASecondPowerCycle(t *testing.T) {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	_, err := b.run()
	require.NoError(t, err)
	saves := b.book.saves
	require.Greater(t, saves, 5)
	for die := 1; die <= saves; die++ {
		for _, written := range []bool{false, true} {
			b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
			b.steps.Store = &mortal{book: b.book, at: die, written: written}
			_, err := b.run()
			require.Error(t, err, "died at save %d", die)
			b.steps.Store = b.book
			r, err := b.run()
			require.NoError(t, err, "died at save %d", die)
			require.Equal(t, conductor.NextAgent, r.Next)
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked, "died at save %d, written %v", die, written)
			require.Equal(t, "http://images/deploy.iso", b.machine.media.Image)
			require.Equal(t, node.DeployWait, b.book.node.ProvisionState)
		}
	}
}

// mortal is a database connection of a conductor that dies at its nth save:
// before it was written or after.
type mortal struct {
	*book
	at      int
	written bool
	dead    bool
}

func (m *mortal) SaveSteps(ctx context.Context, id int64, c node.Claim, p node.Progress) (node.Ask, error) {
	m.at--
	if m.at == 0 && m.written {
		_, err := m.book.SaveSteps(ctx, id, c, p)
		if err != nil {
			return "", err
		}
	}
	if m.at <= 0 {
		m.dead = true
		return "", fault.New(fault.Lost, "this process is dead")
	}
	return m.book.SaveSteps(ctx, id, c, p)
}

func TestUndoLeavesTheServerOffWithoutMediaAndMayRunTwice(t *testing.T) {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	_, err := b.run()
	require.NoError(t, err)
	require.NoError(t, b.undo())
	require.Equal(t, bmc.PowerOff, b.machine.power)
	require.False(t, b.machine.media.Inserted)
	require.Empty(t, b.book.op.Undo)
	writes := b.machine.writes
	require.NoError(t, b.undo())
	require.Equal(t, writes, b.machine.writes, "the second one finds nothing to do")
}

func TestUndoWaitsForAServerThatIsAboutToComeUp(t *testing.T) {
	for name, c := range map[string]struct {
		comes bool // before PowerSettle is over
		want  []bmc.PowerRequest
	}{
		"one that comes up in time is seen, and off": {true, []bmc.PowerRequest{bmc.RequestForceOff}},
		"one that does not is told to stay off":      {false, []bmc.PowerRequest{bmc.RequestForceOff}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
			b.book.op.Undo = []node.Undo{node.UndoPowerOff}
			b.book.op.Steps[0].State = node.StepRunning
			b.book.op.Steps[0].Issued = &node.Issued{At: time.Now(), Command: string(bmc.RequestOn)}
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
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.book.op.Undo = []node.Undo{node.UndoPowerOff}
	stop := make(chan struct{})
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { close(stop); return false, nil }
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.SetWorkerStopChannel(stop)
	env.RegisterActivity(b.steps)
	_, err := env.ExecuteActivity(b.steps.Undo, conductor.UndoInput{Operation: 7, Node: uuid, Seq: 1})
	require.Equal(t, "handed over", kindOf(err))
	require.False(t, final(err))
	require.True(t, b.book.op.Rests)
}

// Whoever tries an undo next must not take the conductor for lost whose try has failed.
func TestATryOfAnUndoThatFailsIsRecorded(t *testing.T) {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.book.op.Undo = []node.Undo{node.UndoPowerOff}
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, fault.New(fault.Busy, "later") }
	for range 2 {
		require.Error(t, b.undo())
		require.True(t, b.book.op.Rests)
	}
	b.machine.answer = nil
	require.NoError(t, b.undo())
	require.False(t, b.book.op.Rests)
	require.Empty(t, b.book.op.Undo)
}

// If a BMC refuses an undo, steps that the undo does not concern still run.
func TestWhatIsOwedIsLeftAloneByWhatDoesNotTouchIt(t *testing.T) {
	outOfBand := map[string]string{"deploy": "direct", "inspect": "redfish", "boot": "redfish-virtual-media", "network": "noop"}
	for name, c := range map[string]struct {
		kind       node.OperationKind
		state      node.State
		interfaces map[string]string
		options    plan.Options
		asked      []bmc.PowerRequest
	}{
		"power on":               {node.KindPower, node.Active, direct, plan.Options{Power: node.PowerOn}, []bmc.PowerRequest{bmc.RequestOn}},
		"a reboot":               {node.KindPower, node.DeployFailed, direct, plan.Options{Power: node.Rebooting}, []bmc.PowerRequest{bmc.RequestOn}},
		"a verification":         {node.KindManage, node.Verifying, direct, plan.Options{}, nil},
		"inspection out of band": {node.KindInspect, node.Inspecting, outOfBand, plan.Options{}, nil},
		"provide, not cleaned":   {node.KindProvide, node.Cleaning, direct, plan.Options{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.kind, c.state, bmc.PowerOff, c.interfaces, c.options)
			owed := []node.Undo{node.UndoEjectMedia, node.UndoClearBoot}
			b.book.node.Owed = owed
			b.machine.media, b.machine.stuck = bmc.Media{Inserted: true, Image: "http://old"}, fault.New(fault.Refused, "400: the drive is in use")
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextClose, r.Next)
			require.Equal(t, c.asked, b.machine.asked)
			require.Equal(t, owed, b.book.node.Owed)
			require.True(t, b.machine.media.Inserted)
		})
	}
}

// An operation that boots the server or leaves it off does all undos that are owed:
// with its steps and, if it fails, with its own undo.
func TestAnOperationThatUndoesAllTakesOverWhatIsOwed(t *testing.T) {
	inBand := map[string]string{"deploy": "direct", "inspect": "agent", "boot": "redfish-virtual-media", "network": "noop"}
	for name, c := range map[string]struct {
		kind  node.OperationKind
		state node.State
		left  []node.Undo // still to undo when it waits for the agent or has ended
	}{
		"a deploy":           {node.KindDeploy, node.Deploying, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot}},
		"a cleaning":         {node.KindProvide, node.Cleaning, []node.Undo{node.UndoEjectMedia, node.UndoPowerOff, node.UndoClearBoot}},
		"inspection in band": {node.KindInspect, node.Inspecting, []node.Undo{node.UndoEjectMedia, node.UndoPowerOff, node.UndoClearBoot}},
		"giving back":        {node.KindUndeploy, node.Deleting, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.kind, c.state, bmc.PowerOn, inBand, plan.Options{AutomatedClean: c.kind == node.KindProvide})
			b.book.node.Owed, b.book.node.OwedRefused = []node.Undo{node.UndoEjectMedia}, true
			b.machine.media = bmc.Media{Inserted: true, Image: "http://old"}
			_, err := b.run()
			require.NoError(t, err)
			require.Empty(t, b.book.node.Owed)
			require.False(t, b.book.node.OwedRefused)
			require.Equal(t, c.left, b.book.op.Undo)
			require.NotEqual(t, "http://old", b.machine.media.Image)
			require.Equal(t, bmc.RequestForceOff, b.machine.asked[0])
		})
	}
}

func TestAnAgentThatCouldNotInspectFailsTheInspection(t *testing.T) {
	inband := map[string]string{"deploy": "direct", "inspect": "agent", "boot": "fake", "network": "noop"}
	now := time.Now()
	for name, c := range map[string]struct {
		plugin map[string]any
		words  string
	}{
		"it told what it could not find": {map[string]any{"error": "no disks"}, "no disks (the agent could not inspect the server)"},
		"it told nothing of the kind":    {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindInspect, node.Inspecting, bmc.PowerOn, inband, plan.Options{})
			b.book.op.Steps[0].State = node.StepDone
			b.book.node.Agent = &node.Agent{InspectedAt: &now}
			b.book.inventory, b.book.plugin = map[string]any{}, c.plugin
			_, err := b.run()
			if c.words == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.words)
			require.True(t, final(err))
		})
	}
}

// A conductor without the right keys fails before any step has begun in which the failure could be recorded.
func TestSecretsThatNeverOpenAreNotTriedForEver(t *testing.T) {
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
			b.book.sealed = fault.New(c.kind, "secret driver_info/redfish_password does not open")
			var s testsuite.WorkflowTestSuite
			env := s.NewTestWorkflowEnvironment()
			env.RegisterActivity(b.steps)
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 3 * conductor.StepLimit},
				})
				return workflow.ExecuteActivity(ctx, b.steps.RunSteps, conductor.StepsInput{Operation: 7, Node: uuid, Seq: 1}).Get(ctx, nil)
			})
			err := env.GetWorkflowError()
			require.ErrorContains(t, err, "does not open")
			require.Equal(t, c.final, final(err))
			require.Equal(t, c.tries, b.book.op.Claim.Attempt)
			require.Empty(t, b.machine.asked)
		})
	}
}

// Whoever continues a step that waits for the agent of a boot tells the same end of the wait.
func TestTheDeadlineOfTheAgentStaysAsItWasTold(t *testing.T) {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.steps.Settings.AgentWait = map[node.Family]time.Duration{node.DeployFamily: time.Hour}
	var told time.Time
	for range 3 {
		r, err := b.run()
		require.NoError(t, err)
		require.Equal(t, conductor.NextAgent, r.Next)
		if told.IsZero() {
			told = *b.book.op.WaitingUntil
		}
		require.Equal(t, told, *b.book.op.WaitingUntil)
		require.Equal(t, told, *b.book.op.StepWait.Until)
		require.Equal(t, b.book.op.StepWait.Since.Add(told.Sub(b.book.op.StepWait.Since)/node.CallShare), *b.book.op.StepWait.LateAt)
		require.Equal(t, fault.AgentNeverCalled, b.book.op.StepWait.LateCause)
		require.Equal(t, told, *r.Until)
	}
}

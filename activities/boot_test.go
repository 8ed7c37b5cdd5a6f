package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// This BMC reports off while the server is being switched off, and on again when the medium is inserted.
func TestAServerThatIsOnAgainEachTimeIsNoProgressForEver(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	reads := 0
	b.machine.reads = func() error {
		b.machine.power = bmc.PowerOff
		if boot := b.op().Steps[1]; boot.Phase == node.PhaseOff {
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

func TestTheAgentIsBootedWithMediaSetWhileTheServerIsOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.NotNil(t, r.Until)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
	require.Equal(t, "http://images/deploy.iso", b.machine.media.Image)
	require.Equal(t, node.DeployWait, b.node().ProvisionState)
	require.ElementsMatch(t, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot}, b.op().Undo)

	// It runs again, as after a crash: it repeats nothing and still waits.
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Len(t, b.machine.asked, 2)
	require.Equal(t, node.DeployWait, b.node().ProvisionState)
}

func TestEveryCrashWhileBootingIsMadeUpForWithoutASecondPowerCycle(t *testing.T) {
	t.Parallel()
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
			require.Equal(t, node.DeployWait, b.node().ProvisionState)
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

// Whoever continues a step that waits for the agent of a boot tells the same end of the wait.
func TestTheDeadlineOfTheAgentStaysAsItWasTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.steps.Settings.AgentWait = map[node.Family]time.Duration{node.DeployFamily: time.Hour}
	var told time.Time
	for range 3 {
		r, err := b.run()
		require.NoError(t, err)
		require.Equal(t, conductor.NextAgent, r.Next)
		w := b.op().StepWait
		if told.IsZero() {
			told = *w.Until
		}
		require.WithinDuration(t, told, *b.op().WaitingUntil, time.Microsecond)
		require.Equal(t, told, *w.Until)
		require.Equal(t, w.Since.Add(told.Sub(w.Since)/node.CallShare), *w.LateAt)
		require.Equal(t, fault.AgentNeverCalled, w.LateCause)
		require.Equal(t, told, *r.Until)
	}
}

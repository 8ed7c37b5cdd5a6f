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

// starting is a deploy to a server that begins to boot at the nth request to switch it on; 0 = never.
func starting(t *testing.T, nth int, told bool) *bench {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.steps.Settings.BootTimeout = 30 * time.Millisecond
	b.change(func(n *node.Node) { n.DriverInternalInfo = map[string]any{node.ReportsBootProgress: told} })
	b.machine.progress = func() string {
		b.machine.mu.Lock()
		defer b.machine.mu.Unlock()
		ons := 0
		for _, r := range b.machine.asked {
			if r == bmc.RequestOn {
				ons++
			}
		}
		if b.machine.power == bmc.PowerOn && nth > 0 && ons >= nth {
			return "MemoryInitializationStarted"
		}
		return bmc.NotBooting
	}
	return b
}

func TestAServerThatDoesNotBeginToBootIsSwitchedOffAndOnAgain(t *testing.T) {
	t.Parallel()
	b := starting(t, 2, true)
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn, bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
	require.Len(t, b.machine.images, 1)
	require.Equal(t, 1, b.op().CurrentStep().BootsAgain)
}

func TestAServerThatNeverBeginsToBootFailsTheStepForAPerson(t *testing.T) {
	t.Parallel()
	b := starting(t, 0, true)
	_, err := b.run()
	require.True(t, final(err))
	require.ErrorContains(t, err, "shown the server on 2 times, and no sign of booting")
	require.Len(t, b.machine.asked, 3)
	step := b.op().CurrentStep()
	require.Equal(t, fault.ServerNotBooting, step.Cause)
	require.Equal(t, false, b.node().DriverInternalInfo[node.ReportsBootProgress])

	b.changeOp(func(o *node.Operation) { o.Steps[step.Index].Again() })
	b.machine.asked = nil
	r, err := b.run()
	require.NoError(t, err, "somebody has looked at the server")
	require.Equal(t, conductor.NextAgent, r.Next)
}

func TestABMCThatHasNeverToldOfABootIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := starting(t, 0, false)
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
}

func TestABMCThatTellsOfABootIsRemembered(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]any{"OSRunning": true, bmc.NotBooting: nil, "": nil} {
		b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
		b.machine.progress = func() string { return told }
		_, err := b.run()
		require.NoError(t, err)
		require.Equal(t, want, b.node().DriverInternalInfo[node.ReportsBootProgress], told)
	}
}

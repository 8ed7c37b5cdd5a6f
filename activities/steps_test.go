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

func TestAFakeDeployEndsPoweredOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, fakes, plan.Options{})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, node.PowerOn, b.node().PowerState)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked, "it was off already")
	require.Empty(t, b.op().Undo)
	for _, s := range b.op().Steps {
		require.Equal(t, node.StepDone, s.State, s.Name())
		require.Equal(t, 1, s.Attempts, s.Name())
	}
}

func TestASupersededClaimTouchesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	// A newer attempt takes the claim right before the request is sent.
	b.book.onSave = func(n int) {
		if n == 2 {
			b.changeOp(func(o *node.Operation) { o.Claim = node.Claim{Seq: 99, Attempt: 1} })
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

func TestACancelBetweenStepsStopsThere(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.Rebooting})
	b.machine.answer = func(r bmc.PowerRequest) (bool, error) {
		b.changeOp(func(o *node.Operation) { o.Asked = node.AskCancel })
		return true, nil
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAsked, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
}

func TestAnAgentThatCouldNotInspectFailsTheInspection(t *testing.T) {
	t.Parallel()
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
			b.change(func(n *node.Node) {
				n.Operation.Steps[0].State = node.StepDone
				n.Agent = &node.Agent{InspectedAt: &now}
			})
			b.book.sends(map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:01"}}}, c.plugin)
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

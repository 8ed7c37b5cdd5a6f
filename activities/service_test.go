package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// servicing returns a bench whose node is serviced, with an agent that is being booted.
func servicing(t *testing.T, deploy string) *bench {
	b := newBenchOf(t, &node.Node{
		UUID: uuid, ProvisionState: node.Servicing, InstanceInfo: map[string]any{"boot_iso": liveImage},
		Interfaces: map[string]string{"deploy": deploy, "boot": "redfish-virtual-media", "network": "noop"},
	}, nil, node.KindService, bmc.PowerOn, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "deploy", Step: node.StepPrepareService, Source: node.SourceCore, Abortable: true, State: node.StepPending}}
	})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, node.ServiceWait, b.node().ProvisionState)
	require.Equal(t, "http://images/deploy.iso", b.machine.media.Image)
	return b
}

// A service that ends short of success leaves the server of a tenant as it was: with its instance, and on.
func TestAServiceThatEndsBootsTheInstanceAgain(t *testing.T) {
	t.Parallel()
	for deploy, medium := range map[string]string{"direct": "", "ramdisk": liveImage} {
		for _, outcome := range []node.Outcome{node.Failed, node.Cancelled} {
			b := servicing(t, deploy)
			require.Contains(t, node.UndoAtEnd(b.op(), outcome), node.UndoBootInstance)
			b.machine.asked = nil
			require.NoError(t, b.undo())
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
			require.Equal(t, medium, b.machine.media.Image)
			require.Equal(t, deploy == "ramdisk", b.machine.boot.Device == bmc.DeviceCDROM)
			require.Empty(t, b.op().Undo)
		}
	}
}

func TestANodeThatIsGivenBackInAServiceBootsNoInstanceAgain(t *testing.T) {
	t.Parallel()
	b := servicing(t, "direct")
	b.changeOp(func(o *node.Operation) { o.Asked = node.AskDelete })
	left := node.UndoAtEnd(b.op(), node.Cancelled)
	require.Contains(t, left, node.UndoPowerOff)
	require.NotContains(t, left, node.UndoBootInstance)
}

// A node that owes its instance a boot, because its BMC was away when a service failed, owes it no more when it has been given back.
func TestANodeThatIsGivenBackOwesItsInstanceNoBoot(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindUndeploy, node.Deleting, bmc.PowerOn, direct, plan.Options{})
	b.change(func(n *node.Node) { n.Owed = []node.Undo{node.UndoBootInstance} })
	_, err := b.run()
	require.NoError(t, err)
	require.Empty(t, b.op().Undo)
	require.Empty(t, b.node().Owed)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)

	o := &node.Operation{Kind: node.KindUndeploy, Undo: []node.Undo{node.UndoBootInstance}}
	require.Equal(t, []node.Undo{node.UndoPowerOff}, node.UndoAtEnd(o, node.Failed))
}

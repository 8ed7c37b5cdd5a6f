package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestReconciliationStartsTheUndosThatAreDue(t *testing.T) {
	t.Parallel()
	o := operation(7)
	o.Kind = node.KindUndo
	a := &archive{owing: []node.Operation{o}}
	out, err := a.tick(t)
	require.NoError(t, err)
	require.Equal(t, []int64{7}, a.started)
	require.Equal(t, 1, out.Undone)
	require.Equal(t, "management.undo", a.owing[0].Steps[0].Name())
}

func TestAnUndoDoesWhatTheNodeOwes(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindUndo, node.DeployFailed, bmc.PowerOn, direct, plan.Options{})
	b.change(func(n *node.Node) { n.Owed = []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot} })
	b.machine.media, b.machine.boot = bmc.Media{Inserted: true, Image: "http://images/deploy.iso"}, bmc.Boot{Device: bmc.DeviceCDROM}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Empty(t, b.node().Owed)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
	require.False(t, b.machine.media.Inserted)
	require.Equal(t, bmc.DeviceNone, b.machine.boot.Device)
	require.Equal(t, node.DeployFailed, b.node().ProvisionState, "it moves no provision state")
}

func TestAnUndoThatFailsKeepsTheDebt(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindUndo, node.DeployFailed, bmc.PowerOn, direct, plan.Options{})
	b.change(func(n *node.Node) { n.Owed = []node.Undo{node.UndoPowerOff} })
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, fault.New(fault.Refused, "no") }
	_, err := b.run()
	require.Error(t, err)
	require.Equal(t, []node.Undo{node.UndoPowerOff}, b.node().Owed)
}

// Reconciliation opens the next undo, unless the hardware has refused for good.
func TestAnUndoThatFailsIsTriedOnceAndSaysWhetherItMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err     error
		refused bool
	}{
		"the BMC refuses":    {fault.New(fault.Refused, "400"), true},
		"a wrong password":   {fault.New(fault.Denied, "401"), true},
		"the BMC is silent":  {fault.New(fault.Unreachable, "no answer"), false},
		"the BMC says later": {bmc.Busy(0, "503"), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindUndo, node.DeployFailed, bmc.PowerOff, direct, plan.Options{})
			b.change(func(n *node.Node) { n.Owed = []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot} })
			b.machine.media, b.machine.stuck = bmc.Media{Inserted: true, Image: "http://old"}, c.err
			b.machine.boot = bmc.Boot{Device: bmc.DeviceCDROM}
			_, err := b.run()
			require.Error(t, err)
			require.True(t, final(err))
			require.Equal(t, c.refused, b.node().OwedRefused)
			want := []node.Undo{node.UndoEjectMedia, node.UndoClearBoot}
			if c.refused { // the override is cleared nevertheless
				want = want[:1]
			}
			require.Equal(t, want, b.node().Owed, "what is done is owed no more")
		})
	}
}

// If a BMC refuses an undo, steps that the undo does not concern still run.
func TestWhatIsOwedIsLeftAloneByWhatDoesNotTouchIt(t *testing.T) {
	t.Parallel()
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
			b.change(func(n *node.Node) { n.Owed = owed })
			b.machine.media, b.machine.stuck = bmc.Media{Inserted: true, Image: "http://old"}, fault.New(fault.Refused, "400: the drive is in use")
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextClose, r.Next)
			require.Equal(t, c.asked, b.machine.asked)
			require.Equal(t, owed, b.node().Owed)
			require.True(t, b.machine.media.Inserted)
		})
	}
}

// An operation that boots the server or leaves it off does all undos that are owed:
// with its steps and, if it fails, with its own undo.
func TestAnOperationThatUndoesAllTakesOverWhatIsOwed(t *testing.T) {
	t.Parallel()
	inBand := map[string]string{"deploy": "direct", "inspect": "agent", "boot": "redfish-virtual-media", "network": "noop"}
	for name, c := range map[string]struct {
		kind  node.OperationKind
		state node.State
		left  []node.Undo // still to undo when it waits for the agent or has ended
	}{
		"a deploy":           {node.KindDeploy, node.Deploying, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot}},
		"a cleaning":         {node.KindProvide, node.Cleaning, []node.Undo{node.UndoEjectMedia, node.UndoPowerOff, node.UndoClearBoot}},
		"inspection in band": {node.KindInspect, node.Inspecting, []node.Undo{node.UndoEjectMedia, node.UndoPowerOff, node.UndoClearBoot}},
		"giving back":        {node.KindUndeploy, node.Deleting, []node.Undo{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.kind, c.state, bmc.PowerOn, inBand, plan.Options{AutomatedClean: c.kind == node.KindProvide})
			b.change(func(n *node.Node) { n.Owed, n.OwedRefused = []node.Undo{node.UndoEjectMedia}, true })
			b.machine.media = bmc.Media{Inserted: true, Image: "http://old"}
			_, err := b.run()
			require.NoError(t, err)
			require.Empty(t, b.node().Owed)
			require.False(t, b.node().OwedRefused)
			require.Equal(t, c.left, b.op().Undo)
			require.NotEqual(t, "http://old", b.machine.media.Image)
			require.Equal(t, bmc.RequestForceOff, b.machine.asked[0])
		})
	}
}

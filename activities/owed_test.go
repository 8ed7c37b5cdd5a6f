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
	b := newBench(t, node.KindUndo, node.DeployFailed, bmc.PowerOn, direct, plan.Options{})
	b.book.node.Owed = []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot}
	b.machine.media, b.machine.boot = bmc.Media{Inserted: true, Image: "http://images/deploy.iso"}, bmc.Boot{Device: bmc.DeviceCDROM}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Empty(t, b.book.node.Owed)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
	require.False(t, b.machine.media.Inserted)
	require.Equal(t, bmc.DeviceNone, b.machine.boot.Device)
	require.Equal(t, node.DeployFailed, b.book.node.ProvisionState, "it moves no provision state")
}

func TestAnUndoThatFailsKeepsTheDebt(t *testing.T) {
	b := newBench(t, node.KindUndo, node.DeployFailed, bmc.PowerOn, direct, plan.Options{})
	b.book.node.Owed = []node.Undo{node.UndoPowerOff}
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, fault.New(fault.Refused, "no") }
	_, err := b.run()
	require.Error(t, err)
	require.Equal(t, []node.Undo{node.UndoPowerOff}, b.book.node.Owed)
}

// Reconciliation opens the next undo, unless the hardware has refused for good.
func TestAnUndoThatFailsIsTriedOnceAndSaysWhetherItMayBeTriedAgain(t *testing.T) {
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
			b.book.node.Owed = []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot}
			b.machine.media, b.machine.stuck = bmc.Media{Inserted: true, Image: "http://old"}, c.err
			b.machine.boot = bmc.Boot{Device: bmc.DeviceCDROM}
			_, err := b.run()
			require.Error(t, err)
			require.True(t, final(err))
			require.Equal(t, c.refused, b.book.node.OwedRefused)
			want := []node.Undo{node.UndoEjectMedia, node.UndoClearBoot}
			if c.refused { // the override is cleared nevertheless
				want = want[:1]
			}
			require.Equal(t, want, b.book.node.Owed, "what is done is owed no more")
		})
	}
}

package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestTheBootDeviceIsSetAsItWasAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		have   bmc.Boot
		want   node.BootDevice
		writes int
	}{
		"nothing was set":                      {bmc.Boot{}, node.BootDevice{Device: "pxe"}, 1},
		"it is set already":                    {bmc.Boot{Device: bmc.DevicePXE}, node.BootDevice{Device: "pxe"}, 0},
		"it is set for once, and is to stay":   {bmc.Boot{Device: bmc.DevicePXE}, node.BootDevice{Device: "pxe", Persistent: true}, 1},
		"it is set to stay, and is to be once": {bmc.Boot{Device: bmc.DevicePXE, Persistent: true}, node.BootDevice{Device: "pxe"}, 1},
		"another one is set":                   {bmc.Boot{Device: bmc.DeviceCDROM}, node.BootDevice{Device: "disk", Persistent: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindBootDevice, node.Active, bmc.PowerOn, direct, plan.Options{BootDevice: c.want})
			b.machine.boot = c.have
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextClose, r.Next)
			require.Equal(t, bmc.Boot{Device: bmc.Device(c.want.Device), Persistent: c.want.Persistent}, b.machine.boot)
			require.Equal(t, c.writes, b.machine.writes)
			require.Empty(t, b.machine.asked, "the power stays")
		})
	}
}

func TestABMCThatKeepsEachBootDeviceWillDo(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindBootDevice, node.Active, bmc.PowerOn, direct, plan.Options{BootDevice: node.BootDevice{Device: "pxe"}})
	b.machine.boots = func(want bmc.Boot) bmc.Boot { want.Persistent = true; return want }
	_, err := b.run()
	require.NoError(t, err)
}

func TestABootDeviceThatTheServerLacks(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindBootDevice, node.Active, bmc.PowerOn, direct, plan.Options{BootDevice: node.BootDevice{Device: "safe"}})
	_, err := b.run()
	require.ErrorContains(t, err, "Invalid boot device safe specified. The server can boot from pxe, disk, cdrom.")
	require.True(t, final(err))
	require.Equal(t, fault.BootDeviceRefused, b.op().Steps[0].Cause)
	require.Zero(t, b.machine.writes)
}

func TestAnNMIIsInjectedAtMostOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindNMI, node.Active, bmc.PowerOn, direct, plan.Options{})
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, 1, b.machine.interrupts)

	b = newBench(t, node.KindNMI, node.Active, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps[0].State, o.Steps[0].Issued = node.StepRunning, &node.Issued{At: time.Now(), Command: bmc.NameNMI}
	})
	_, err = b.run()
	require.ErrorContains(t, err, "its outcome is unknown")
	require.True(t, final(err))
	require.Zero(t, b.machine.interrupts)

	b = newBench(t, node.KindNMI, node.Active, bmc.PowerOff, direct, plan.Options{})
	_, err = b.run()
	require.ErrorContains(t, err, "an NMI interrupts what runs on a server, and this one is off")
	require.Zero(t, b.machine.interrupts)
}

// A conductor that ends while it waits for what another one has sent before has sent nothing, and says so.
func TestAnNMIThatWaitsForAnotherRequestIsNotRecordedAsSent(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindNMI, node.Active, bmc.PowerOn, direct, plan.Options{})
	b.left(bmc.RequestOn.Name(), time.Hour)
	b.steps.Settings.TellEvery = 10 * time.Millisecond
	b.book.onTell = func(int, node.Wait) error { return fault.New(fault.Lost, "another conductor has the operation") }
	_, err := b.run()
	require.Error(t, err)
	require.Nil(t, b.op().Steps[0].Issued)
	require.Zero(t, b.machine.interrupts)

	b.left(bmc.RequestOn.Name(), 0)
	b.book.onTell = nil
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, 1, b.machine.interrupts)
}

func TestAnNMIThatWasNotSentMayBeSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer error
		again  bool
	}{
		"no request reached the BMC": {fault.New(fault.Unreachable, "%w", bmc.NotSent(fault.NoAnswerError("no route"))), true},
		"the BMC says later":         {fault.New(fault.Busy, "later"), true},
		"nobody knows":               {fault.New(fault.OutcomeUnknown, "the answer was lost"), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindNMI, node.Active, bmc.PowerOn, direct, plan.Options{})
			b.machine.interrupted = c.answer
			_, err := b.run()
			require.Error(t, err)
			require.Equal(t, !c.again, final(err))
			require.Equal(t, !c.again, b.op().Steps[0].Issued != nil)
		})
	}
}

func TestABMCIsReadWithoutAClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, direct, plan.Options{})
	b.machine.boot = bmc.Boot{Device: bmc.DeviceCDROM, Persistent: true}
	read := func(what node.Reading) (out node.BMCReading, err error) {
		var s testsuite.WorkflowTestSuite
		env := s.NewTestActivityEnvironment()
		env.RegisterActivity(b.steps)
		v, err := env.ExecuteActivity(b.steps.ReadBMC, conductor.ReadInput{Node: uuid, What: what})
		if err == nil {
			require.NoError(t, v.Get(&out))
		}
		return out, err
	}
	got, err := read(node.ReadBootDevice)
	require.NoError(t, err)
	require.Equal(t, node.BootDevice{Device: "cdrom", Persistent: true}, got.BootDevice)
	got, err = read(node.ReadBootDevices)
	require.NoError(t, err)
	require.Equal(t, []string{"pxe", "disk", "cdrom"}, got.BootDevices)
	require.Zero(t, b.machine.writes)
	require.Equal(t, node.Claim{}, b.op().Claim)
	_, err = read("the future")
	require.True(t, final(err))
}

func TestASilentBMCIsNotReadBeforeItsTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, direct, plan.Options{})
	b.steps.Settings.AwayTimeout = time.Hour
	reads := func(next time.Time) error {
		b.change(func(n *node.Node) {
			n.Silence = &node.BMCSilence{BMC: n.BMC(), AskedBy: "c9", AskedAt: time.Now(), Seen: "no answer in time", NextAt: next}
		})
		var s testsuite.WorkflowTestSuite
		env := s.NewTestActivityEnvironment()
		env.RegisterActivity(b.steps)
		_, err := env.ExecuteActivity(b.steps.ReadBMC, conductor.ReadInput{Node: uuid, What: node.ReadBootDevice})
		return err
	}
	require.ErrorContains(t, reads(time.Now().Add(time.Hour)), "; it was not asked now: conductor c9 asked it last at ")
	require.NoError(t, reads(time.Now()))
}

package activities_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// soon is how long a request of a conductor that is gone may still take effect in these tests.
const soon = 500 * time.Millisecond

// left records a request of a conductor that is gone, which may still take effect for that long.
func (b *bench) left(name string, within time.Duration) (until time.Time) {
	until = time.Now().Add(within)
	b.book.left(name, until)
	return until
}

// underWay reports whether the last request may still take effect.
func (b *bench) underWay() bool {
	b.Helper()
	_, until := b.book.flight()
	return time.Now().Before(until)
}

// whileItWaits lets happen what a request of a conductor that is gone does, as soon as the step waits for that.
func (b *bench) whileItWaits(happen func(m *machine)) {
	b.steps.Settings.TellEvery = 10 * time.Millisecond
	b.book.onTell = func(_ int, w node.Wait) error {
		if w.For == node.WaitRequest {
			b.machine.mu.Lock()
			defer b.machine.mu.Unlock()
			happen(b.machine)
		}
		return nil
	}
}

func TestWhoTakesOverRepeatsTheSameRequestAtOnceAndWaitsWithAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left  string
		waits bool
	}{
		"the same request": {bmc.RequestForceOff.Name(), false},
		"another request":  {bmc.RequestOn.Name(), true},
		"a restart":        {bmc.NameRestart, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
			var asked time.Time
			b.machine.answer = func(bmc.PowerRequest) (bool, error) { asked = time.Now(); return true, nil }
			within := time.Hour
			if c.waits {
				within = soon
			}
			until := b.left(c.left, within)
			_, err := b.run()
			require.NoError(t, err)
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff}, b.machine.asked)
			require.Equal(t, c.waits, !asked.Before(until))
		})
	}
}

// The server shows what is wanted, but what a conductor that is gone has sent changes that.
func TestNothingIsDoneAlreadyWhileAnotherRequestMayTakeEffect(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOn})
	b.left(bmc.RequestForceOff.Name(), 8*soon)
	b.whileItWaits(func(m *machine) { m.power = bmc.PowerOff })
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
	require.Equal(t, bmc.PowerOn, b.machine.power)
}

func TestAnUndoWaitsForWhatMayStillTakeEffect(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) { o.Undo = []node.Undo{node.UndoEjectMedia, node.UndoClearBoot} })
	until := b.left(bmc.Boot{Device: bmc.DeviceCDROM}.Name(), soon)
	b.whileItWaits(func(m *machine) { m.boot = bmc.Boot{Device: bmc.DeviceCDROM} })
	require.NoError(t, b.undo())
	require.False(t, time.Now().Before(until))
	require.Equal(t, bmc.DeviceNone, b.machine.boot.Device)
}

func TestAWaitForARequestSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.steps.Settings.TellEvery = 10 * time.Millisecond
	b.left(bmc.RequestOn.Name(), 8*soon) // longer than a busy machine takes to begin
	_, err := b.run()
	require.NoError(t, err)
	i := slices.IndexFunc(b.book.told, func(w node.Wait) bool { return w.For == node.WaitRequest })
	require.GreaterOrEqual(t, i, 0, "%v", b.book.told)
	require.Equal(t, "power On of conductor c0", b.book.told[i].Subject)
	require.NotNil(t, b.book.told[i].Until)
}

func TestARequestIsRecordedBeforeItIsSentAndItsAnswerWithTheNextSave(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.within = time.Hour
	b.machine.answer = func(bmc.PowerRequest) (bool, error) {
		r, until := b.book.flight()
		require.Equal(t, "power ForceOff", r.Name)
		require.Equal(t, "c1", r.Conductor)
		require.True(t, time.Now().Add(50*time.Minute).Before(until))
		return true, nil
	}
	_, err := b.run()
	require.NoError(t, err)
	require.False(t, b.underWay())
}

func TestARequestWhoseAnswerIsLostStaysRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		over bool
	}{
		"the connection broke": {fault.New(fault.Unreachable, "%w", fault.NoAnswerError("closed")), false},
		"nothing was sent":     {fault.New(fault.Unreachable, "%w", bmc.NotSent(fault.NoAnswerError("no route"))), true},
		"it was refused":       {fault.New(fault.Refused, "400"), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
			b.machine.within = time.Hour
			asked := false
			b.machine.answer = func(bmc.PowerRequest) (bool, error) { asked = true; return false, c.err }
			b.machine.reads = func() error { // after that it refuses, so that the step does not read as long as an answer may take
				if asked {
					return fault.New(fault.Denied, "401")
				}
				return nil
			}
			_, err := b.run()
			require.Error(t, err)
			require.Equal(t, c.over, !b.underWay())
		})
	}
}

// A driver sends a request again, because a packet may be lost. If that can't be recorded, the first one may still take effect.
func TestARequestThatCanNotBeSentAgainStaysRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.within, b.machine.sends = time.Hour, 2
	asked := 0
	b.book.onRequest = func() error {
		if asked++; asked == 2 {
			return fault.New(fault.Unavailable, "the database is away: %w", context.DeadlineExceeded)
		}
		return nil
	}
	_, err := b.run()
	require.Error(t, err)
	require.True(t, b.underWay())
}

// The effect that shows may be that of the packet that was sent again, so that of the one before may still come.
func TestAnEffectDoesNotTellWhichOfTwoPacketsHadIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.within, b.machine.sends = time.Hour, 2
	b.machine.answer = func(bmc.PowerRequest) (bool, error) {
		return true, fault.New(fault.Unreachable, "%w", fault.NoAnswerError("closed"))
	}
	_, err := b.run()
	require.NoError(t, err)
	r, until := b.book.flight()
	require.True(t, r.Repeated)
	require.True(t, time.Now().Before(until))
}

func TestTheEffectThatIsReadBackIsAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.PowerOff})
	b.machine.within = time.Hour
	b.machine.answer = func(bmc.PowerRequest) (bool, error) {
		return true, fault.New(fault.Unreachable, "%w", fault.NoAnswerError("closed"))
	}
	_, err := b.run()
	require.NoError(t, err)
	require.False(t, b.underWay())
}

// The effect that shows may be that of the request that was repeated, so that of the one before may still come.
func TestARepeatedRequestIsWaitedForAlthoughItsEffectShows(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.Rebooting})
	until := b.left(bmc.RequestForceOff.Name(), soon)
	b.steps.Settings.TellEvery = 10 * time.Millisecond
	waits := func() bool {
		return slices.ContainsFunc(b.book.told, func(w node.Wait) bool { return w.For == node.WaitRequest })
	}
	var sent []time.Time
	b.machine.answer = func(bmc.PowerRequest) (bool, error) {
		if len(sent) == 0 {
			require.False(t, waits(), "it is repeated at once")
		}
		sent = append(sent, time.Now())
		return true, nil
	}
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
	require.False(t, sent[1].Before(until))
}

// It may take effect for as long again as it was awaited.
func TestARequestThatRanOutOfTimeMayTakeEffectLater(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, fakes, plan.Options{Power: node.Rebooting})
	b.machine.within = soon
	began := time.Now()
	var sent []time.Time
	b.machine.answer = func(r bmc.PowerRequest) (bool, error) {
		sent = append(sent, time.Now())
		if len(sent) > 1 {
			return true, nil
		}
		<-time.After(soon) // as long as the driver waits for the answer
		return false, fault.New(fault.Unreachable, "%w", fault.NoAnswerError("no answer in time"))
	}
	_, err := b.run() // the power does not change
	require.Error(t, err)
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
	require.GreaterOrEqual(t, sent[2].Sub(began), 2*soon, "the first one could still have switched it off")
}

func TestWhatAConductorHasLearnedOfABMCIsHandedOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.machine.within = 4 * time.Second
	b.book.covered("c1", "c2")
	b.machine.reads = func() error {
		b.machine.within = 8 * time.Second
		return fault.New(fault.Unreachable, "%w", fault.NoAnswerError("no answer in time"))
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextElsewhere, r.Next)
	b.machine.reads = nil
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, 8*time.Second, b.machine.inherited)
}

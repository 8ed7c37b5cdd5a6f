package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// watch is the clock of a BMC.
type watch struct {
	off    time.Duration // ahead of ours
	sets   int
	answer error // to a request that takes effect
}

type clockSession struct {
	*session
	*watch
}

func (s clockSession) ReadClock(context.Context) (time.Time, error) {
	return time.Now().Add(s.off), nil
}

func (s clockSession) SetClock(ctx context.Context, at time.Time, _ string) error {
	if err := s.write(ctx, bmc.NameSetClock); err != nil {
		return err
	}
	s.sets, s.off = s.sets+1, time.Until(at)
	return s.answer
}

// clockBench is a cleaning that sets the clock of a BMC which is off.
func clockBench(t *testing.T, off time.Duration, args map[string]any) (*bench, *watch) {
	b := newBench(t, node.KindNMI, node.Cleaning, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "management", Step: node.StepSetBMCClock, Args: args, Source: node.SourceDriver, Asked: true, State: node.StepPending}}
	})
	w := &watch{off: off}
	b.machine.watch, b.machine.within = w, 20*time.Millisecond
	return b, w
}

func TestTheClockOfABMCIsSetIfItIsOff(t *testing.T) {
	t.Parallel()
	b, w := clockBench(t, -time.Hour, nil)
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, 1, w.sets)
	require.Less(t, w.off.Abs(), 10*time.Second)

	b, w = clockBench(t, time.Second, nil)
	_, err = b.run()
	require.NoError(t, err)
	require.Zero(t, w.sets, "it is right")

	b, w = clockBench(t, 0, map[string]any{"target_datetime": "2020-01-01T00:00:00+00:00", "datetime_local_offset": "+00:00"})
	w.answer = lostAnswer
	for range 2 {
		if _, err = b.run(); err == nil {
			break
		}
	}
	require.NoError(t, err)
	require.Equal(t, 1, w.sets, "what the BMC shows decides")
	require.Equal(t, 2020, time.Now().Add(w.off).Year())

	for name, v := range map[string]any{"target_datetime": "tomorrow", "datetime_local_offset": "Berlin"} {
		b, _ = clockBench(t, 0, map[string]any{name: v})
		_, err = b.run()
		require.ErrorContains(t, err, name+" must be")
		require.True(t, final(err))
	}
}

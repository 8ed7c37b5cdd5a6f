package worker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
)

// registry stands for the table of conductors; answer returns the result of a heartbeat.
type registry struct {
	mu       sync.Mutex
	beats    int
	contacts int // of these, how many said that Temporal was reached
	draining bool
	answer   func(n int) error
}

func (l *registry) RegisterConductor(context.Context, coverage.Conductor) (int64, error) {
	return 1, nil
}

func (l *registry) DrainConductor(context.Context, string, int64) error { return nil }

func (l *registry) StopConductor(context.Context, string, int64) error { return nil }

func (l *registry) HeartbeatConductor(_ context.Context, _ string, _ int64, contact bool) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats++
	if contact {
		l.contacts++
	}
	return l.draining, l.answer(l.beats)
}

func (l *registry) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.beats
}

func conductorOf(l *registry) *Conductor {
	return &Conductor{
		Registry: l, Self: coverage.Conductor{Hostname: "c1"}, Interval: 5 * time.Millisecond, Timeout: 50 * time.Millisecond, Log: zap.NewNop(),
		contact: func(context.Context) error { return nil },
	}
}

func TestAStoppedConductorStopsBeating(t *testing.T) {
	l := &registry{answer: func(int) error { return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- conductorOf(l).heartbeatLoop(ctx, 1, false) }()
	require.Eventually(t, func() bool { return l.count() > 2 }, 30*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

func TestANewerIncarnationOfTheNameEndsTheOlder(t *testing.T) {
	l := &registry{answer: func(int) error { return fault.New(fault.Lost, "incarnation 2 has the name") }}
	err := conductorOf(l).heartbeatLoop(t.Context(), 1, false)
	require.ErrorContains(t, err, "conductor c1 was started again elsewhere")
	require.True(t, fault.Is(err, fault.Lost))
}

func TestADatabaseThatIsAwayTooLongMakesTheConductorGiveUpItsSteps(t *testing.T) {
	l := &registry{answer: func(int) error { return fault.New(fault.Unavailable, "connection refused") }}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c := conductorOf(l)
	c.Interval, c.Timeout = 200*time.Millisecond, 20*time.Second
	require.NoError(t, c.heartbeatLoop(ctx, 1, false))
	require.NoError(t, ctx.Err(), "it gave up by itself")
	// It stops before the timeout, after which others may take it for dead.
	require.Less(t, time.Since(began), 20*time.Second)
}

// It is two intervals, so that with the defaults another conductor continues a step within ten seconds.
func TestADatabaseThatIsSilentMakesTheConductorGiveUpItsStepsInTime(t *testing.T) {
	l := &registry{answer: func(int) error { return nil }}
	c := conductorOf(l)
	c.Interval, c.Timeout = 500*time.Millisecond, 20*time.Second
	c.Registry = &mute{registry: l}
	began := time.Now()
	require.NoError(t, c.heartbeatLoop(t.Context(), 1, false))
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	require.Less(t, time.Since(began), 10*time.Second, "a request that hangs does not hold it up until the timeout")
}

// mute is a database that accepts requests and never answers.
type mute struct{ *registry }

func (m *mute) HeartbeatConductor(ctx context.Context, _ string, _ int64, _ bool) (bool, error) {
	<-ctx.Done()
	return false, fault.New(fault.Unavailable, "no answer: %w", ctx.Err())
}

// In fake time, because a machine that stands still for a moment would make the absence a long one.
func TestAShortAbsenceOfTheDatabaseIsBridged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &registry{answer: func(n int) error {
			if n%2 == 0 {
				return errors.New("connection reset")
			}
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- conductorOf(l).heartbeatLoop(ctx, 1, false) }()
		require.Eventually(t, func() bool { return l.count() > 10 }, time.Hour, time.Millisecond)
		cancel()
		require.NoError(t, <-done)
	})
}

func TestTheConductorReturnsWithTheDatabase(t *testing.T) {
	l := &registry{answer: func(n int) error {
		if n < 4 {
			return fault.New(fault.Unavailable, "connection refused")
		}
		return nil
	}}
	require.NoError(t, conductorOf(l).awaitDatabase(t.Context(), 1))
	require.Equal(t, 4, l.count())

	l = &registry{answer: func(int) error { return fault.New(fault.Lost, "incarnation 2 has the name") }}
	require.True(t, fault.Is(conductorOf(l).awaitDatabase(t.Context(), 1), fault.Lost))
}

func TestAHeartbeatSaysWhetherTemporalIsReached(t *testing.T) {
	l := &registry{answer: func(int) error { return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := conductorOf(l)
	c.Timeout = time.Minute
	asked := 0
	c.contact = func(context.Context) error {
		if asked++; asked%2 == 0 {
			return errors.New("no connection")
		}
		return nil
	}
	go func() { done <- c.heartbeatLoop(ctx, 1, false) }()
	require.Eventually(t, func() bool { return l.count() > 9 }, 30*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
	require.InDelta(t, l.beats/2, l.contacts, 1, "it lives also while Temporal is away, and says so")
}

func TestAConductorIsToldToDrainByItsHeartbeat(t *testing.T) {
	l := &registry{answer: func(int) error { return nil }, draining: true}
	require.ErrorIs(t, conductorOf(l).heartbeatLoop(t.Context(), 1, false), errDrained)
	undrained := &registry{answer: func(int) error { return nil }}
	require.ErrorIs(t, conductorOf(undrained).heartbeatLoop(t.Context(), 1, true), errUndrained)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- conductorOf(l).serveDrained(ctx, 1) }()
	require.Eventually(t, func() bool { return l.count() > 5 }, 30*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-done, "it stays, and heartbeats, until it is stopped")
}

// slow is a database that registers a conductor after a while.
type slow struct {
	*registry
	after time.Duration
}

func (s slow) RegisterConductor(ctx context.Context, _ coverage.Conductor) (int64, error) {
	select {
	case <-time.After(s.after):
		return 7, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// A conductor that is stopped while it registers learns that it is registered, so that it can leave.
func TestAStopDoesNotCutARegistrationOff(t *testing.T) {
	for after, want := range map[time.Duration]error{time.Second: nil, time.Hour: context.Canceled} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			began := time.Now()
			c := conductorOf(&registry{})
			c.Registry = slow{&registry{}, after}
			_, err := c.register(ctx)
			require.ErrorIs(t, err, want)
			require.LessOrEqual(t, time.Since(began), leaveWithin)
		})
	}
}

package worker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// ledger is where conductors are known; answer says what a heartbeat gets.
type ledger struct {
	mu     sync.Mutex
	beats  int
	answer func(n int) error
}

func (l *ledger) RegisterConductor(context.Context, node.Conductor) (int64, error) { return 1, nil }
func (l *ledger) DrainConductor(context.Context, string, int64) error              { return nil }
func (l *ledger) StopConductor(context.Context, string, int64) error               { return nil }
func (l *ledger) HeartbeatConductor(context.Context, string, int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats++
	return l.answer(l.beats)
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.beats
}

func conductorOf(l *ledger) *Conductor {
	return &Conductor{
		Registry: l, Self: node.Conductor{Hostname: "c1"}, Interval: 5 * time.Millisecond, Timeout: 50 * time.Millisecond, Log: zap.NewNop(),
	}
}

func TestAStoppedConductorStopsBeating(t *testing.T) {
	l := &ledger{answer: func(int) error { return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- conductorOf(l).beat(ctx, 1) }()
	require.Eventually(t, func() bool { return l.count() > 2 }, 5*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

func TestANewerIncarnationOfTheNameEndsTheOlder(t *testing.T) {
	l := &ledger{answer: func(int) error { return fault.New(fault.Lost, "incarnation 2 has the name") }}
	err := conductorOf(l).beat(t.Context(), 1)
	require.ErrorContains(t, err, "conductor c1 was started again elsewhere")
	require.True(t, fault.Is(err, fault.Lost))
}

func TestADatabaseThatIsAwayTooLongMakesTheConductorGiveUpItsSteps(t *testing.T) {
	l := &ledger{answer: func(int) error { return fault.New(fault.Unavailable, "connection refused") }}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, conductorOf(l).beat(ctx, 1))
	require.NoError(t, ctx.Err(), "it gave up by itself")
	// Before the timeout: others may take it for dead only after that.
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestAShortAbsenceOfTheDatabaseIsBridged(t *testing.T) {
	l := &ledger{answer: func(n int) error {
		if n%2 == 0 {
			return errors.New("connection reset")
		}
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := conductorOf(l)
	c.Timeout = time.Minute
	go func() { done <- c.beat(ctx, 1) }()
	require.Eventually(t, func() bool { return l.count() > 10 }, 5*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

func TestTheConductorReturnsWithTheDatabase(t *testing.T) {
	l := &ledger{answer: func(n int) error {
		if n < 4 {
			return fault.New(fault.Unavailable, "connection refused")
		}
		return nil
	}}
	require.NoError(t, conductorOf(l).awaitDatabase(t.Context(), 1))
	require.Equal(t, 4, l.count())

	l = &ledger{answer: func(int) error { return fault.New(fault.Lost, "incarnation 2 has the name") }}
	require.True(t, fault.Is(conductorOf(l).awaitDatabase(t.Context(), 1), fault.Lost))
}

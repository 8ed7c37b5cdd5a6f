package lockwait_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

var errLocked = errors.New("locked")

// lock is a node that one operation at a time may hold. It tells of the ends of its operations.
type lock struct {
	deaf bool // nobody can listen

	mu       sync.Mutex
	held     bool
	tries    int
	taken    []int
	hearers  map[chan struct{}]bool
	recorded int
}

func (l *lock) HearEnds(context.Context, string) (<-chan struct{}, func(), error) {
	if l.deaf {
		return nil, nil, errors.New("no connection")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{}, 1)
	if l.hearers == nil {
		l.hearers = map[chan struct{}]bool{}
	}
	l.hearers[c] = true
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.hearers, c)
	}, nil
}

// try takes the lock for request i.
func (l *lock) try(i int) func(*lockwait.Turn) error {
	return func(t *lockwait.Turn) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.tries++
		if l.held || t.Behind("n1") {
			if !t.Patient() {
				l.recorded++
			}
			return &node.HeldBriefly{UUID: "n1", Refusal: errLocked}
		}
		l.held, l.taken = true, append(l.taken, i)
		return nil
	}
}

func (l *lock) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	for c := range l.hearers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func queues(l *lock) *lockwait.Queues {
	return lockwait.New(lockwait.Config{Ends: l, Wait: 3 * time.Second})
}

func TestRequestsGoOnInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lock{held: true}
		q := queues(l)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() { require.NoError(t, q.Do(t.Context(), l.try(i))) })
			synctest.Wait()
		}
		require.Equal(t, 20, q.Health().Waiting)
		require.Equal(t, 21, l.tries, "only the first one has tried again, when it could hear of ends")
		var want []int
		for i := range 20 {
			l.end()
			synctest.Wait()
			want = append(want, i)
			require.Equal(t, want, l.taken)
		}
		all.Wait()
		require.Equal(t, lockwait.Health{Answered: 20}, q.Health())
		require.Empty(t, l.hearers)
	})
}

// A request that comes when the lock is free does not overtake those that are about to take it.
func TestNobodyOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lock{held: true}
		q := queues(l)
		go func() { _ = q.Do(t.Context(), l.try(1)) }()
		synctest.Wait()
		l.mu.Lock()
		l.held = false // nobody is told yet
		l.mu.Unlock()
		go func() { _ = q.Do(t.Context(), l.try(2)) }()
		synctest.Wait()
		require.Empty(t, l.taken)
		l.end()
		synctest.Wait()
		l.end()
		synctest.Wait()
		require.Equal(t, []int{1, 2}, l.taken)
	})
}

func TestARequestThatWaitsInVainIsRefusedWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lock{held: true}
		q := queues(l)
		begin := time.Now()
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				require.Equal(t, errLocked, q.Do(t.Context(), l.try(i)))
				require.Equal(t, 3*time.Second, time.Since(begin))
			})
		}
		all.Wait()
		require.Equal(t, lockwait.Health{TimedOut: 3}, q.Health())
	})
}

// Without a connection that hears of ends, the first request asks once a second.
func TestWithoutAConnectionTheFirstAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lock{held: true, deaf: true}
		q := queues(l)
		go func() {
			time.Sleep(1500 * time.Millisecond)
			l.end()
		}()
		begin := time.Now()
		require.NoError(t, q.Do(t.Context(), l.try(1)))
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.Equal(t, 4, l.tries)
	})
}

func TestOneRequestTooManyIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lock{held: true}
		q := queues(l)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range lockwait.MaxWaiting {
			all.Go(func() { require.ErrorIs(t, q.Do(ctx, l.try(i)), context.Canceled) })
		}
		synctest.Wait()
		begin := time.Now()
		require.Equal(t, errLocked, q.Do(t.Context(), l.try(-1)))
		require.Equal(t, begin, time.Now())
		require.Zero(t, l.recorded)
		recorded := false
		require.ErrorIs(t, q.Do(t.Context(), func(turn *lockwait.Turn) error {
			if turn.Patient() {
				return &node.HeldBriefly{UUID: "n1", Refusal: errLocked, Record: true}
			}
			recorded = true
			return errLocked
		}), errLocked)
		require.True(t, recorded)
		cancel() // their clients hang up
		all.Wait()
		require.Equal(t, lockwait.Health{Left: lockwait.MaxWaiting, Refused: 2}, q.Health())
	})
}

func TestTheFirstMayLeaveTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lock{held: true}
		q := queues(l)
		ctx, hangUp := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { require.ErrorIs(t, q.Do(ctx, l.try(1)), context.Canceled) })
		synctest.Wait()
		all.Go(func() { require.NoError(t, q.Do(t.Context(), l.try(2))) })
		synctest.Wait()
		hangUp()
		synctest.Wait()
		l.end()
		all.Wait()
		require.Equal(t, []int{2}, l.taken)
	})
}

func TestTheDeadlineOfTheRequestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lock{held: true}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Equal(t, errLocked, queues(l).Do(ctx, l.try(1)))
	})
}

// An allocation waits for another node when the one that it waited for was taken.
func TestARequestMayChangeToTheQueueOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lock{}
		var seen []string
		require.NoError(t, queues(l).Do(t.Context(), func(turn *lockwait.Turn) error {
			i := len(seen)
			seen = append(seen, fmt.Sprint(turn.Again()))
			if i < 3 {
				return &node.HeldBriefly{UUID: fmt.Sprintf("n%d", i), Refusal: errLocked}
			}
			return nil
		}))
		require.Equal(t, []string{"false", "true", "true", "true"}, seen)
	})
}

func TestWithoutTimeNobodyWaits(t *testing.T) {
	l := &lock{held: true}
	q := lockwait.New(lockwait.Config{Ends: l})
	require.Equal(t, errLocked, q.Do(t.Context(), l.try(1)))
	require.Equal(t, lockwait.Health{}, q.Health())
}

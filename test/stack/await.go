package stack

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Look is how often Await and Poll look.
const Look = 100 * time.Millisecond

// How long Await waits on a busy machine: until it has called the condition a quarter as often as on an idle one, where a call
// takes no time, but not longer than five times as long.
const (
	fewest  = 4
	longest = 5
)

// Await waits until cond returns nil. It gives up when the time is over and cond was called often enough, and returns cond's
// last error. On a busy machine what is awaited takes longer, and so do the calls.
func Await(ctx context.Context, within time.Duration, cond func() error) error {
	ctx, cancel := context.WithTimeout(ctx, longest*within)
	defer cancel()
	began, enough, looks := time.Now(), int(within/Look/fewest), 0
	var last error
	_ = Poll(ctx, func() (bool, error) { // the last error of cond says more
		looks++
		last = cond()
		return last == nil || looks >= enough && time.Since(began) >= within, nil
	})
	if last != nil {
		return fmt.Errorf("after %s: %w", time.Since(began).Round(time.Second), last)
	}
	return nil
}

// Poll calls f until it is done or fails, or ctx ends.
func Poll(ctx context.Context, f func() (done bool, err error)) error {
	tick := time.NewTicker(Look)
	defer tick.Stop()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		if ctx.Err() != nil { // the tick may have come, too, if f took long
			return ctx.Err()
		}
	}
}

// Eventually is Await for a test, which ends if cond never returns nil. It calls cond in the test's own goroutine, so cond
// may end the test, too.
func Eventually(t testing.TB, within time.Duration, cond func() error) {
	t.Helper()
	require.NoError(t, Await(t.Context(), within, cond))
}

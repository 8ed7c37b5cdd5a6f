package main

import (
	"context"
	"fmt"
	"time"
)

// look is how often something that is awaited is looked at.
const look = 100 * time.Millisecond

// How long something is awaited on a busy machine: until it was looked at a quarter as often as on an idle one, where a look
// takes no time, but not longer than five times as long.
const (
	fewest  = 4
	longest = 5
)

// await waits until cond returns nil. It gives up when the time is over and cond was called often enough, and returns cond's
// last error. On a busy machine what is awaited takes longer, and so do the calls.
func await(ctx context.Context, within time.Duration, cond func() error) error {
	ctx, cancel := context.WithTimeout(ctx, longest*within)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	began, enough := time.Now(), int(within/look/fewest)
	for looks := 1; ; looks++ {
		err := cond()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || looks >= enough && time.Since(began) >= within {
			return fmt.Errorf("after %s: %w", time.Since(began).Round(time.Second), err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

package bmc

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Shared is what all endpoints of one BMC share: the limits on requests, how long answers are awaited, and the credentials that
// the BMC has refused.
type Shared struct {
	*Patience
	Denials Denials

	Following sync.Mutex // held by the conversation that follows the events of the BMC

	slots chan struct{} // one element for each request under way
	pace  *rate.Limiter // of requests a second
	refs  int           // endpoints that use it; guarded by the pool's mutex
}

// NewShared returns what is shared of a BMC of which nothing is known.
func NewShared(s Settings) *Shared {
	out := &Shared{Patience: NewPatience(s), slots: make(chan struct{}, s.MaxPerBMC), pace: rate.NewLimiter(rate.Inf, 0)}
	out.SetPerSecond(s.PerSecond)
	return out
}

// SetPerSecond changes how many requests the BMC gets at most in any second; below 0 = any number. A quarter of them may follow
// each other at once.
func (s *Shared) SetPerSecond(n int) {
	if n < 0 {
		s.pace.SetLimit(rate.Inf)
		return
	}
	burst := max(n/4, 1)
	s.pace.SetBurst(burst)
	s.pace.SetLimit(rate.Limit(n - burst + 1))
}

// Acquire waits until a request may be sent, and takes a slot; Release must follow. It returns Busy if that is not before ctx's
// deadline, and ctx's cause if ctx is cancelled.
func (s *Shared) Acquire(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		if ctx.Err() == context.Canceled {
			return context.Cause(ctx)
		}
		return Busy(time.Second, "%d requests are under way to this BMC already, and none ended in time", cap(s.slots))
	}
	if err := s.pace.Wait(ctx); err != nil {
		s.Release()
		if ctx.Err() == context.Canceled {
			return context.Cause(ctx)
		}
		return Busy(time.Second, "no time was left to wait until this BMC may get another request: its requests a second are limited")
	}
	return nil
}

// Release gives the slot back.
func (s *Shared) Release() { <-s.slots }

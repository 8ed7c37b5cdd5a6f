package redfish

import (
	"context"
	"sync"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// site is one BMC, whoever talks to it: its slots, and who was denied.
type site struct {
	slots chan struct{}
	refs  int // endpoints; guarded by the driver's mutex

	mu     sync.Mutex
	denied map[[32]byte]denial // by credentials
}

// denial remembers a refused login.
type denial struct {
	until time.Time
	err   error
}

func newSite(slots int) *site {
	return &site{slots: make(chan struct{}, slots), denied: map[[32]byte]denial{}}
}

// enter waits for a slot.
func (s *site) enter(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
	}
	if err := cancelled(ctx, false); err != nil {
		return err
	}
	return bmc.Busy(time.Second, "%d requests are under way to this BMC already, and none ended in time", cap(s.slots))
}

func (s *site) leave() { <-s.slots }

// denial is what is remembered of these credentials, nil when they may be tried.
func (s *site) denial(credentials [32]byte, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.denied[credentials]
	if !ok || !now.Before(d.until) {
		delete(s.denied, credentials)
		return nil
	}
	return fault.New(fault.Denied, "%w; not tried again for %s, or until the credentials change, so as not to lock the account",
		d.err, d.until.Sub(now).Round(time.Second))
}

func (s *site) deny(credentials [32]byte, until time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[credentials] = denial{until: until, err: err}
}

// quiet reports whether nothing is worth remembering any more.
func (s *site) quiet(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, d := range s.denied {
		if !now.Before(d.until) {
			delete(s.denied, c)
		}
	}
	return len(s.denied) == 0
}

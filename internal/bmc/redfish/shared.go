package redfish

import (
	"context"
	"sync"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// sharedBMC is what all endpoints of one BMC share: the limit on concurrent requests, how
// long answers are awaited, and the credentials that the BMC has refused.
type sharedBMC struct {
	*patience
	slots chan struct{} // one element for each request under way
	refs  int           // endpoints that use it; guarded by the driver's mutex

	mu     sync.Mutex
	denied map[[32]byte]denial // by info.credentials
}

// denial is a refused login that is not tried again before until.
type denial struct {
	until time.Time
	err   error
}

func newSharedBMC(s bmc.Settings) *sharedBMC {
	return &sharedBMC{patience: newPatience(s), slots: make(chan struct{}, s.MaxPerBMC), denied: map[[32]byte]denial{}}
}

// acquire waits until a request may be sent; release must follow.
func (s *sharedBMC) acquire(ctx context.Context) error {
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

func (s *sharedBMC) release() { <-s.slots }

// recentDenial returns the error of the last login with these credentials, nil if they
// may be tried. A password that is tried too often can lock the account.
func (s *sharedBMC) recentDenial(credentials [32]byte, now time.Time) error {
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

func (s *sharedBMC) recordDenial(credentials [32]byte, until time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[credentials] = denial{until: until, err: err}
}

// noDenials reports whether all denials have expired, so that s may be dropped.
func (s *sharedBMC) noDenials(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, d := range s.denied {
		if !now.Before(d.until) {
			delete(s.denied, c)
		}
	}
	return len(s.denied) == 0
}

package redfish

import (
	"context"
	"sync"
	"time"

	"go.temper.dev/temper/internal/bmc"
)

// sharedBMC is what all endpoints of one BMC share: the limit on concurrent requests, how
// long answers are awaited, and the credentials that the BMC has refused.
type sharedBMC struct {
	*patience
	slots chan struct{} // one element for each request under way
	refs  int           // endpoints that use it; guarded by the driver's mutex

	following sync.Mutex // held by the conversation that follows the events

	denials bmc.Denials // by info.credentials
}

func newSharedBMC(s bmc.Settings) *sharedBMC {
	return &sharedBMC{patience: newPatience(s), slots: make(chan struct{}, s.MaxPerBMC)}
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

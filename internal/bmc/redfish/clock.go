package redfish

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// managerClock is the clock of a manager (Manager.v1_18_0).
type managerClock struct {
	ETag     looseString `json:"@odata.etag"`
	DateTime looseString
	path     string
	etag     string
	at       time.Time
}

// ReadClock implements bmc.Clock.
func (s *session) ReadClock(ctx context.Context) (time.Time, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	c, err := s.readClock(ctx)
	return c.at, s.wrap("read the clock", err)
}

// readClock reads the first manager of the system that has a clock.
func (s *session) readClock(ctx context.Context) (managerClock, error) {
	sys, err := s.recentSystem(ctx)
	if err != nil {
		return managerClock{}, err
	}
	for _, path := range s.managers(ctx, sys.system) {
		c := managerClock{path: path}
		a, err := s.read(ctx, path, &c)
		switch {
		case err != nil && !skippable(err):
			return managerClock{}, err
		case err != nil:
			continue
		}
		// The schema wants RFC 3339; a BMC that leaves the offset out means UTC.
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
			if at, err := time.Parse(layout, string(c.DateTime)); err == nil {
				c.at, c.etag = at, a.etag(c.ETag)
				return c, nil
			}
		}
	}
	return managerClock{}, fault.New(fault.Refused, "the BMC shows no clock")
}

// SetClock implements bmc.Clock.
func (s *session) SetClock(ctx context.Context, at time.Time, offset string) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	c, err := s.readClock(ctx)
	if err == nil {
		body := map[string]any{"DateTime": at.Truncate(time.Second).Format(time.RFC3339)}
		if offset != "" {
			body["DateTimeLocalOffset"] = offset
		}
		err = s.patch(bmc.Asking(ctx, bmc.NameSetClock), c.path, c.etag, body)
	}
	return s.wrap("set the clock", err)
}

package redfish

import (
	"context"
	"time"
)

// recentTime is how old a reading may be on which a request that changes something relies. Callers read a resource before they
// change it, and reading it once more right after that would tell the same. A BMC that checks If-Match refuses a change that
// relies on an outdated reading.
const recentTime = 5 * time.Second

// recent is the last reading of a resource by a conversation that has changed nothing since.
type recent[T any] struct {
	value T
	at    time.Time // when its answer came; zero = there is none
}

func (r recent[T]) usable() bool { return !r.at.IsZero() && time.Since(r.at) < recentTime }

// readings are the recent readings of a conversation.
type readings struct {
	system   recent[systemReading]
	override recent[override]
	drive    recent[virtualDrive]
}

// note notes what was read.
func note[T any](s *session, into *recent[T], value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*into = recent[T]{value, time.Now()}
}

// recently returns the recent reading, or reads now.
func recently[T any](ctx context.Context, s *session, from *recent[T], read func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	last := *from
	s.mu.Unlock()
	if last.usable() {
		return last.value, nil
	}
	return read(ctx)
}

// forgetReadings is called before and after each request that changes something.
func (s *session) forgetReadings() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readings = readings{}
}

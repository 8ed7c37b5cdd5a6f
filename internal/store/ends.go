package store

import (
	"context"
	"sync"
	"time"
)

// hearEndsSQL has those who end operations notify. Once it is committed, the end of an operation that is open then is notified.
const hearEndsSQL = `
UPDATE event_feed SET ends_heard_until = clock_timestamp() + @lease * interval '1 microsecond'
 WHERE ends_heard_until IS NULL OR ends_heard_until NOT BETWEEN clock_timestamp() + @lease * interval '1 microsecond' / 2 AND clock_timestamp() + @lease * interval '1 microsecond'`

// endsLease is since when this process has had the ends of operations notified.
type endsLease struct {
	mu    sync.Mutex
	since time.Time
}

func (l *endsLease) fresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.since) < followLease/4
}

func (l *endsLease) renewed(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = at
}

// HearEnds returns a channel that gets a value when an operation of the node has ended, until stop is called. An operation that
// is open when HearEnds returns is not missed, unless the connection breaks meanwhile: then nothing is heard any more. All who
// listen for something in this process share one connection.
func (s *Store) HearEnds(ctx context.Context, nodeUUID string) (ended <-chan struct{}, stop func(), err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	line, err := s.listener.listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !s.ends.fresh() {
		at := time.Now()
		if _, err := s.exec(ctx, "listen for the ends of operations", hearEndsSQL, args{"lease": micros(followLease)}); err != nil {
			s.listener.leave(line)
			return nil, nil, err
		}
		s.ends.renewed(at)
	}
	heard, forget := line.toEnds(nodeUUID)
	return heard, func() {
		forget()
		s.listener.leave(line)
	}, nil
}

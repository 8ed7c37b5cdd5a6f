package conductor

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// eventPause is the shortest pause between two looks at a BMC that tells event after event.
const eventPause = 100 * time.Millisecond

// events tells a loop that waits for hardware that it may look at once. It is a hint only: a loop that hears nothing looks
// as often as without events, and what counts is what it reads.
type events struct {
	happened chan struct{}
	cancel   context.CancelFunc
	ended    chan struct{} // closed when nobody listens any more
}

// listen follows the events of the node's BMC until end is called. If it has none, or the stream breaks, nothing is heard.
func (t *task) listen(ctx context.Context) *events {
	ctx, cancel := context.WithCancel(ctx)
	e := &events{happened: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{})}
	s, err := t.bmc(ctx)
	if err != nil || s.EventSource == nil {
		close(e.ended)
		return e
	}
	go func() {
		defer close(e.ended)
		err := s.FollowEvents(ctx, func() {
			select {
			case e.happened <- struct{}{}:
			default: // the loop has not looked yet since the last one
			}
		})
		if err != nil && ctx.Err() == nil {
			t.log.Debug("the events of the BMC are not followed", zap.Error(err))
		}
	}()
	return e
}

// end returns when nobody listens any more, or when ctx is over: a step that is handed over does not wait until its subscription
// is deleted, which goes on meanwhile. A nil e listens to nothing.
func (e *events) end(ctx context.Context) {
	if e == nil {
		return
	}
	e.cancel()
	select {
	case <-e.ended:
	case <-ctx.Done():
	}
}

// pause waits for d, or until an event, but not for less than eventPause and asked: how long a BMC wants not to be asked.
func (e *events) pause(ctx context.Context, d, asked time.Duration) error {
	least := min(d, max(eventPause, asked))
	if err := sleep(ctx, least); err != nil {
		return err
	}
	timer := time.NewTimer(d - least)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.happened:
	case <-timer.C:
	}
	return nil
}

package events

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// run follows the source until ctx ends, over a new connection whenever one has failed. Streams live on meanwhile.
func (h *Hub) run(ctx context.Context) {
	var silent bool // an outage is logged once
	for ctx.Err() == nil {
		err := h.follow(ctx, func() { silent = false })
		if ctx.Err() != nil {
			return
		}
		if !silent {
			h.Log.Warn("events can't be followed; trying again", zap.Error(err))
			silent = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

func (h *Hub) follow(ctx context.Context, works func()) error {
	feed, err := h.Source.FollowEvents(ctx)
	if err != nil {
		return err
	}
	defer feed.Close()
	var horizon Horizon
	for pause := firstPause; ; {
		all, err := h.lookOnce(ctx, feed, &horizon)
		if err != nil {
			return err
		}
		works()
		wait := lull
		if !all {
			wait = pause
			pause = min(2*pause, maxPause)
		}
		if heard, err := h.await(ctx, feed, wait); err != nil {
			return err
		} else if heard || all {
			pause = firstPause
		}
	}
}

// lookOnce takes a look, and takes over what is settled. all reports whether everything that was written is.
func (h *Hub) lookOnce(ctx context.Context, feed Feed, horizon *Horizon) (all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	look, err := feed.Look(ctx)
	if err != nil {
		return false, err
	}
	settled, known := horizon.Settle(look)
	if known {
		err = h.advance(ctx, feed, look, settled)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all = known && settled >= look.Written
	switch {
	case all:
		h.since = time.Time{}
	case h.since.IsZero():
		h.since = time.Now()
	}
	return all, err
}

// await waits until new events were announced or a stream asks for a look, at most for the time. Many announcements in a row
// are one.
func (h *Hub) await(ctx context.Context, feed Feed, most time.Duration) (heard bool, err error) {
	least := time.After(firstPause)
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-h.kick:
			cancel()
		case <-wait.Done():
		}
	}()
	err = feed.Wait(wait)
	heard = err == nil
	cancelled := wait.Err() != nil
	cancel()
	<-done
	if err != nil && !(cancelled && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))) {
		return false, err
	}
	select {
	case <-least:
	case <-ctx.Done():
	}
	return heard, ctx.Err()
}

// pageEvents is how many events are read at once.
const pageEvents = 1000

// advance takes over the events up to settled. If there are more than the tail holds, streams read them from the database.
func (h *Hub) advance(ctx context.Context, feed Feed, look Look, settled int64) error {
	h.mu.Lock()
	if ctx.Err() != nil { // nobody follows any more: what is known ends here
		h.mu.Unlock()
		return ctx.Err()
	}
	at := h.settled
	if !h.known || settled < at || settled-at > tailEvents { // settled < at: an older state of the database was restored
		at = settled
		h.settled, h.tail, h.known = settled, tail{from: settled}, true
	}
	h.look, h.looks = look, h.looks+1
	h.announce()
	h.mu.Unlock()
	for at < settled {
		list, deleted, err := feed.Events(ctx, Query{After: at, Through: settled, Limit: pageEvents})
		if err != nil {
			return err
		}
		missed := deleted > at
		at = settled
		if len(list) == pageEvents {
			at = list[len(list)-1].Seq
		}
		if err := h.take(list, at, missed); err != nil {
			return err
		}
	}
	return nil
}

// take adds settled events to the tail; at is the number up to which they are all. If some were deleted before they were read
// (missed), the tail begins behind them, so that streams notice.
func (h *Hub) take(list []Event, at int64, missed bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		return nil // nobody follows any more
	}
	if missed {
		h.tail = tail{from: at}
	} else if err := h.tail.add(list); err != nil {
		return err
	}
	h.settled = at
	h.announce()
	return nil
}

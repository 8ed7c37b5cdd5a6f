package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// Bounds of what a stream reads at once.
const (
	batchBytes   = 32 << 10
	oldEvents    = 500    // from the database
	oldNumbers   = 50_000 // through which a statement looks for them
	oldReadPause = time.Second
)

// Stream gives the events that somebody wants, one batch after the other. Nothing is kept for it but a number, so one that is
// slow costs no memory. It is for one goroutine.
type Stream struct {
	hub    *Hub
	user   string
	filter Filter
	at     int64 // it has had everything up to this number
	opened int64 // the looks of the hub before it
	closed bool
}

// At is the number up to which the stream has had everything that it wants. A later stream may begin there.
func (s *Stream) At() int64 { return s.at }

// Close ends the stream.
func (s *Stream) Close() {
	if !s.closed {
		s.closed = true
		s.hub.leave(s.user)
	}
}

// Next waits for events and returns them in the form of text/event-stream. If events after At are not kept any more, or the
// number is of another database, it returns the event reset, and goes on with what is committed from now on.
func (s *Stream) Next(ctx context.Context) ([]byte, error) {
	for {
		h := s.hub
		h.mu.Lock()
		changed, settled, from, deleted := h.changed, h.settled, h.tail.from, h.look.Deleted
		if s.at == FromOldest && h.known {
			s.at = deleted
		}
		// A look that was under way when the stream began may be older than the number.
		gone := s.at > h.look.Written && h.looks > s.opened+1
		var blocks []byte
		switch {
		case !h.known, s.at > settled && !gone:
		case gone || s.at < deleted:
			blocks = resetBlock(s.at, deleted+1, settled)
			s.at = settled
			h.resets++
		case s.at >= from:
			blocks, s.at = h.tail.after(s.at, settled, &s.filter, batchBytes)
		}
		h.mu.Unlock()
		switch {
		case len(blocks) > 0:
			return blocks, nil
		case s.at < from && s.at < settled:
			blocks, err := s.readOld(ctx, min(settled, from, s.at+oldNumbers))
			if err != nil || len(blocks) > 0 {
				return blocks, err
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// resetBlock tells a client that it has missed events.
func resetBlock(after, oldest, seq int64) []byte {
	body, _ := json.Marshal(map[string]int64{"after": after, "oldest": oldest, "seq": seq}) // numbers always have a form
	return fmt.Appendf(nil, "id: %d\nevent: reset\ndata: %s\n\n", seq, body)
}

// readOld reads events that are not in the tail any more. While the database is away it waits.
func (s *Stream) readOld(ctx context.Context, through int64) ([]byte, error) {
	h := s.hub
	select {
	case h.reads <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	list, deleted, err := h.Source.Events(ctx, Query{After: s.at, Through: through, Filter: s.filter, Limit: oldEvents})
	<-h.reads
	if err != nil {
		h.Log.Debug("old events can't be read", zap.Error(err))
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(oldReadPause):
			return nil, nil
		}
	}
	if deleted > s.at { // Next tells that
		h.mu.Lock()
		h.look.Deleted = max(h.look.Deleted, deleted)
		h.mu.Unlock()
		return nil, nil
	}
	var blocks []byte
	for i := range list {
		block, err := list[i].block()
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block...)
	}
	s.at = through
	if len(list) == oldEvents {
		s.at = list[len(list)-1].Seq
	}
	return blocks, nil
}

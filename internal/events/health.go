package events

import "time"

// Health describes the state of a Hub.
type Health struct {
	Streams int
	Resets  int64         // how often a stream was told that it had missed events
	Refused int64         // streams that were one too many
	Behind  time.Duration // how long there have been numbers that are not settled; 0 = there are none
}

// Health returns the state of the hub.
func (h *Hub) Health() Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := Health{Streams: h.streams, Resets: h.resets, Refused: h.refused}
	if !h.since.IsZero() {
		out.Behind = time.Since(h.since)
	}
	return out
}

package events

// Look is one look at who writes events. The store takes Written before Writers, and events are read after both.
type Look struct {
	Written int64    // the highest number that was given out; its transaction may be open, or rolled back
	Writers []string // the open transactions that have written events, or are about to
	Deleted int64    // events up to this number may have been deleted
}

// Horizon tells up to which number events are settled: each one up to it is visible or will never be. The zero value is ready
// for the first look.
//
// A transaction that a look does not show among the writers has no number yet that will be visible later: had it taken one, it
// would hold its lock until it ends. So all numbers of a writer that a look shows first are above what was written at the look
// before. Of the writers that the first look shows, nothing is known: nothing is settled until they have ended.
type Horizon struct {
	looked  bool
	written int64
	above   map[string]int64 // by writer; its numbers are above this, unknown = of the first look
}

const unknown = -1

// Settle takes a look and returns the highest settled number. known is false while a transaction is open that was open at
// the first look.
func (h *Horizon) Settle(l Look) (settled int64, known bool) {
	above := make(map[string]int64, len(l.Writers))
	settled, known = l.Written, true
	for _, w := range l.Writers {
		at, seen := h.above[w]
		switch {
		case !h.looked:
			at = unknown
		case !seen:
			at = h.written
		}
		above[w] = at
		if at == unknown {
			known = false
		}
		settled = min(settled, at)
	}
	h.looked, h.written, h.above = true, l.Written, above
	return settled, known
}

package bmc

import (
	"slices"
	"sync"
	"time"
)

const (
	answersKept  = 64 // answers from which a BMC's patience is learned
	answerFactor = 2  // an answer is awaited for so many times the 99th percentile of the last ones
)

// Patience is how long the answers of one BMC are awaited. It is learned from its last answers, between the bounds of the
// settings. A request that ran out of time doubles it, until answersKept answers have come after it.
type Patience struct {
	least, most time.Duration

	mu      sync.Mutex
	last    []time.Duration // how long the last answers took; a ring
	next    int             // in last
	doubled time.Duration   // after a request that ran out of time, here or in another process; 0 = there was none
	since   int             // answers since then
	told    time.Duration   // what Within returned last, which other processes may know from this one
}

// NewPatience returns the patience with a BMC of which nothing is known. If the bounds of the settings are the same, nothing is learned.
func NewPatience(s Settings) *Patience {
	return &Patience{least: s.RequestTimeout, most: s.MostTimeout}
}

// Within returns how long an answer is awaited now.
func (p *Patience) Within() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = p.now()
	return p.told
}

func (p *Patience) now() time.Duration {
	if p.least == p.most {
		return p.least
	}
	learned := max(p.doubled, answerFactor*percentile99(p.last)).Truncate(time.Millisecond)
	return min(max(p.least, learned), p.most)
}

// Answered notes an answer that took so long.
func (p *Patience) Answered(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) < answersKept {
		p.last = append(p.last, took)
	} else {
		p.last[p.next] = took
		p.next = (p.next + 1) % answersKept
	}
	if p.since++; p.since >= answersKept {
		p.doubled = 0
	}
}

// RanOut notes that a request got no answer within that time.
func (p *Patience) RanOut(within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubled, p.since = max(p.doubled, min(2*within, p.most)), 0
}

// Inherit takes over what was learned last, unless this process has told it: it may know better by now.
func (p *Patience) Inherit(within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if within > p.now() && within != p.told {
		p.doubled, p.since = min(within, p.most), 0
	}
}

// Learned reports whether answers are awaited for longer than usual.
func (p *Patience) Learned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now() > p.least
}

// percentile99 returns the 99th percentile by the nearest rank, 0 if there are no values.
func percentile99(values []time.Duration) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(99*len(sorted)+99)/100-1]
}

package redfish

import (
	"slices"
	"sync"
	"time"

	"go.temper.dev/temper/internal/bmc"
)

const (
	answersKept  = 64 // answers from which a BMC's patience is learned
	answerFactor = 2  // an answer is awaited for so many times the 99th percentile of the last ones
)

// patience is how long the answers of one BMC are awaited. It is learned from its last answers, between the bounds of the
// settings. A request that ran out of time doubles it, until answersKept answers have come after it.
type patience struct {
	least, most time.Duration

	mu      sync.Mutex
	last    []time.Duration // how long the last answers took; a ring
	next    int             // in last
	doubled time.Duration   // after a request that ran out of time, here or in another process; 0 = there was none
	since   int             // answers since then
	told    time.Duration   // what within returned last, which other processes may know from this one
}

func newPatience(s bmc.Settings) *patience {
	return &patience{least: s.RequestTimeout, most: s.MostTimeout}
}

// within returns how long an answer is awaited now.
func (p *patience) within() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = p.now()
	return p.told
}

func (p *patience) now() time.Duration {
	if p.least == p.most {
		return p.least
	}
	learned := max(p.doubled, answerFactor*percentile99(p.last)).Truncate(time.Millisecond)
	return min(max(p.least, learned), p.most)
}

// answered notes an answer that took so long.
func (p *patience) answered(took time.Duration) {
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

// ranOut notes that a request got no answer within that time.
func (p *patience) ranOut(within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubled, p.since = max(p.doubled, min(2*within, p.most)), 0
}

// inherit takes over what was learned last, unless this process has told it: it may know better by now.
func (p *patience) inherit(within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if within > p.now() && within != p.told {
		p.doubled, p.since = min(within, p.most), 0
	}
}

// learned reports whether answers are awaited for longer than usual.
func (p *patience) learned() bool {
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

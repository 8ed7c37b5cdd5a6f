package faults

import (
	"math/rand/v2"
	"sync"
)

// Injector has the faults of one server and counts how often each has struck. The zero
// value has no faults. It is safe for concurrent use.
type Injector struct {
	mu        sync.Mutex
	rng       *rand.Rand
	faults    []Fault
	triggered []int
}

// Set replaces all faults. The same seed, faults and requests in the same
// order strike the same requests.
func (p *Injector) Set(l List, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rng = rand.New(rand.NewPCG(seed, uint64(len(l.Faults)))) // reproducible, not secret
	p.faults = append([]Fault(nil), l.Faults...)
	p.triggered = make([]int, len(l.Faults))
}

// Clear removes all faults.
func (p *Injector) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.triggered = nil, nil
}

// Remaining returns the faults that can still strike. Their Count is how often they can.
func (p *Injector) Remaining() List {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := List{Faults: []Fault{}}
	for i, f := range p.faults {
		if p.usedUp(i) {
			continue
		}
		if f.Count > 0 {
			f.Count -= p.triggered[i]
		}
		out.Faults = append(out.Faults, f)
	}
	return out
}

// Trigger returns the fault of this type that strikes e, if there is one, and counts it.
func (p *Injector) Trigger(kind Type, e Event) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		if f.Kind == kind && f.matches(e) && p.trigger(i) {
			return f, true
		}
	}
	return Fault{}, false
}

// Active reports whether a fault of this type can still strike. It counts nothing, and is
// for faults that are properties of a BMC rather than events.
func (p *Injector) Active(kind Type) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		if f.Kind == kind && !p.usedUp(i) {
			return true
		}
	}
	return false
}

// triggerHTTP returns all latency faults that strike e, and the first other fault that does.
func (p *Injector) triggerHTTP(e Event) (slow []Fault, hit *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		switch {
		case !f.Kind.strikesRequests() || !f.matches(e):
		case f.Kind == Latency:
			if p.trigger(i) {
				slow = append(slow, f)
			}
		case hit == nil && p.trigger(i):
			hit = &f
		}
	}
	return slow, hit
}

func (p *Injector) usedUp(i int) bool {
	return p.faults[i].Count > 0 && p.triggered[i] >= p.faults[i].Count
}

func (p *Injector) trigger(i int) bool {
	if p.usedUp(i) {
		return false
	}
	if pr := p.faults[i].Probability; pr != nil && p.rng.Float64() >= *pr {
		return false
	}
	p.triggered[i]++
	return true
}

package mischief

import (
	"math/rand/v2"
	"sync"
)

// Plan is the faults of one server and how often each still strikes. The zero
// value strikes never; it is safe for concurrent use.
type Plan struct {
	mu     sync.Mutex
	rng    *rand.Rand
	faults []Fault
	struck []int
}

// Set replaces all faults. The same seed, faults and requests in the same
// order strike the same requests.
func (p *Plan) Set(l List, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rng = rand.New(rand.NewPCG(seed, uint64(len(l.Faults)))) // reproducible, not secret
	p.faults = append([]Fault(nil), l.Faults...)
	p.struck = make([]int, len(l.Faults))
}

// Clear removes all faults.
func (p *Plan) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.struck = nil, nil
}

// Left are the faults that can still strike; Count is what is left of each.
func (p *Plan) Left() List {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := List{Faults: []Fault{}}
	for i, f := range p.faults {
		if p.spent(i) {
			continue
		}
		if f.Count > 0 {
			f.Count -= p.struck[i]
		}
		out.Faults = append(out.Faults, f)
	}
	return out
}

// Take asks whether a fault of kind strikes e, and counts it if so.
func (p *Plan) Take(kind Kind, e Event) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		if f.Kind == kind && f.matches(e) && p.strike(i) {
			return f, true
		}
	}
	return Fault{}, false
}

// Has reports whether a fault of kind can still strike, without counting a strike. It
// is for faults that are properties of a BMC rather than events.
func (p *Plan) Has(kind Kind) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		if f.Kind == kind && !p.spent(i) {
			return true
		}
	}
	return false
}

// takeHTTP is the latency of all that strike e together, and the first other
// fault that does.
func (p *Plan) takeHTTP(e Event) (slow []Fault, hit *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		switch {
		case !f.Kind.onRequests() || !f.matches(e):
		case f.Kind == Latency:
			if p.strike(i) {
				slow = append(slow, f)
			}
		case hit == nil && p.strike(i):
			hit = &f
		}
	}
	return slow, hit
}

func (p *Plan) spent(i int) bool { return p.faults[i].Count > 0 && p.struck[i] >= p.faults[i].Count }

func (p *Plan) strike(i int) bool {
	if p.spent(i) {
		return false
	}
	if pr := p.faults[i].Probability; pr != nil && p.rng.Float64() >= *pr {
		return false
	}
	p.struck[i]++
	return true
}

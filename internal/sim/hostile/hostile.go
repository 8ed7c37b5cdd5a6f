// Package hostile is a malicious BMC for tests. It answers in ways that exhaust the memory
// or the time of a careless client, or make it send requests for ever. Between these tricks
// it answers like an ordinary BMC, so that clients get past their first request. Its seed
// determines what it does.
package hostile

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// BMC is an http.Handler that answers for one BMC and accepts any credentials. It is
// safe for concurrent use.
type BMC struct {
	requests atomic.Int64

	mu    sync.Mutex // guards what follows
	rng   *rand.Rand
	only  string
	under string
	state state
}

// New returns a BMC that plays a random trick in half of its answers.
func New(seed uint64) *BMC {
	return &BMC{rng: rand.New(rand.NewPCG(seed, 1)), state: newState()} // reproducible, not secret
}

// Only makes the BMC play only the named trick, and only for requests that it fits
// and whose path contains under. The empty name restores all tricks.
func (b *BMC) Only(trick, under string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.only, b.under = trick, under
}

// Requests returns how many requests came so far.
func (b *BMC) Requests() int64 { return b.requests.Load() }

// Tricks returns the names of all tricks.
func Tricks() []string {
	var names []string
	for _, t := range tricks {
		names = append(names, t.name)
	}
	return names
}

// ServeHTTP plays a trick or answers like an ordinary BMC.
func (b *BMC) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.requests.Add(1)
	t, number := b.pick(r.URL.Path)
	if t != nil && t.play(w, r, number) {
		return
	}
	b.serve(w, r)
}

// pick returns the trick for a request, nil for none, and the number of the request.
func (b *BMC) pick(path string) (*trick, int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	number := b.requests.Load()
	if b.only != "" {
		i := slices.IndexFunc(tricks, func(t trick) bool { return t.name == b.only })
		if i >= 0 && strings.Contains(path, b.under) {
			return &tricks[i], number
		}
		return nil, number
	}
	if b.rng.IntN(2) == 0 {
		return nil, number
	}
	return &tricks[b.rng.IntN(len(tricks))], number
}

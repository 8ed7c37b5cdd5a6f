package conductor

import (
	"sync"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// forgetSilence is after how long without a new try a silent BMC says nothing about the network any more. It is longer than the
// pauses between two tries.
const forgetSilence = 5 * time.Minute

// cutOffHint is added, with the conductor's name, to the error of a step whose BMC is silent while cutOff holds.
const cutOffHint = "; %s got no answer of any other BMC then either: perhaps its own network is cut off"

// Reach is which BMCs have answered this conductor lately, so that a BMC that is away can be told from a network that is
// cut off on this side. A nil Reach knows nothing.
type Reach struct {
	mu       sync.Mutex
	answered time.Time          // when any BMC answered last
	silent   map[string]silence // by the node's uuid; a node is in it until its BMC answers or forgetSilence has passed
}

// silence is since when a BMC gives no answer, and when it gave none last.
type silence struct{ since, last time.Time }

// heard notes what became of a request to the BMC of a node. A refusal, of whatever kind, is an answer. Any other error but
// silence says nothing: perhaps nothing was sent.
func (r *Reach) heard(uuid string, err error) {
	if fault.Is(err, fault.Refused) || fault.Is(err, fault.Denied) || fault.Is(err, fault.Untrusted) {
		err = nil
	}
	if r == nil || err != nil && !isSilence(err) {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.answered = now
		delete(r.silent, uuid)
		return
	}
	if r.silent == nil {
		r.silent = map[string]silence{}
	}
	s, again := r.silent[uuid]
	if !again {
		s.since = now
	}
	s.last = now
	r.silent[uuid] = s
}

// Silent returns how many BMCs give this conductor no answer.
func (r *Reach) Silent() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	return len(r.silent)
}

// LongestSilence returns since how long the BMC has been silent that has given this conductor no answer for the longest time; 0
// = none is silent.
func (r *Reach) LongestSilence() (longest time.Duration) {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	for _, s := range r.silent {
		longest = max(longest, time.Since(s.since))
	}
	return longest
}

func (r *Reach) forget() {
	for uuid, s := range r.silent {
		if time.Since(s.last) > forgetSilence {
			delete(r.silent, uuid)
		}
	}
}

// cutOff reports whether the BMC of the node and at least one other have gone silent, and no BMC has answered since.
func (r *Reach) cutOff(uuid string) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	n := 0
	for _, s := range r.silent {
		if s.since.After(r.answered) {
			n++
		}
	}
	own, silent := r.silent[uuid]
	return silent && own.since.After(r.answered) && n > 1
}

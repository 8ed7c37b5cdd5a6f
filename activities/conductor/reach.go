package conductor

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"go.temper.dev/temper/internal/fault"
)

// forgetSilence is after how long without a new try a silent BMC says nothing about the network any more. It is longer than the
// pauses between two tries.
const forgetSilence = 5 * time.Minute

// The bounds of asking other BMCs whether they answer.
const (
	othersAsked  = 8 // at a time: those that answered last
	othersWithin = 5 * time.Second
	// othersAgain is after how long others are asked again that gave no answer.
	othersAgain = 10 * time.Second
)

// cutOffHint is added, with the conductor's name, to the error of a step whose BMC is silent while cutOff holds.
const cutOffHint = "; %s got no answer of any other BMC then either: perhaps its own network is cut off"

// Reach is which BMCs have answered this conductor lately, so that a BMC that is away can be told from a network that is
// cut off on this side. A nil Reach knows nothing.
type Reach struct {
	// Ask asks the BMC of a node something small, and returns what became of that. nil = nothing is asked in order to know.
	Ask func(ctx context.Context, uuid string) error

	mu       sync.Mutex
	answered time.Time          // when any BMC answered last
	latest   []string           // nodes whose BMCs answered, the latest first; at most othersAsked
	silent   map[string]silence // by the node's uuid; a node is in it until its BMC answers or forgetSilence has passed
	inVain   time.Time          // when others were asked last and none answered

	asking singleflight.Group
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
		if len(r.latest) == 0 || r.latest[0] != uuid {
			others := slices.DeleteFunc(r.latest, func(other string) bool { return other == uuid })
			r.latest = slices.Insert(others, 0, uuid)[:min(len(others)+1, othersAsked)]
		}
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

// cutOffNow is like cutOff, but asks the BMCs that answered last before it says so: perhaps nobody had a reason to ask another
// BMC since then. It takes othersWithin at most.
func (r *Reach) cutOffNow(ctx context.Context, uuid string) bool {
	if !r.cutOff(uuid) || r.Ask == nil {
		return r.cutOff(uuid)
	}
	_, _, _ = r.asking.Do("", func() (any, error) {
		r.askOthers(ctx)
		return nil, nil //nolint:nilnil // what was heard is noted
	})
	return r.cutOff(uuid)
}

// askOthers asks the BMCs that answered last, and notes who answers.
func (r *Reach) askOthers(ctx context.Context) {
	r.mu.Lock()
	latest, again := slices.Clone(r.latest), time.Since(r.inVain) >= othersAgain
	latest = slices.DeleteFunc(latest, func(uuid string) bool { _, silent := r.silent[uuid]; return silent })
	r.mu.Unlock()
	if !again {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, othersWithin)
	defer cancel()
	began := time.Now()
	var all sync.WaitGroup
	for _, uuid := range latest {
		all.Go(func() {
			if err := r.Ask(ctx, uuid); !isSilence(err) { // others may give it more time for its answer
				r.heard(uuid, err)
			}
		})
	}
	all.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered.Before(began) {
		r.inVain = time.Now()
	}
}

package temper

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits on the events that BMCs send to one API process. An event is only a hint, so refusing those above the limits does no
// harm. Few events of one BMC are of use: a conductor reads a BMC ten times a second at most, however many events come.
const (
	knownEventRate         = 200 // a second, from all subscriptions that are known
	knownEventBurst        = 400
	unknownEventRate       = 100 // a second, from all others
	unknownEventBurst      = 200
	subscriptionEventRate  = 10 // a second, from one subscription
	subscriptionEventBurst = 20
	// knownSubscriptions is half of how many subscriptions are remembered at most.
	knownSubscriptions = 10_000
)

// bmcEventLimits decides which events of BMCs are taken. Each subscription has a limit of its own, so that a noisy BMC takes no
// room from the others. Events whose subscription is not known yet share another limit, because anybody can send them.
type bmcEventLimits struct {
	mu             sync.Mutex
	known, unknown *rate.Limiter
	// recent and older are the limits of the known subscriptions by their ids. When recent is full, it takes the place of
	// older, and what was in older and is not used any more is forgotten.
	recent, older map[string]*rate.Limiter
}

func newBMCEventLimits() *bmcEventLimits {
	return &bmcEventLimits{
		known:   rate.NewLimiter(knownEventRate, knownEventBurst),
		unknown: rate.NewLimiter(unknownEventRate, unknownEventBurst),
		recent:  map[string]*rate.Limiter{},
	}
}

// take reports whether an event of the subscription with this id is taken.
func (l *bmcEventLimits) take(id string, now time.Time) bool {
	own := l.of(id)
	if own == nil {
		return l.unknown.AllowN(now, 1)
	}
	return own.AllowN(now, 1) && l.known.AllowN(now, 1)
}

// learn notes that the subscription with this id exists. Only a BMC that a conductor has subscribed to knows the secret behind such an id,
// so others can't fill the memory.
func (l *bmcEventLimits) learn(id string, now time.Time) {
	if l.of(id) != nil {
		return
	}
	own := rate.NewLimiter(subscriptionEventRate, subscriptionEventBurst)
	own.AllowN(now, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(id, own)
}

// of returns the limit of a known subscription, nil if it is not known.
func (l *bmcEventLimits) of(id string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.recent[id]; own != nil {
		return own
	}
	own := l.older[id]
	if own != nil {
		l.remember(id, own)
	}
	return own
}

func (l *bmcEventLimits) remember(id string, own *rate.Limiter) {
	if len(l.recent) >= knownSubscriptions {
		l.recent, l.older = map[string]*rate.Limiter{}, l.recent
	}
	l.recent[id] = own
}

package basicauth

import (
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The limits on wrong passwords: a burst, and the time after which one more is
// allowed. An address may send more of them with different names, because many
// people may share it.
const (
	nameBurst      = 10
	nameInterval   = 10 * time.Second
	sourceBurst    = 50
	sourceInterval = time.Second
)

// throttleSize bounds each of the throttle's two maps.
const throttleSize = 8192

// throttle counts wrong passwords for each name from each address, and for each
// address. It does not count by name alone: that would let anybody lock a user out.
type throttle struct {
	mu sync.Mutex
	// recent has the limiters that were used last. When it is full it becomes
	// older, and those in older that were not used since are dropped.
	recent, older map[wrongKey]*rate.Limiter
}

// wrongKey is a digest of an address and a name. A digest, because the length of
// names has no bound.
type wrongKey [sha256.Size]byte

func newThrottle() *throttle {
	return &throttle{recent: map[wrongKey]*rate.Limiter{}}
}

func keysOf(name, source string) (byName, bySource wrongKey) {
	return sha256.Sum256([]byte("name\x00" + source + "\x00" + name)), sha256.Sum256([]byte("source\x00" + source))
}

// wait returns how long this name from this address has to wait before its next
// password is checked.
func (t *throttle) wait(now time.Time, name, source string) time.Duration {
	byName, bySource := keysOf(name, source)
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(waitFor(t.find(byName), now), waitFor(t.find(bySource), now))
}

// waitFor returns how long it takes until l, which may be nil, allows one more event.
func waitFor(l *rate.Limiter, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	missing := 1 - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(l.Limit()) * float64(time.Second))
}

// wrong counts a wrong password.
func (t *throttle) wrong(now time.Time, name, source string) {
	byName, bySource := keysOf(name, source)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(byName, now, nameInterval, nameBurst)
	t.count(bySource, now, sourceInterval, sourceBurst)
}

func (t *throttle) count(k wrongKey, now time.Time, every time.Duration, burst int) {
	l := t.find(k)
	if l == nil {
		l = rate.NewLimiter(rate.Every(every), burst)
		t.keep(k, l)
	}
	l.AllowN(now, 1)
}

func (t *throttle) find(k wrongKey) *rate.Limiter {
	if l, ok := t.recent[k]; ok {
		return l
	}
	l, ok := t.older[k]
	if ok {
		delete(t.older, k)
		t.keep(k, l)
	}
	return l
}

func (t *throttle) keep(k wrongKey, l *rate.Limiter) {
	if len(t.recent) >= throttleSize {
		t.older, t.recent = t.recent, map[wrongKey]*rate.Limiter{}
	}
	t.recent[k] = l
}

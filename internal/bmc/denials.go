package bmc

import (
	"crypto/sha256"
	"sync"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// Denials remembers the credentials that a BMC has refused, so that they are not tried again at once: a password that is
// tried too often can lock the account. Credentials are known by a hash. The zero value has none. It is safe for concurrent
// use.
type Denials struct {
	mu     sync.Mutex
	denied map[[sha256.Size]byte]denial
}

// denial is a refused login that is not tried again before until.
type denial struct {
	until time.Time
	err   error
}

// Recent returns fault.Denied with the error of the last login with these credentials, nil if they may be tried.
func (d *Denials) Recent(credentials [sha256.Size]byte, now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, ok := d.denied[credentials]
	if !ok || !now.Before(last.until) {
		delete(d.denied, credentials)
		return nil
	}
	return fault.New(fault.Denied, "%w; this login is not tried again before %s, so that the BMC does not lock the account",
		last.err, last.until.UTC().Format(time.TimeOnly+"Z"))
}

// Record remembers that a login with these credentials was refused with err. They are not tried again before until.
func (d *Denials) Record(credentials [sha256.Size]byte, until time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.denied == nil {
		d.denied = map[[sha256.Size]byte]denial{}
	}
	d.denied[credentials] = denial{until: until, err: err}
}

// Forget lets these credentials be tried again at once, because the BMC may take them now.
func (d *Denials) Forget(credentials [sha256.Size]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.denied, credentials)
}

// None reports whether all credentials may be tried, so that d may be dropped.
func (d *Denials) None(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for credentials, last := range d.denied {
		if !now.Before(last.until) {
			delete(d.denied, credentials)
		}
	}
	return len(d.denied) == 0
}

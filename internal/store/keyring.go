package store

import (
	"sync"
	"sync/atomic"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// rereadKeyset is after how long the keyset is read again.
const rereadKeyset = 5 * time.Second

// keyring has the keyset of this process, which is read again while the process runs: by whoever needs it and finds that it was read too
// long ago, and if something does not open. A keyset that can't be read leaves the one before in place.
type keyring struct {
	read func() (string, error) // nil = the keyset never changes
	told func(error)            // called with nil for another keyset, and with the error for one that can't be read; each once. nil = it is not called
	now  atomic.Pointer[sealer]

	mu     sync.Mutex // of a reading, and guards the fields below
	text   string
	failed string // the last error of which told was called
	readAt atomic.Int64
}

func newKeyring(c Config) (*keyring, error) {
	text := c.Keyset
	if c.ReadKeyset != nil {
		var err error
		if text, err = c.ReadKeyset(); err != nil {
			return nil, fault.New(fault.Invalid, "keyset: %w", err)
		}
	}
	seal, err := newSealer(text)
	if err != nil {
		return nil, err
	}
	k := &keyring{read: c.ReadKeyset, told: c.KeysetChanged, text: text}
	k.now.Store(seal)
	k.readAt.Store(time.Now().UnixNano())
	return k, nil
}

// current returns the keys, which it reads again if that was not done for a while.
func (k *keyring) current() *sealer {
	if k.read != nil && time.Since(time.Unix(0, k.readAt.Load())) >= rereadKeyset && k.mu.TryLock() {
		k.reread()
		k.mu.Unlock()
	}
	return k.now.Load()
}

// fresh reads the keys again, and reports whether they have changed since had.
func (k *keyring) fresh(had *sealer) (*sealer, bool) {
	if k.read == nil {
		return had, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now.Load() == had {
		k.reread()
	}
	now := k.now.Load()
	return now, now != had
}

// reread reads the keyset. The caller holds mu.
func (k *keyring) reread() {
	k.readAt.Store(time.Now().UnixNano())
	text, err := k.read()
	if err == nil && text == k.text {
		return
	}
	var seal *sealer
	if err == nil {
		seal, err = newSealer(text)
	}
	if err == nil && seal.aead == nil { // a file that somebody writes at this moment
		err = fault.New(fault.Invalid, "keyset: it is empty")
	}
	if err != nil {
		if k.failed != err.Error() {
			k.failed = err.Error()
			k.tell(err)
		}
		return
	}
	k.text, k.failed = text, ""
	k.now.Store(seal)
	k.tell(nil)
}

func (k *keyring) tell(err error) {
	if k.told != nil {
		k.told(err)
	}
}

// keys returns the keys with which secrets are sealed now. What belongs together takes them once.
func (s *Store) keys() *sealer { return s.keyring.current() }

// unseal opens a value for n's current destination. If it does not open, the process may lack the newest key, so the keyset is read again.
func (s *Store) unseal(n *node.Node, x sealedText) (any, error) {
	keys := s.keys()
	v, err := keys.open(n, x)
	if fault.CodeOf(err) != fault.SecretUnreadable {
		return v, err
	}
	if now, changed := s.keyring.fresh(keys); changed {
		return now.open(n, x)
	}
	return v, err
}

package oidclogin

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/jsonvalue"
)

const (
	// keysAge is how long keys are used before they are read again, and so how long a key lives that the issuer has withdrawn.
	keysAge = 5 * time.Minute
	// keysPause is the pause between two readings of the keys, however many tokens have a key that is not known.
	keysPause = 10 * time.Second
	// keysLast is how long keys are used while the issuer is away.
	keysLast = 24 * time.Hour
	// maxKeys bounds how many keys of an issuer are used.
	maxKeys = 100
)

// keys are the public keys of an issuer, read again when they are old or one is missing.
type keys struct {
	url    string
	client *http.Client
	now    func() time.Time
	log    *zap.Logger

	current atomic.Pointer[keySet]
	reading sync.Mutex // held by the request that reads them again
	tried   time.Time  // guarded by reading; zero = never
	failed  bool       // guarded by reading: the last try did
}

// keySet are the keys of one reading.
type keySet struct {
	at   time.Time
	keys []jose.JSONWebKey
}

// named returns the keys with an id; all keys for a token that names none.
func (s *keySet) named(kid string) []crypto.PublicKey {
	if s == nil {
		return nil
	}
	var out []crypto.PublicKey
	for _, k := range s.keys {
		if kid == "" || k.KeyID == kid {
			out = append(out, k.Key)
		}
	}
	return out
}

// find returns the keys with an id; none if the issuer has none. It reads the keys again if they are old or lack the id, at most
// every keysPause. The error is errAway.
func (k *keys) find(ctx context.Context, kid string) ([]crypto.PublicKey, error) {
	set := k.current.Load()
	found := set.named(kid)
	if len(found) == 0 {
		return k.missing(ctx, kid)
	}
	age := k.now().Sub(set.at)
	if age < keysAge {
		return found, nil
	}
	if k.reading.TryLock() { // one request reads them again, the others go on with those that are known
		defer k.reading.Unlock()
		if k.rested() && k.read(ctx) == nil {
			return k.current.Load().named(kid), nil
		}
	}
	if age > keysLast {
		return nil, errAway
	}
	return found, nil
}

// missing looks for an id that the known keys lack.
func (k *keys) missing(ctx context.Context, kid string) ([]crypto.PublicKey, error) {
	k.reading.Lock()
	defer k.reading.Unlock()
	if found := k.current.Load().named(kid); len(found) > 0 { // another request has read them meanwhile
		return found, nil
	}
	if !k.rested() {
		if k.failed {
			return nil, errAway
		}
		return nil, nil // they were read just now, and have no such key
	}
	if err := k.read(ctx); err != nil {
		return nil, err
	}
	return k.current.Load().named(kid), nil
}

// rested reports whether the issuer may be asked again.
func (k *keys) rested() bool {
	pause := keysPause
	if k.failed {
		pause = awayPause
	}
	return k.tried.IsZero() || k.now().Sub(k.tried) >= pause
}

// read reads the keys. The caller holds k.reading.
func (k *keys) read(ctx context.Context) error {
	set, err := k.ask(ctx)
	k.tried, k.failed = k.now(), err != nil
	if err != nil {
		k.log.Warn("the keys of the issuer of auth.oidc_issuer can't be read", zap.Error(err))
		return fmt.Errorf("%w: %w", errAway, err)
	}
	k.current.Store(set)
	return nil
}

func (k *keys) ask(ctx context.Context) (*keySet, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", resp.Status)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var all struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := jsonvalue.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("the answer is no set of keys: %w", err)
	}
	set := &keySet{at: k.now()}
	for _, one := range all.Keys {
		var key jose.JSONWebKey
		if jsonvalue.Unmarshal(one, &key) != nil || !signs(key) { // a key for something else does not spoil the others
			continue
		}
		if set.keys = append(set.keys, key); len(set.keys) == maxKeys {
			break
		}
	}
	return set, nil
}

// signs reports whether tokens may be signed with the key: it is public and not for encryption.
func signs(k jose.JSONWebKey) bool {
	switch k.Key.(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
		return k.Use == "" || k.Use == "sig"
	}
	return false
}

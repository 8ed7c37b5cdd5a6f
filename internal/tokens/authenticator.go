package tokens

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/access"
)

const (
	// cachedFor is how long a token is accepted without another look at the database, so that one that is revoked is refused by every
	// process within 5 s. A look may take lookTime, and what it finds counts from before it.
	cachedFor = 4 * time.Second
	lookTime  = 3 * time.Second
	// maxLooks is how many looks run at a time: whoever sends tokens that he has made up must not take all connections to the database.
	maxLooks = 4
	// maxCached bounds the cache.
	maxCached = 10_000
)

// Known is what the database knows of a token.
type Known struct {
	Token
	Hash   []byte
	Ended  bool          // it was revoked, or has expired, by the database's clock
	Left   time.Duration // until it expires; less than 0 = never
	Unused bool          // no use of it was noted in this hour
}

// Store keeps the tokens.
type Store interface {
	// KnownToken returns the token with a public id; nil if there is none.
	KnownToken(ctx context.Context, id string) (*Known, error)
	// TokenUsed notes that the token was used in this hour.
	TokenUsed(ctx context.Context, id string) error
}

// Authenticator knows requests by the tokens that they bring: Authorization: Bearer temper_... It is safe for concurrent use.
type Authenticator struct {
	store Store
	now   func() time.Time
	log   *zap.Logger
	looks chan struct{} // holds one element for each look that runs

	mu     sync.Mutex
	cached map[string]cachedToken // by public id
}

type cachedToken struct {
	hash  []byte
	token Token
	until time.Time
}

// NewAuthenticator returns an Authenticator.
func NewAuthenticator(s Store, now func() time.Time, log *zap.Logger) *Authenticator {
	return &Authenticator{store: s, now: now, log: log, looks: make(chan struct{}, maxLooks), cached: map[string]cachedToken{}}
}

// Challenge is of access.Authenticator.
func (a *Authenticator) Challenge() string { return `Bearer realm="Baremetal API"` }

// Authenticate is of access.Authenticator.
func (a *Authenticator) Authenticate(r *http.Request) (*access.Identity, *access.Refusal) {
	text, ok := bearer(r)
	if !ok {
		return nil, nil //nolint:nilnil // that is how the interface says that there are no such credentials
	}
	id, hash, ok := parse(text)
	if !ok {
		return nil, a.refusal()
	}
	token, refusal := a.find(r.Context(), id, hash)
	if refusal != nil {
		return nil, refusal
	}
	out := &access.Identity{User: token.Name, Method: access.Token, Grants: []access.Grant{token.Grant}}
	if token.ExpiresAt != nil {
		out.Expires = *token.ExpiresAt
	}
	return out, nil
}

// bearer returns the token of a request. ok is false if it has none of Temper's.
func bearer(r *http.Request) (text string, ok bool) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	text = strings.TrimSpace(text)
	return text, strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(text, prefix)
}

// refusal does not say what is wrong with a token, so that it helps nobody who guesses.
func (a *Authenticator) refusal() *access.Refusal {
	return &access.Refusal{Status: http.StatusUnauthorized, Message: "The token is not known, was revoked, or has expired", Challenge: a.Challenge()}
}

func (a *Authenticator) find(ctx context.Context, id string, hash []byte) (Token, *access.Refusal) {
	if t, ok := a.fromCache(id, hash); ok {
		return t, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	select {
	case a.looks <- struct{}{}:
		defer func() { <-a.looks }()
	case <-ctx.Done():
		return Token{}, &access.Refusal{Status: http.StatusServiceUnavailable, Message: "Too many tokens are being checked; try again", RetryAfter: time.Second}
	}
	began := a.now()
	known, err := a.store.KnownToken(ctx, id)
	switch {
	case err != nil:
		a.log.Warn("a token could not be looked up", zap.String("token", id), zap.Error(err))
		return Token{}, &access.Refusal{Status: http.StatusServiceUnavailable, Message: "Tokens can't be checked now; try again", RetryAfter: time.Second}
	case known == nil || known.Ended:
		a.forget(id)
		return Token{}, a.refusal()
	case subtle.ConstantTimeCompare(known.Hash, hash) != 1:
		return Token{}, a.refusal()
	}
	if known.Unused {
		if err := a.store.TokenUsed(ctx, id); err != nil {
			a.log.Warn("the use of a token could not be noted", zap.String("token", id), zap.Error(err))
		}
	}
	a.keep(known, began)
	return known.Token, nil
}

func (a *Authenticator) fromCache(id string, hash []byte) (Token, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := a.cached[id]
	if !ok || !a.now().Before(c.until) || subtle.ConstantTimeCompare(c.hash, hash) != 1 {
		return Token{}, false
	}
	return c.token, true
}

func (a *Authenticator) keep(k *Known, began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.cached) >= maxCached {
		clear(a.cached)
	}
	keep := cachedFor
	if k.Left >= 0 {
		keep = min(keep, k.Left)
	}
	a.cached[k.ID] = cachedToken{hash: k.Hash, token: k.Token, until: began.Add(keep)}
}

func (a *Authenticator) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.cached, id)
}

// Package oidclogin authenticates requests with OpenID Connect: programs by bearer tokens (JWT) of an issuer, and people by a login
// in the browser, after which a cookie carries their identity. It does not authorize: what a user may do is decided elsewhere.
//
// go-oidc reads tokens and the issuer's configuration, x/oauth2 speaks the code flow. The cache of the issuer's keys is our own,
// because go-oidc's asks the issuer again for every token that no key fits, whoever sent it, and never forgets a key that the issuer
// has withdrawn.
package oidclogin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/tlsfile"
)

const (
	// askTimeout is how long one request to the issuer may take.
	askTimeout = 5 * time.Second
	// awayPause is how long after a failure the issuer is not asked again.
	awayPause = 2 * time.Second
	// maxAnswer bounds the answers of the issuer.
	maxAnswer = 1 << 20
)

// Settings say who the issuer is and how its tokens are read.
type Settings struct {
	URL       string   // the issuer, as in iss
	Audiences []string // a bearer token must be for one of them
	// UserClaim is the claim that names the user. "" = preferred_username, else email if the issuer has verified it, else sub.
	UserClaim   string
	GroupsClaim string        // "" = groups
	CAFile      string        // authorities of the issuer's certificate besides the system's; "" = none
	Leeway      time.Duration // how far the issuer's clock and ours may differ
	Now         func() time.Time
	Log         *zap.Logger
}

// Issuer is an OpenID Connect issuer whose tokens are accepted. It is safe for concurrent use. It asks the issuer for its
// configuration when a request first needs it, and again later while the issuer is away, so that a process starts without it.
type Issuer struct {
	Settings
	client *http.Client

	mu      sync.Mutex
	found   *discovered // nil = the issuer has not answered yet
	tried   time.Time   // when it failed to answer
	failure error
}

// discovered is what the issuer says of itself.
type discovered struct {
	*oidc.Provider
	keys   *keys
	more   metadata
	issuer string
}

// metadata are the fields of the issuer's configuration that go-oidc does not offer.
type metadata struct {
	JWKS       string   `json:"jwks_uri"`
	EndSession string   `json:"end_session_endpoint"`
	TokenAuth  []string `json:"token_endpoint_auth_methods_supported"`
}

// New returns the issuer without asking it. It fails if CAFile can't be read.
func New(s Settings) (*Issuer, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own is one
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile != "" {
		authorities, err := tlsfile.Authorities(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the authorities of the issuer's certificate: %w", err)
		}
		transport.TLSClientConfig.RootCAs = authorities
	}
	if s.GroupsClaim == "" {
		s.GroupsClaim = "groups"
	}
	return &Issuer{Settings: s, client: &http.Client{Timeout: askTimeout, Transport: dial.Limited(transport, maxAnswer)}}, nil
}

// errAway means that the issuer could not be asked, so that a token may be good or bad.
var errAway = errors.New("the issuer can't be reached")

// discover returns what the issuer says of itself, and asks it if that is not known yet. The error is errAway.
func (i *Issuer) discover(ctx context.Context) (*discovered, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.found != nil {
		return i.found, nil
	}
	if i.failure != nil && i.Now().Sub(i.tried) < awayPause {
		return nil, i.failure
	}
	found, err := i.ask(ctx)
	if err != nil {
		i.Log.Warn("the issuer of auth.oidc_issuer did not answer with its configuration; requests with its tokens get 503 until it does", zap.Error(err))
		i.tried, i.failure = i.Now(), fmt.Errorf("%w: %w", errAway, err)
		return nil, i.failure
	}
	i.found, i.failure = found, nil
	return found, nil
}

func (i *Issuer) ask(ctx context.Context) (*discovered, error) {
	ctx, cancel := i.context(ctx)
	defer cancel()
	p, err := oidc.NewProvider(ctx, i.URL)
	if err != nil {
		return nil, err
	}
	found := &discovered{Provider: p, issuer: i.URL}
	if err := p.Claims(&found.more); err != nil {
		return nil, fmt.Errorf("read its configuration: %w", err)
	}
	if found.more.JWKS == "" || strings.HasPrefix(i.URL, "https:") && !strings.HasPrefix(found.more.JWKS, "https:") {
		return nil, errors.New("its configuration has no jwks_uri with TLS")
	}
	found.keys = &keys{url: found.more.JWKS, client: i.client, now: i.Now, log: i.Log}
	return found, nil
}

// context is for requests to the issuer. It does not end with the request of a client that has gone, because others wait for the
// same answer.
func (i *Issuer) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), i.client), askTimeout)
}

// away is the answer to a request that can't be judged before the issuer is back.
func away() *access.Refusal {
	return &access.Refusal{
		Status: http.StatusServiceUnavailable, RetryAfter: awayPause,
		Message: "The identity provider can't be reached, so the login can't be checked; try again",
	}
}

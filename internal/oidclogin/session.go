package oidclogin

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/access"
)

const sessionCookie = "temper_session"

// session is what the cookie of somebody who has logged in holds.
type session struct {
	User    string         `json:"user"`
	Groups  []string       `json:"groups,omitempty"`
	Claims  map[string]any `json:"claims,omitempty"` // without the groups
	Expires int64          `json:"expires"`          // Unix time in seconds
}

// ofToken are claims about a token, which say nothing of a user.
var ofToken = []string{"aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "at_hash", "c_hash", "s_hash", "auth_time", "sid", "client_id", "updated_at"}

func (l *Login) sessionOf(id *access.Identity) session {
	claims := maps.Clone(id.Claims)
	for _, name := range append(ofToken, l.issuer.GroupsClaim) {
		delete(claims, name)
	}
	return session{User: id.User, Groups: id.Groups, Claims: claims, Expires: id.Expires.Unix()}
}

func (l *Login) identityOf(s session) *access.Identity {
	claims := s.Claims
	if claims == nil {
		claims = map[string]any{}
	}
	if len(s.Groups) > 0 {
		groups := make([]any, 0, len(s.Groups))
		for _, g := range s.Groups {
			groups = append(groups, g)
		}
		claims[l.issuer.GroupsClaim] = groups
	}
	return &access.Identity{User: s.User, Method: access.OIDC, Groups: s.Groups, Claims: claims, Expires: time.Unix(s.Expires, 0)}
}

// cookies authenticates requests of browsers in which somebody has logged in.
type cookies struct{ login *Login }

// Session returns the authenticator of requests that carry only the cookie of a login. Requests that carry other credentials are left
// to other authenticators.
//
// The cookie is all there is of a login: it lasts until it expires, and a copy of it outlives a logout. It ends early if the key of
// Login changes.
func (l *Login) Session() access.Authenticator { return cookies{l} }

// Challenge is "": a browser has no dialog for such a login.
func (c cookies) Challenge() string { return "" }

func (c cookies) Authenticate(r *http.Request) (*access.Identity, *access.Refusal) {
	if r.Header.Get("Authorization") != "" || r.Header.Get("X-Auth-Token") != "" {
		return nil, nil
	}
	var s session
	switch err := c.login.jar.open(r, sessionCookie, &s); {
	case errors.Is(err, http.ErrNoCookie):
		return nil, nil
	case err != nil:
		return nil, &access.Refusal{Status: http.StatusUnauthorized, Message: "The cookie of the login is not valid; log in again"}
	case !c.login.issuer.Now().Before(time.Unix(s.Expires, 0)):
		return nil, &access.Refusal{Status: http.StatusUnauthorized, Message: "The login has expired; log in again"}
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method) && !c.login.ownOrigin(r):
		return nil, &access.Refusal{Status: http.StatusForbidden, Message: "A change with the cookie of a login must come from a page of this API"}
	}
	return c.login.identityOf(s), nil
}

// ownOrigin reports whether a browser says that a page of this API has sent the request. Package origin lets requests without such a
// header through, because they are not from a browser. With a cookie they are, so that the header must be there.
func (l *Login) ownOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" || site == "none"
	}
	from, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || from.Host == "" {
		return false
	}
	base, err := url.Parse(l.jar.base(r))
	return err == nil && strings.EqualFold(from.Scheme, base.Scheme) && strings.EqualFold(from.Host, base.Host)
}

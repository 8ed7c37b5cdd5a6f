package oidclogin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/jsonvalue"
)

// algorithms are those with a public key. An issuer's secret is never one of ours, so HS256 can only be a forgery.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// kinds are the values of typ that a token of a user has. Others, such as logout+jwt, are no proof of who sends them.
var kinds = []string{"", "jwt", "at+jwt", "application/at+jwt"}

const (
	maxUser   = 255  // bytes of a user's name
	maxGroups = 1000 // of a user
)

// token is a verified token.
type token struct {
	claims  map[string]any
	expires time.Time
}

// invalid is why a token is not accepted, in words for its sender.
type invalid struct{ why string }

func (e *invalid) Error() string { return e.why }

func refuse(format string, args ...any) error { return &invalid{fmt.Sprintf(format, args...)} }

// verify checks a token of the issuer for one of the audiences. The error is errAway, or an *invalid.
func (i *Issuer) verify(ctx context.Context, raw string, audiences []string) (*token, error) {
	parsed, err := jose.ParseSignedCompact(raw, algorithms)
	if err != nil || len(parsed.Signatures) != 1 {
		return nil, refuse("it is not signed in a way that is accepted")
	}
	header := parsed.Signatures[0].Protected
	if kind, _ := header.ExtraHeaders[jose.HeaderType].(string); !slices.Contains(kinds, strings.ToLower(kind)) {
		return nil, refuse("it is not a token of a user")
	}
	found, err := i.discover(ctx)
	if err != nil {
		return nil, err
	}
	public, err := found.keys.find(ctx, header.KeyID)
	if err != nil {
		return nil, err
	}
	// Expiry and audience are checked below: go-oidc knows no leeway for the one, and one value only for the other.
	checker := oidc.NewVerifier(found.issuer, &oidc.StaticKeySet{PublicKeys: public}, &oidc.Config{
		SupportedSigningAlgs: names(algorithms), SkipClientIDCheck: true, SkipExpiryCheck: true,
	})
	id, err := checker.Verify(ctx, raw)
	if err != nil {
		return nil, refuse("its signature or its issuer is wrong")
	}
	if !slices.ContainsFunc(id.Audience, func(a string) bool { return slices.Contains(audiences, a) }) {
		return nil, refuse("it is for another audience")
	}
	claims, err := claimsOf(id.Claims)
	if err != nil {
		return nil, refuse("its claims can't be read")
	}
	expires, err := i.inTime(claims)
	if err != nil {
		return nil, err
	}
	return &token{claims, expires}, nil
}

// claimsOf decodes claims so that numbers keep their spelling.
func claimsOf(decode func(any) error) (claims map[string]any, err error) {
	var raw json.RawMessage
	if err := decode(&raw); err != nil {
		return nil, err
	}
	return claims, jsonvalue.Unmarshal(raw, &claims)
}

func names(of []jose.SignatureAlgorithm) []string {
	out := make([]string, 0, len(of))
	for _, a := range of {
		out = append(out, string(a))
	}
	return out
}

// inTime checks when the token is valid, with a leeway for clocks that differ. It returns when the token ends for us.
func (i *Issuer) inTime(claims map[string]any) (expires time.Time, err error) {
	now := i.Now()
	at := map[string]time.Time{}
	for _, name := range []string{"exp", "nbf", "iat"} {
		if claims[name] == nil {
			continue
		}
		seconds, ok := jsonvalue.Float(claims[name])
		if !ok || seconds < 0 || seconds > 1<<40 {
			return expires, refuse("its claim %s is not a time", name)
		}
		at[name] = time.UnixMilli(int64(seconds * 1000))
	}
	if at["exp"].IsZero() {
		return expires, refuse("it has no expiry")
	}
	if expires = at["exp"].Add(i.Leeway); !now.Before(expires) {
		return expires, refuse("it has expired")
	}
	if now.Add(i.Leeway).Before(at["nbf"]) || now.Add(i.Leeway).Before(at["iat"]) {
		return expires, refuse("it is not valid yet")
	}
	return expires, nil
}

// identity is whom the claims name.
func (i *Issuer) identity(claims map[string]any, expires time.Time) (*access.Identity, error) {
	user, err := i.user(claims)
	if err != nil {
		return nil, err
	}
	groups, err := textsOf(claims[i.GroupsClaim])
	if err != nil {
		return nil, refuse("its claim %s %s", i.GroupsClaim, err)
	}
	return &access.Identity{User: user, Method: access.OIDC, Groups: groups, Claims: claims, Expires: expires}, nil
}

func (i *Issuer) user(claims map[string]any) (string, error) {
	of := []string{i.UserClaim}
	if i.UserClaim == "" {
		of = []string{"preferred_username", "email", "sub"}
	}
	for _, name := range of {
		user, _ := claims[name].(string)
		if user == "" || name == "email" && !verified(claims["email_verified"]) {
			continue
		}
		if len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsFunc(user, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return "", refuse("its claim %s is no name of a user", name)
		}
		return user, nil
	}
	return "", refuse("it has no claim %s that names the user", strings.Join(of, ", "))
}

// verified reports whether the issuer has verified an email address. Some issuers write a string.
func verified(v any) bool { return v == true || v == "true" }

// textsOf reads a claim that is a list of strings, or one string.
func textsOf(claim any) ([]string, error) {
	switch claim := claim.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{claim}, nil
	case []any:
		if len(claim) > maxGroups {
			return nil, fmt.Errorf("has more than %d groups", maxGroups)
		}
		out := make([]string, 0, len(claim))
		for _, one := range claim {
			s, ok := one.(string)
			if !ok {
				return nil, errors.New("is not a list of names")
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, errors.New("is not a list of names")
}

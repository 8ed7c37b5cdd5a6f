package issuertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"maps"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// store is the example's storage with the issuer's users, keys and claims.
type store struct {
	*storage.Storage
	issuer *Issuer
}

// groups are the users and their groups.
var groups = map[string][]any{"alice": {"operators", "everybody"}, "bob": {"everybody"}}

// users are the same for the example's login. A user's id is his name with "id-" before it.
type users struct{}

func (users) GetUserByUsername(name string) *storage.User {
	if groups[name] == nil {
		return nil
	}
	return &storage.User{ID: "id-" + name, Username: name, Password: Password, Email: name + "@example.org", EmailVerified: true}
}

func (u users) GetUserByID(id string) *storage.User {
	if len(id) < len("id-") {
		return nil
	}
	return u.GetUserByUsername(id[len("id-"):])
}

func (users) ExampleClientID() string { return "service" }

// claims are what tokens and the userinfo endpoint say of a user.
func (s *store) claims(id string) (map[string]any, error) {
	u := users{}.GetUserByID(id)
	if u == nil {
		return nil, errors.New("no such user")
	}
	s.issuer.mu.Lock()
	defer s.issuer.mu.Unlock()
	claims := map[string]any{"preferred_username": u.Username, "groups": groups[u.Username], "email": u.Email, "email_verified": true}
	maps.Copy(claims, s.issuer.extra)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims, nil
}

// GetPrivateClaimsFromScopes adds the claims to access tokens.
func (s *store) GetPrivateClaimsFromScopes(_ context.Context, id, _ string, _ []string) (map[string]any, error) {
	return s.claims(id)
}

// SetUserinfoFromToken answers the userinfo endpoint. ID tokens have no such claims, as those of many issuers.
func (s *store) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, _, id, _ string) error {
	claims, err := s.claims(id)
	if err != nil {
		return err
	}
	info.Subject = id
	if other, ok := claims["sub"].(string); ok { // an answer about somebody else
		info.Subject = other
	}
	info.Claims = claims
	return nil
}

func (s *store) SetUserinfoFromRequest(_ context.Context, info *oidc.UserInfo, r op.IDTokenRequest, _ []string) error {
	info.Subject = r.GetSubject()
	return nil
}

func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}

func (s *store) SigningKey(context.Context) (op.SigningKey, error) {
	s.issuer.mu.Lock()
	defer s.issuer.mu.Unlock()
	return signingKey{s.issuer.key}, nil
}

func (s *store) KeySet(context.Context) ([]op.Key, error) {
	s.issuer.mu.Lock()
	defer s.issuer.mu.Unlock()
	return []op.Key{s.issuer.key}, nil
}

// ClientCredentials lets a user get a token with his password.
func (s *store) ClientCredentials(_ context.Context, id, secret string) (op.Client, error) {
	if u := (users{}).GetUserByUsername(id); u == nil || u.Password != secret {
		return nil, errors.New("wrong name or password")
	}
	return machine{storage.WebClient(id, secret)}, nil
}

func (s *store) ClientCredentialsTokenRequest(_ context.Context, id string, audience []string) (op.TokenRequest, error) {
	return &oidc.JWTTokenRequest{Subject: "id-" + id, Audience: oidc.Audience(audience)}, nil
}

// machine gets JWTs with its own password.
type machine struct{ *storage.Client }

func (machine) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}
func (machine) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

// key is a public key of the issuer.
type key struct {
	id      string
	private *ecdsa.PrivateKey
}

func newKey(t *testing.T) *key {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return &key{rand.Text(), k}
}

func (k *key) ID() string                         { return k.id }
func (k *key) Algorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (k *key) Use() string                        { return "sig" }
func (k *key) Key() any                           { return &k.private.PublicKey }

// signingKey is its private half.
type signingKey struct{ *key }

func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (k signingKey) Key() any                                    { return k.private }

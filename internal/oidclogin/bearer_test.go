package oidclogin_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/oidclogin"
	"go.temper.dev/temper/internal/oidclogin/issuertest"
)

// clock is a clock that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Now()} }

func newIssuer(t *testing.T, at string, c *clock, change ...func(*oidclogin.Settings)) *oidclogin.Issuer {
	t.Helper()
	s := oidclogin.Settings{
		URL: at, Audiences: []string{"other", issuertest.Audience}, Leeway: time.Minute, Now: c.now, Log: zap.NewNop(),
	}
	for _, f := range change {
		f(&s)
	}
	i, err := oidclogin.New(s)
	require.NoError(t, err)
	return i
}

func withBearer(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// part is a part of a JWT.
func part(v any) string {
	raw, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// forged returns a token with another header, signed by sign.
func forged(token string, header map[string]any, sign func(text string) []byte) string {
	text := part(header) + "." + strings.Split(token, ".")[1]
	return text + "." + base64.RawURLEncoding.EncodeToString(sign(text))
}

func TestTokens(t *testing.T) {
	issuer := issuertest.New(t, "http://127.0.0.1:1/")
	stranger := issuertest.New(t, "http://127.0.0.1:1/")
	good := issuer.Token(t, "alice", issuertest.Audience)
	kid, public := issuer.Key()
	der, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	unsigned := forged(good, map[string]any{"alg": "none", "typ": "JWT"}, func(string) []byte { return nil })
	confused := forged(good, map[string]any{"alg": "HS256", "typ": "JWT", "kid": kid}, func(text string) []byte {
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		mac.Write([]byte(text))
		return mac.Sum(nil)
	})
	var claims map[string]any
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &claims))
	claims["preferred_username"] = "root"
	tampered := parts[0] + "." + part(claims) + "." + parts[2]

	for name, c := range map[string]struct {
		token  string
		clock  time.Duration // ours, against the issuer's
		change func(*oidclogin.Settings)
		user   string // "" = refused
		why    string // "" = left to others
	}{
		"good":                              {token: good, user: "alice"},
		"the user is another claim":         {token: good, user: "id-alice", change: func(s *oidclogin.Settings) { s.UserClaim = "sub" }},
		"the user is the address":           {token: good, user: "alice@example.org", change: func(s *oidclogin.Settings) { s.UserClaim = "email" }},
		"the issuer's clock is 30 s ahead":  {token: good, clock: -30 * time.Second, user: "alice"},
		"the issuer's clock is 10 m ahead":  {token: good, clock: -10 * time.Minute, why: "it is not valid yet"},
		"expired a moment ago":              {token: good, clock: 5*time.Minute + 30*time.Second, user: "alice"},
		"expired":                           {token: good, clock: time.Hour, why: "it has expired"},
		"not yet valid":                     {token: good, clock: -time.Hour, why: "it is not valid yet"},
		"not yet valid, within a leeway":    {token: good, clock: -time.Hour, change: func(s *oidclogin.Settings) { s.Leeway = 2 * time.Hour }, user: "alice"},
		"of another issuer":                 {token: stranger.Token(t, "alice", issuertest.Audience)},
		"for another audience":              {token: issuer.Token(t, "alice", "grafana"), why: "it is for another audience"},
		"without a signature":               {token: unsigned, why: "it is not signed in a way that is accepted"},
		"signed with the public key":        {token: confused, why: "it is not signed in a way that is accepted"},
		"tampered":                          {token: tampered, why: "its signature or its issuer is wrong"},
		"for a logout":                      {token: forged(good, map[string]any{"alg": "ES256", "typ": "logout+jwt", "kid": kid}, func(string) []byte { return []byte("x") }), why: "it is not a token of a user"},
		"without the claim of the user":     {token: good, change: func(s *oidclogin.Settings) { s.UserClaim = "employee" }, why: "it has no claim employee that names the user"},
		"groups that are no list of names":  {token: good, change: func(s *oidclogin.Settings) { s.GroupsClaim = "exp" }, why: "its claim exp is not a list of names"},
		"opaque":                            {token: "temper_abc"},
		"opaque with dots":                  {token: "a.b.c"},
		"a JWT of nobody":                   {token: parts[0] + "." + part(map[string]any{"sub": "x"}) + "." + parts[2]},
		"a JWT whose issuer is not a text":  {token: parts[0] + "." + part(map[string]any{"iss": 7}) + "." + parts[2]},
		"nothing":                           {token: ""},
		"longer than any token of a person": {token: good + strings.Repeat("A", 20<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			at := newClock()
			at.at = at.at.Add(c.clock)
			change := c.change
			if change == nil {
				change = func(*oidclogin.Settings) {}
			}
			id, refusal := newIssuer(t, issuer.URL, at, change).Bearer().Authenticate(withBearer(c.token))
			if c.user != "" {
				require.Nil(t, refusal)
				require.Equal(t, c.user, id.User)
				require.Equal(t, access.OIDC, id.Method)
				require.Equal(t, []string{"operators", "everybody"}, id.Groups)
				require.Equal(t, "alice@example.org", id.Claims["email"])
				require.Empty(t, id.Grants)
				require.WithinRange(t, id.Expires, time.Now().Add(5*time.Minute), time.Now().Add(3*time.Hour))
				return
			}
			require.Nil(t, id)
			if c.why == "" {
				require.Nil(t, refusal)
				return
			}
			require.Equal(t, 401, refusal.Status)
			require.Equal(t, "The token is not accepted: "+c.why, refusal.Message)
			require.Equal(t, `Bearer realm="Baremetal API", error="invalid_token"`, refusal.Challenge)
		})
	}
}

// What a good issuer never signs.
func TestClaimsOfTokens(t *testing.T) {
	issuer := issuertest.New(t, "http://127.0.0.1:1/")
	at := newClock()
	bearer := newIssuer(t, issuer.URL, at).Bearer()
	in := func(d time.Duration) int64 { return at.at.Add(d).Unix() }
	for name, c := range map[string]struct {
		kind   string
		change map[string]any
		why    string // "" = accepted
	}{
		"good":                       {"JWT", nil, ""},
		"an access token":            {"at+jwt", nil, ""},
		"for several audiences":      {"JWT", map[string]any{"aud": []string{"grafana", "other"}}, ""},
		"for several others":         {"JWT", map[string]any{"aud": []string{"grafana", "temper"}}, "it is for another audience"},
		"for none":                   {"JWT", map[string]any{"aud": nil}, "it is for another audience"},
		"of a logout":                {"logout+jwt", nil, "it is not a token of a user"},
		"without an expiry":          {"JWT", map[string]any{"exp": nil}, "it has no expiry"},
		"expired":                    {"JWT", map[string]any{"exp": in(-61 * time.Second)}, "it has expired"},
		"expired, within the leeway": {"JWT", map[string]any{"exp": in(-50 * time.Second)}, ""},
		"not before later":           {"JWT", map[string]any{"nbf": in(70 * time.Second)}, "it is not valid yet"},
		"not before a moment later":  {"JWT", map[string]any{"nbf": in(50 * time.Second)}, ""},
		"issued later":               {"JWT", map[string]any{"iat": in(70 * time.Second)}, "it is not valid yet"},
		"for ever":                   {"JWT", map[string]any{"exp": 1e18}, "its claim exp is not a time"},
		"in fractions of a second":   {"JWT", map[string]any{"exp": float64(in(time.Minute)) + 0.5}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			claims := map[string]any{"iss": issuer.URL, "sub": "alice", "aud": issuertest.Audience, "exp": in(time.Minute), "nbf": in(0), "iat": in(0)}
			for k, v := range c.change {
				if claims[k] = v; v == nil {
					delete(claims, k)
				}
			}
			id, refusal := bearer.Authenticate(withBearer(issuer.Sign(t, c.kind, claims)))
			if c.why == "" {
				require.Nil(t, refusal)
				require.Equal(t, "alice", id.User)
				return
			}
			require.Nil(t, id)
			require.Equal(t, "The token is not accepted: "+c.why, refusal.Message)
		})
	}
}

func TestTheNameOfTheUserHasFallbacks(t *testing.T) {
	issuer := issuertest.New(t, "http://127.0.0.1:1/")
	bearer := newIssuer(t, issuer.URL, newClock()).Bearer()
	user := func() string {
		id, refusal := bearer.Authenticate(withBearer(issuer.Token(t, "bob", issuertest.Audience)))
		if refusal != nil {
			return refusal.Message
		}
		return id.User
	}
	require.Equal(t, "bob", user())
	issuer.Claim("preferred_username", nil)
	require.Equal(t, "bob@example.org", user())
	issuer.Claim("email_verified", false)
	require.Equal(t, "id-bob", user(), "anybody can give himself an address that the issuer has not verified")
	issuer.Claim("preferred_username", "bob\nroot")
	require.Equal(t, "The token is not accepted: its claim preferred_username is no name of a user", user())
}

// A new key is read at once. The old one is gone for us, too.
func TestKeysRotate(t *testing.T) {
	issuer := issuertest.New(t, "http://127.0.0.1:1/")
	at := newClock()
	bearer := newIssuer(t, issuer.URL, at).Bearer()
	ask := func(token string) int {
		if _, refusal := bearer.Authenticate(withBearer(token)); refusal != nil {
			return refusal.Status
		}
		return 200
	}
	old := issuer.Token(t, "alice", issuertest.Audience)
	require.Equal(t, 200, ask(old))
	issuer.Rotate(t)
	at.at = at.at.Add(time.Minute)
	require.Equal(t, 200, ask(old), "nothing tells us that its key is gone")
	require.Equal(t, 200, ask(issuer.Token(t, "alice", issuertest.Audience)))
	require.Equal(t, 401, ask(old))

	last := issuer.Token(t, "alice", issuertest.Audience)
	issuer.Rotate(t)
	at.at = at.at.Add(5*time.Minute - 10*time.Second)
	require.Equal(t, 200, ask(last))
	at.at = at.at.Add(20 * time.Second)
	require.Equal(t, 401, ask(last), "keys are read again after five minutes, without a token that needs another one")
}

// Whoever sends tokens with keys that nobody has must not make us ask the issuer for each of them.
func TestStrangersDoNotMakeUsAskTheIssuer(t *testing.T) {
	issuer := issuertest.New(t, "http://127.0.0.1:1/")
	at := newClock()
	bearer := newIssuer(t, issuer.URL, at).Bearer()
	good := issuer.Token(t, "alice", issuertest.Audience)
	send := func(n int) {
		for range n {
			_, refusal := bearer.Authenticate(withBearer(forged(good, map[string]any{"alg": "ES256", "kid": "unknown"}, func(string) []byte { return []byte("x") })))
			require.Equal(t, 401, refusal.Status)
			id, _ := bearer.Authenticate(withBearer(good))
			require.NotNil(t, id)
		}
	}
	send(50)
	require.EqualValues(t, 1, issuer.Requests.Load())
	at.at = at.at.Add(11 * time.Second)
	send(50)
	require.EqualValues(t, 2, issuer.Requests.Load())
}

// While the issuer is away a token may be good: the answer is not that it is wrong.
func TestTheIssuerIsAway(t *testing.T) {
	issuer := issuertest.New(t, "http://127.0.0.1:1/")
	at := newClock()
	bearer := newIssuer(t, issuer.URL, at).Bearer()
	good := issuer.Token(t, "alice", issuertest.Audience)
	issuer.Stop()
	for range 3 {
		_, refusal := bearer.Authenticate(withBearer(good))
		require.Equal(t, 503, refusal.Status)
		require.Equal(t, 2*time.Second, refusal.RetryAfter)
		require.Empty(t, refusal.Challenge)
	}
	issuer.Start(t)
	_, refusal := bearer.Authenticate(withBearer(good))
	require.Equal(t, 503, refusal.Status, "the issuer is not asked again at once")
	at.at = at.at.Add(3 * time.Second)
	id, refusal := bearer.Authenticate(withBearer(good))
	require.Nil(t, refusal)
	require.Equal(t, "alice", id.User)

	issuer.Stop()
	at.at = at.at.Add(4 * time.Minute)
	id, _ = bearer.Authenticate(withBearer(good))
	require.NotNil(t, id, "its keys are known")
	rotated := forged(good, map[string]any{"alg": "ES256", "kid": "new"}, func(string) []byte { return []byte("x") })
	for range 3 {
		_, refusal = bearer.Authenticate(withBearer(rotated))
		require.Equal(t, 503, refusal.Status, "whether it has such a key now is not known")
	}
	long := newIssuer(t, issuer.URL, at, func(s *oidclogin.Settings) { s.Leeway = 100 * time.Hour }).Bearer()
	issuer.Start(t)
	id, _ = long.Authenticate(withBearer(good))
	require.NotNil(t, id)
	issuer.Stop()
	at.at = at.at.Add(23 * time.Hour)
	id, _ = long.Authenticate(withBearer(good))
	require.NotNil(t, id, "keys last for a day without the issuer")
	at.at = at.at.Add(2 * time.Hour)
	_, refusal = long.Authenticate(withBearer(good))
	require.Equal(t, 503, refusal.Status)
}

// An issuer that names another one in its configuration is none that we know.
func TestAnotherIssuerAnswers(t *testing.T) {
	issuer := issuertest.New(t, "http://127.0.0.1:1/")
	at := strings.Replace(issuer.URL, "127.0.0.1", "localhost", 1)
	raw := part(map[string]any{"alg": "ES256"}) + "." + part(map[string]any{"iss": at}) + ".AAAA"
	_, refusal := newIssuer(t, at, newClock()).Bearer().Authenticate(withBearer(raw))
	require.Equal(t, 503, refusal.Status)
}

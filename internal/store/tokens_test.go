package store_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/tokens"
)

// bearing is a request with a token.
func bearing(t testing.TB, credentials string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/nodes", nil)
	r.Header.Set("Authorization", credentials)
	return r
}

func madeToken(t testing.TB, s *store.Store, expires time.Duration) (text, id string) {
	t.Helper()
	text, id, hash := tokens.New()
	made := &tokens.Token{ID: id, Name: "ci", Grant: access.Grant{Role: access.Member, Project: "p1"}, CreatedBy: "ann"}
	require.NoError(t, s.CreateToken(t.Context(), made, hash, expires))
	return text, id
}

func TestTokensLetIn(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	good, goodID := madeToken(t, s, 0)
	short, shortID := madeToken(t, s, time.Hour)
	gone, goneID := madeToken(t, s, 0)
	require.NoError(t, s.RevokeToken(t.Context(), goneID, "ann"))
	late, lateID := madeToken(t, s, time.Hour)
	raw(t, url, `UPDATE tokens SET expires_at = now() - interval '1 ms' WHERE id = $1`, lateID)
	unknown, _, _ := tokens.New()
	other, _ := madeToken(t, s, 0)
	a := tokens.NewAuthenticator(s, time.Now, zap.NewNop())

	for name, text := range map[string]string{"good": good, "one that expires": short} {
		for range 2 { // also from the cache
			who, refusal := a.Authenticate(bearing(t, "Bearer "+text))
			require.Nil(t, refusal, name)
			require.Equal(t, []any{"ci", access.Token, []access.Grant{{Role: access.Member, Project: "p1"}}}, []any{who.User, who.Method, who.Grants})
		}
	}
	require.Equal(t, ask[time.Time](t, url, `SELECT date_trunc('hour', now())`), ask[time.Time](t, url, `SELECT used_at FROM tokens WHERE id = $1`, goodID))
	require.NotEmpty(t, shortID)
	for name, text := range map[string]string{
		"revoked": gone, "expired": late, "unknown": unknown, "truncated": good[:len(good)-1], "malformed": "temper_!", "longer": good + "0",
		"the secret of another": good[:18] + other[18:],
	} {
		who, refusal := a.Authenticate(bearing(t, "bearer "+text))
		require.Nil(t, who, name)
		require.Equal(t, http.StatusUnauthorized, refusal.Status, name)
		require.Equal(t, `Bearer realm="Baremetal API"`, refusal.Challenge)
		require.NotContains(t, refusal.Message, text, name)
	}
	for _, others := range []string{"", "Basic YTpi", "Bearer eyJhbGciOiJSUzI1NiJ9.e30.x", "Bearer"} {
		who, refusal := a.Authenticate(bearing(t, others))
		require.Nil(t, who)
		require.Nil(t, refusal, "it is another's: %q", others)
	}
}

// A process that has just seen a token refuses it within 5 s after another one has revoked it.
func TestARevokedTokenIsRefusedSoon(t *testing.T) {
	t.Parallel()
	s, _ := openURL(t)
	text, id := madeToken(t, s, 0)
	var ahead atomic.Int64
	a := tokens.NewAuthenticator(s, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, zap.NewNop())
	enters := func() bool {
		_, refusal := a.Authenticate(bearing(t, "Bearer "+text))
		return refusal == nil
	}
	require.True(t, enters())
	require.NoError(t, s.RevokeToken(t.Context(), id, "ann"))
	ahead.Store(int64(5 * time.Second))
	require.False(t, enters())

	all, err := s.Tokens(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []any{id, "ann"}, []any{all[0].ID, all[0].RevokedBy})
	require.NoError(t, s.ForgetTokens(t.Context(), time.Hour))
	require.NoError(t, s.ForgetTokens(t.Context(), 0))
	all, err = s.Tokens(t.Context(), "", 10)
	require.NoError(t, err)
	require.Empty(t, all)
}

// A token is not let in from the cache after it has expired.
func TestTheCacheEndsWithTheToken(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	text, id := madeToken(t, s, time.Hour)
	raw(t, url, `UPDATE tokens SET expires_at = clock_timestamp() + interval '2 s' WHERE id = $1`, id)
	var ahead atomic.Int64
	a := tokens.NewAuthenticator(s, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, zap.NewNop())
	_, refusal := a.Authenticate(bearing(t, "Bearer "+text))
	require.Nil(t, refusal)
	raw(t, url, `UPDATE tokens SET expires_at = clock_timestamp() WHERE id = $1`, id)
	ahead.Store(int64(2 * time.Second))
	_, refusal = a.Authenticate(bearing(t, "Bearer "+text))
	require.NotNil(t, refusal)
}

func TestTokensAreNotCheckedWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := connect(t, store.Config{URL: "postgres://nobody@127.0.0.1:1/x", Keyset: keyset})
	text, _, _ := tokens.New()
	_, refusal := tokens.NewAuthenticator(s, time.Now, zap.NewNop()).Authenticate(bearing(t, "Bearer "+text))
	require.Equal(t, http.StatusServiceUnavailable, refusal.Status)
	require.Positive(t, refusal.RetryAfter)
}

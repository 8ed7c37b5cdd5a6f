package temper_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/tokens"
)

const tokensPath = "/temper/v1/tokens"

func TestATokenIsShownOnce(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	made := b.Post(tokensPath, map[string]any{"name": "ci", "role": "member", "project": "p1", "expires_in": 3600}).Is(201)
	require.Equal(t, "no-store", b.Last.Header.Get("Cache-Control"))
	text, id := made["token"].(string), made["id"].(string)
	require.Regexp(t, `^temper_`+id+`_[0-9A-Za-z]{43}$`, text)
	require.Equal(t, []any{"ci", "member", "p1", "ann", nil, nil}, []any{made["name"], made["role"], made["project"], made["created_by"], made["used_at"], made["revoked_at"]})
	row := b.Audited(b.Last)[0]
	require.Equal(t, []any{"token", id, []string{"expires_in", "name", "project", "role"}}, []any{row.Kind, row.Target, row.What})
	require.Equal(t, "0", b.Text(`SELECT count(*)::text FROM tokens t WHERE t::text LIKE '%`+text[len(text)-20:]+`%'`), "the database does not have it")

	// The API lets its holder in: package httpd asks the authenticators.
	a := tokens.NewAuthenticator(b.Store, time.Now, zap.NewNop())
	r := httptest.NewRequest("GET", "/v1/nodes", nil)
	r.Header.Set("Authorization", "Bearer "+text)
	who, refusal := a.Authenticate(r)
	require.Nil(t, refusal)
	require.Equal(t, "ci", who.User)
	require.Equal(t, access.Token, who.Method)
	require.Equal(t, []access.Grant{{Role: access.Member, Project: "p1"}}, who.Grants)
	require.WithinDuration(t, time.Now().Add(time.Hour), who.Expires, time.Minute)

	b.Post(tokensPath, map[string]any{"name": "backup", "role": "reader"}).Is(201)
	all := b.Get(tokensPath).Is(200)["tokens"].([]any)
	require.Len(t, all, 2)
	first := all[0].(map[string]any)
	require.NotContains(t, first, "token")
	require.Equal(t, time.Now().UTC().Truncate(time.Hour).Format("2006-01-02T15:04:05-07:00"), first["used_at"])
	require.Nil(t, all[1].(map[string]any)["expires_at"])
	page := b.Get(tokensPath + "?limit=1").Is(200)
	require.NotNil(t, page["next"])
	require.Equal(t, "backup", b.Get(tokensPath + "?limit=1&marker=" + id).Is(200)["tokens"].([]any)[0].(map[string]any)["name"])

	b.Delete(tokensPath + "/" + id).Is(204)
	b.Delete(tokensPath + "/" + id).Is(204)
	require.Equal(t, "ann", b.Get(tokensPath).Is(200)["tokens"].([]any)[0].(map[string]any)["revoked_by"])
	_, refusal = tokens.NewAuthenticator(b.Store, time.Now, zap.NewNop()).Authenticate(r)
	require.Equal(t, 401, refusal.Status)
}

func TestTokensThatCanNotBeMade(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	for _, in := range []map[string]any{
		{},
		{"name": "ci"},
		{"role": "member"},
		{"name": "a b", "role": "member"},
		{"name": "ci", "role": "root"},
		{"name": "ci", "role": "member", "expires_in": 0},
		{"name": "ci", "role": "member", "expires_in": -1},
		{"name": "ci", "role": "member", "expires_in": 1 << 60},
		{"name": "ci", "role": "member", "hash": "x"},
	} {
		b.Post(tokensPath, in).Fails(400)
	}
	b.Delete(tokensPath + "/nobody").Fails(404)
	b.Delete(tokensPath + "/0123456789").Fails(404)
	b.Get(tokensPath + "?marker=x").Fails(400)
}

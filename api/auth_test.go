package api_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

func TestBasicAuth(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "htpasswd")
	write := func(user, password string) {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(user+":"+string(hash)+"\n"), 0o600))
	}
	write("alice", "right")
	b := apitest.New(t, func(c *api.Config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} }).WithConductors()
	a := b.Get("/v1/nodes")
	require.Equal(t, `Basic realm="Baremetal API"`, a.Header.Get("WWW-Authenticate"))
	require.Equal(t, map[string]any{"message": "Authorization required", "code": 401.0}, a.Is(401)["error"])
	require.Equal(t, "1.115", a.Header.Get(apitest.MaxVersionHeader))
	b.User = "alice:wrong"
	require.Equal(t, "Incorrect username or password", b.Get("/v1/nodes").Is(401)["error"].(map[string]any)["message"])
	b.User = "bob:right"
	b.Get("/v1/nodes").Is(401)
	b.User = ""
	for path, status := range map[string]int{
		"/": 200, "/v1": 200, "/v1/": 200, "/v1/lookup": 400, "/temper/v1/healthz": 200, "/temper/v1/readyz": 200,
		"/temper/v1/operations": 401, "/v1/nosuch": 401, "/v1/heartbeat": 401, "/nodes": 401,
	} {
		require.Equal(t, status, b.Get(path).Status, path)
	}
	require.NotEqual(t, 401, b.At(68, "POST", "/v1/heartbeat/x", map[string]any{}).Status)
	require.NotEqual(t, 401, b.At(84, "POST", "/v1/continue_inspection", map[string]any{}).Status)

	b.User = "alice:right"
	b.Enrolled("n1")
	id := b.Put("/v1/nodes/n1/states/provision", apitest.ProvisionBody("manage")).Header.Get("Temper-Operation")
	require.Equal(t, "alice", b.Get("/temper/v1/operations/" + id).Is(200)["requested_by"])

	write("bob", "changed-now")
	require.NoError(t, os.Chtimes(file, time.Now(), time.Now().Add(1e10)))
	b.Get("/v1/nodes").Is(401)
	b.User = "bob:changed-now"
	b.Get("/v1/nodes").Is(200)
}

// A client can't get more guesses by sending another address in a header.
func TestGuessesOfPasswordsAreThrottledAndLogged(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("alice:"+string(hash)+"\n"), 0o600))
	core, lines := observer.New(zap.WarnLevel)
	b := apitest.New(t, func(c *api.Config) { c.Auth, c.Log = api.Auth{Strategy: api.HTTPBasic, File: file}, zap.New(core) })
	b.User = "alice:wrong"
	for i := range 30 {
		b.With(http.Header{"X-Forwarded-For": {fmt.Sprintf("10.0.0.%d", i)}, "X-Real-Ip": {"10.1.1.1"}}, "GET", "/v1/nodes", nil)
	}
	require.Equal(t, map[string]any{"message": "Too many wrong passwords from this address; try again later", "code": 429.0}, b.Last.Is(429)["error"])
	after, err := strconv.Atoi(b.Last.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, after)
	told := lines.FilterMessage("login refused").All()
	require.NotEmpty(t, told)
	require.Equal(t, "alice", told[0].ContextMap()["user"])
	require.Equal(t, "192.0.2.1", told[0].ContextMap()["source"], "the connection's address")
	b.User = ""
	b.Get("/v1").Is(200)
}

func TestAuthSettingsAreChecked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("alice:plain-secret\n"), 0o600))
	for name, a := range map[string]api.Auth{
		"an unknown strategy":                {Strategy: "keystone"},
		"no file":                            {Strategy: api.HTTPBasic, File: file + "x"},
		"a password that is no bcrypt hash":  {Strategy: api.HTTPBasic, File: file},
		"no strategy is noauth, which works": {},
	} {
		_, err := api.New(api.Config{Store: stubStore{}, Operations: &apitest.Operations{}, Drivers: apitest.Drivers{}, Auth: a})
		if a.Strategy == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "plain-secret")
	}
	_, err := api.New(api.Config{})
	require.ErrorContains(t, err, "no store")
}

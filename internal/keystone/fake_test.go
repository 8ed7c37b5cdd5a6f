package keystone

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// fake is as much of Keystone v3 as checks tokens.
type fake struct {
	t      *testing.T
	server *httptest.Server
	file   string // clouds.yaml

	logins, checks atomic.Int64
	block          chan struct{} // nil = answers come at once

	mu       sync.Mutex
	password string
	own      string // our token; "" = none is valid
	status   int    // of all answers; 0 = as it should be
	known    map[string]map[string]any
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t: t, password: "secret of temper", known: map[string]map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /identity/v3/auth/tokens", f.login)
	mux.HandleFunc("GET /identity/v3/auth/tokens", f.check)
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	f.file = filepath.Join(t.TempDir(), "clouds.yaml")
	require.NoError(t, os.WriteFile(f.file, fmt.Appendf(nil, `
clouds:
  openstack:
    auth:
      auth_url: %s/identity
      username: temper
      password: secret of temper
      user_domain_name: Default
      project_name: service
      project_domain_name: Default
`, f.server.URL), 0o600))
	return f
}

func (f *fake) login(w http.ResponseWriter, r *http.Request) {
	f.logins.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	var body struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct{ Name, Password string }
				}
			}
			Scope struct {
				Project struct{ Name string }
			}
		}
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || f.status != 0 {
		w.WriteHeader(max(f.status, http.StatusBadRequest))
		return
	}
	if user := body.Auth.Identity.Password.User; user.Name != "temper" || user.Password != f.password || body.Auth.Scope.Project.Name != "service" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	f.own = fmt.Sprint("own-", f.logins.Load())
	w.Header().Set("X-Subject-Token", f.own)
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprint(w, `{"token": {"catalog": [], "expires_at": "2100-01-01T00:00:00.000000Z"}}`)
}

func (f *fake) check(w http.ResponseWriter, r *http.Request) {
	f.checks.Add(1)
	if f.block != nil {
		<-f.block
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == "" || r.Header.Get("X-Auth-Token") != f.own {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if f.status != 0 {
		w.WriteHeader(f.status)
		return
	}
	subject := r.Header.Get("X-Subject-Token")
	token, ok := f.known[subject]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, `{"error": {"code": 404, "message": "Could not find token: %s.", "title": "Not Found"}}`, subject)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token})
}

// set changes what the fake is under its lock.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// issue makes a token known.
func (f *fake) issue(name string, expires time.Time, user string, scope map[string]any, roles ...string) {
	token := map[string]any{
		"user":       map[string]any{"id": "id-" + user, "name": user, "domain": map[string]any{"id": "default", "name": "Default"}},
		"expires_at": expires.UTC().Format("2006-01-02T15:04:05.000000Z"), "methods": []string{"password"},
	}
	var of []map[string]any
	for _, r := range roles {
		of = append(of, map[string]any{"id": "id-" + r, "name": r})
	}
	if of != nil {
		token["roles"] = of
	}
	for k, v := range scope {
		token[k] = v
	}
	f.set(func() { f.known[name] = token })
}

func project(name, domain string) map[string]any {
	return map[string]any{"project": map[string]any{"id": "id-" + name, "name": name, "domain": map[string]any{"id": "id-" + domain, "name": domain}}}
}

var system = map[string]any{"system": map[string]any{"all": true}}

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (f *fake) authenticator(c *clock, log *zap.Logger) *Authenticator {
	f.t.Helper()
	a, err := New(Settings{CloudsFile: f.file, Cloud: "openstack", ServiceProject: "service", ServiceDomain: "Default", Now: c.now, Log: log})
	require.NoError(f.t, err)
	return a
}

func request(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)
	r.Header.Set("X-Auth-Token", token)
	return r
}

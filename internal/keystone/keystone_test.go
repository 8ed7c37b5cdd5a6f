package keystone

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"go.temper.dev/temper/internal/access"
)

func TestTokens(t *testing.T) {
	f := newFake(t)
	at := &clock{at: time.Now()}
	a := f.authenticator(at, zap.NewNop())
	soon := at.now().Add(time.Hour).Truncate(time.Second)
	of := func(role access.Role, project string) access.Grant { return access.Grant{Role: role, Project: project} }
	for name, c := range map[string]struct {
		expires time.Time
		scope   map[string]any
		roles   []string
		want    []access.Grant
	}{
		"of a project":                             {soon, project("p1", "Default"), []string{"member", "reader"}, []access.Grant{of("member", "id-p1"), of("reader", "id-p1")}},
		"of the system":                            {soon, system, []string{"admin", "member", "reader", "manager"}, []access.Grant{of("admin", ""), of("manager", ""), of("member", ""), of("reader", "")}},
		"with roles in other cases, and twice":     {soon, project("p1", "Default"), []string{"Admin", "admin"}, []access.Grant{of("admin", "id-p1")}},
		"with roles that are none of ours":         {soon, project("p1", "Default"), []string{"heat_stack_owner", "baremetal_observer"}, nil},
		"without a scope":                          {soon, nil, nil, nil},
		"of a domain":                              {soon, map[string]any{"domain": map[string]any{"id": "default", "name": "Default"}}, []string{"admin"}, nil},
		"of a service":                             {soon, project("service", "Default"), []string{"service"}, []access.Grant{of("service", "id-service"), of("member", "")}},
		"of a service, in another project":         {soon, project("p1", "Default"), []string{"service"}, []access.Grant{of("service", "id-p1")}},
		"of a service, in another domain":          {soon, project("service", "Evil"), []string{"service"}, []access.Grant{of("service", "id-service")}},
		"of an admin of the project of services":   {soon, project("service", "Default"), []string{"admin"}, []access.Grant{of("admin", "id-service")}},
		"of a system that is not all of it":        {soon, map[string]any{"system": map[string]any{"all": false}}, []string{"admin"}, nil},
		"that Keystone still has, and has expired": {at.now().Add(-time.Second), project("p1", "Default"), []string{"member"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f.issue(name, c.expires, "alice", c.scope, c.roles...)
			r := request(strings.ReplaceAll(name, " ", "_"))
			f.set(func() { f.known[r.Header.Get("X-Auth-Token")] = f.known[name] })
			id, refusal := a.Authenticate(r)
			if c.expires.Before(at.now()) {
				require.Nil(t, id)
				require.Equal(t, 401, refusal.Status)
				return
			}
			require.Nil(t, refusal)
			require.Equal(t, "alice", id.User)
			require.Equal(t, access.Keystone, id.Method)
			require.Equal(t, c.want, id.Grants)
			require.Equal(t, "id-alice", id.Claims["user_id"])
			require.True(t, c.expires.Equal(id.Expires))
		})
	}
	f.issue("good", soon, "bob", project("p1", "Default"), "member")
	id, _ := a.Authenticate(request("good"))
	require.Equal(t, "p1", id.Claims["project_name"])
	id.Grants[0].Role, id.Claims["project_name"] = access.Admin, "changed"
	id, _ = a.Authenticate(request("good"))
	require.Equal(t, []access.Grant{of("member", "id-p1")}, id.Grants, "a caller changes only what it got")
	require.Equal(t, "p1", id.Claims["project_name"])
	require.EqualValues(t, 1, f.logins.Load())
}

func TestTokensThatAreNotAccepted(t *testing.T) {
	f := newFake(t)
	a := f.authenticator(&clock{at: time.Now()}, zap.NewNop())
	id, refusal := a.Authenticate(request(""))
	require.Nil(t, id)
	require.Nil(t, refusal, "no token, so that others may know who it is")
	for _, token := range []string{"foreign", strings.Repeat("a", 3000), "two words", "line\nbreak", "ümlaut"} {
		id, refusal := a.Authenticate(request(token))
		require.Nil(t, id)
		require.Equal(t, 401, refusal.Status, token)
		require.Equal(t, "The request you have made requires authentication.", refusal.Message)
		require.Equal(t, `Keystone uri="`+f.server.URL+`/identity/v3/"`, refusal.Challenge)
	}
	require.EqualValues(t, 1, f.checks.Load(), "Keystone sees no token that can't be one")
}

// Answers are used for five minutes, refusals for ten seconds.
func TestHowLongAnswersAreUsed(t *testing.T) {
	f := newFake(t)
	at := &clock{at: time.Now()}
	a := f.authenticator(at, zap.NewNop())
	ask := func(token string) int {
		if _, refusal := a.Authenticate(request(token)); refusal != nil {
			return refusal.Status
		}
		return 200
	}
	f.issue("good", at.now().Add(time.Hour), "alice", system, "admin")
	f.issue("short", at.now().Add(time.Minute), "alice", system, "admin")
	for range 3 {
		require.Equal(t, 200, ask("good"))
		require.Equal(t, 200, ask("short"))
		require.Equal(t, 401, ask("late"))
	}
	require.EqualValues(t, 3, f.checks.Load())
	f.set(func() { delete(f.known, "good") }) // it is revoked
	f.issue("late", at.now().Add(time.Hour), "alice", system, "admin")
	at.advance(11 * time.Second)
	require.Equal(t, 200, ask("late"))
	at.advance(50 * time.Second)
	require.Equal(t, 401, ask("short"), "nothing is used past its expiry, whatever Keystone says")
	at.advance(3*time.Minute + 58*time.Second)
	require.Equal(t, 200, ask("good"))
	at.advance(2 * time.Second)
	require.Equal(t, 401, ask("good"))
}

// Our own token expires, too. The next request logs in again.
func TestOurOwnTokenIsRenewed(t *testing.T) {
	f := newFake(t)
	at := &clock{at: time.Now()}
	a := f.authenticator(at, zap.NewNop())
	f.issue("one", at.now().Add(time.Hour), "alice", system, "admin")
	f.issue("two", at.now().Add(time.Hour), "alice", system, "admin")
	_, refusal := a.Authenticate(request("one"))
	require.Nil(t, refusal)
	f.set(func() { f.own = "" })
	_, refusal = a.Authenticate(request("two"))
	require.Nil(t, refusal)
	require.EqualValues(t, 2, f.logins.Load())
	f.set(func() { f.own = "" })
	_, refusal = a.Authenticate(request("unknown"))
	require.Equal(t, 401, refusal.Status, "also after a new login")
	require.EqualValues(t, 3, f.logins.Load())
}

// What is wrong with Keystone, or with our own login there, says nothing of a token.
func TestKeystoneIsAway(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fake)
		why    string
	}{
		"down":                     {func(f *fake) { f.server.Close() }, "connection refused"},
		"broken":                   {func(f *fake) { f.status = 500 }, "Keystone answers 500 Internal Server Error"},
		"busy":                     {func(f *fake) { f.status = 429 }, "Keystone answers 429 Too Many Requests"},
		"our password has changed": {func(f *fake) { f.password, f.own = "other", "" }, "Keystone answers 401 Unauthorized"},
		"we may not check tokens":  {func(f *fake) { f.status = 403 }, "Keystone answers 403 Forbidden"},
	} {
		for _, before := range []bool{true, false} { // we had logged in before
			t.Run(fmt.Sprint(name, before), func(t *testing.T) {
				f := newFake(t)
				at := &clock{at: time.Now()}
				lines, seen := observer.New(zap.WarnLevel)
				a := f.authenticator(at, zap.New(lines))
				f.issue("known", at.now().Add(time.Hour), "alice", system, "admin")
				f.issue("secret-token", at.now().Add(time.Hour), "alice", system, "admin")
				if before {
					_, refusal := a.Authenticate(request("known"))
					require.Nil(t, refusal)
				}
				c.change(f)
				for range 5 {
					_, refusal := a.Authenticate(request("secret-token"))
					require.Equal(t, 503, refusal.Status)
					require.Equal(t, time.Second, refusal.RetryAfter)
					require.Empty(t, refusal.Challenge)
				}
				require.Equal(t, 1, seen.Len(), "it is asked once a second")
				require.Contains(t, seen.All()[0].ContextMap()["why"], c.why)
				require.NotContains(t, fmt.Sprint(seen.All()), "secret")
				if before {
					_, refusal := a.Authenticate(request("known"))
					require.Nil(t, refusal, "its answer is known")
				}
				if name == "down" {
					return
				}
				f.set(func() { f.status, f.password = 0, "secret of temper" })
				at.advance(time.Second)
				_, refusal := a.Authenticate(request("secret-token"))
				require.Nil(t, refusal)
			})
		}
	}
}

// Many requests with one token are one question. Keystone that hangs is away.
func TestKeystoneIsSlow(t *testing.T) {
	f := newFake(t)
	at := &clock{at: time.Now()}
	a := f.authenticator(at, zap.NewNop())
	f.issue("one", at.now().Add(time.Hour), "alice", system, "admin")
	f.block = make(chan struct{})
	var all sync.WaitGroup
	refusals := make(chan *access.Refusal, 20)
	for range 20 {
		all.Go(func() {
			_, refusal := a.Authenticate(request("one"))
			refusals <- refusal
		})
	}
	require.Eventually(t, func() bool { return f.checks.Load() == 1 }, 5*time.Second, time.Millisecond)
	f.block <- struct{}{}
	all.Wait()
	for range 20 {
		require.Nil(t, <-refusals)
	}
	require.EqualValues(t, 1, f.checks.Load())

	begun := time.Now()
	_, refusal := a.Authenticate(request("two"))
	require.Equal(t, 503, refusal.Status)
	require.WithinRange(t, time.Now(), begun.Add(askTimeout), begun.Add(3*askTimeout))
	close(f.block)
}

func TestCachesAreBounded(t *testing.T) {
	c := newCache[int]()
	at := time.Now()
	digest := func(i int) [sha256.Size]byte { return sha256.Sum256(fmt.Append(nil, i)) }
	c.put(digest(-1), -1, at.Add(time.Hour))
	for i := range 10 * cacheSize {
		c.put(digest(i), i, at.Add(time.Hour))
		_, ok := c.get(digest(-1), at)
		require.True(t, ok, "what is used stays")
	}
	require.LessOrEqual(t, len(c.recent)+len(c.older), 2*cacheSize)
	_, ok := c.get(digest(1), at)
	require.False(t, ok)
	_, ok = c.get(digest(-1), at.Add(time.Hour))
	require.False(t, ok)
}

func TestAFileWithoutTheCloud(t *testing.T) {
	f := newFake(t)
	_, err := New(Settings{CloudsFile: f.file, Cloud: "other", Now: time.Now, Log: zap.NewNop()})
	require.EqualError(t, err, `the file of clouds_file can't be read, or has no cloud "other" with an auth_url`)
	broken := filepath.Join(t.TempDir(), "clouds.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("password: [secret"), 0o600))
	_, err = New(Settings{CloudsFile: broken, Cloud: "openstack", Now: time.Now, Log: zap.NewNop()})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}
